"""Hostile text in every field of a run stays text in every report."""

import json
import re
from functools import cache
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from report_runs import COMPARED, HOSTILE, hostile

from pytest_mapsat.reports import Report, cell_width, dialogue_lines, summary_lines
from pytest_mapsat.reports.html import html_report
from pytest_mapsat.reports.markdown import MOST, annotation_lines, markdown_report
from pytest_mapsat.reports.text import wrap
from pytest_mapsat.reports.view import json_report, properties


@cache
def run():
    return hostile(COMPARED)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self):
        super().__init__()
        self.elements, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_the_run_is_hostile_where_it_matters():
    card = run().cases[0]
    given = (card.id, card.reason, card.labels[0].why, card.trajectory.turns[0].text, run().manifest.agent)
    assert all(text.startswith(HOSTILE) for text in given)
    assert run().comparison.cases[0].requirements[0].new_why.startswith(HOSTILE)


def test_a_page_has_no_element_no_handler_and_no_address_from_a_run():
    page = Elements()
    page.feed(html_report(run()))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 1
    assert not {"img", "iframe", "object", "embed", "base"} & set(tags)
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    hrefs = [attributes.get("href") or "" for _, attributes in page.elements]
    assert all(href.startswith("#") or href in ("", "data:,") for href in hrefs)
    assert "src" not in names
    assert "<script>window.hacked=1</script>" in "".join(page.text)


def test_markdown_has_foreign_text_in_code_only():
    text = markdown_report(run())
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inside = [child for token in tokens for child in token.children or ()]
    html = [token.content for token in [*tokens, *inside] if token.type in ("html_inline", "html_block")]
    assert set(re.findall(r"</?([a-z]+)", "".join(html))) <= {"details", "summary", "sub"}
    assert not [token.type for token in inside if token.type in ("link_open", "image")]
    said = "".join(token.content for token in inside if token.type == "text")
    assert "hacked" not in said
    assert "everyone" not in said
    assert "hacked" in "".join(token.content for token in inside if token.type == "code_inline")
    assert len(text) <= MOST + 200


def test_an_annotation_is_one_command_on_one_line():
    lines = list(annotation_lines(run(), below="sub"))
    assert len(lines) == 2
    for line in lines:
        assert re.fullmatch(r"::(error|warning) file=[^:,]*,line=7,title=[^:,]*::[^\r\n\x1b]*", line)


def test_json_gives_back_every_word():
    data = json.loads(json_report(run()))
    assert Report.model_validate(data).cases[0].reason == run().cases[0].reason
    assert data["schema"] == "mapsat-report/1"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_the_terminal_steers_it_or_is_too_long(width):
    lines = [line.text for line in summary_lines(run(), width=width, colour=False, full=True)]
    for card in run().cases:
        lines += [line.text for line in dialogue_lines(run(), card, width, full=True)]
    assert not [line for line in lines if re.search("[\x00-\x1f\u202e]", line)]
    assert max(map(cell_width, lines)) <= width


def test_properties_of_junit_hold_no_control_character():
    told = properties(run().cases[0])
    assert not [value for _, value in told if isinstance(value, str) and "\x1b" in value]


def test_a_page_shows_what_would_steer_the_readers_eye_as_escapes():
    page = html_report(run())
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", page)
    assert "\\u202e" in page


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize("text", ["::stop-commands::x", "##[add-mask]x", "long enough to be wrapped here ::error::x"])
def test_wrapped_text_is_no_command_of_a_ci_service(text, indent):
    for width in range(12, 60):
        lines = wrap(text, width, indent=indent)
        assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line]
        assert max(map(cell_width, lines)) <= width
