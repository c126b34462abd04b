"""The source of a body, read before it is played: blocks, what else can fail, ids made of texts."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat import User, case
from pytest_mapsat.model import Case, Clarification, EpisodeTerms, Truth, UserScript, Visible
from pytest_mapsat.pytest_plugin.body_source import BodySource, can_fail, read_body, slug
from pytest_mapsat.python_cases import declared


def read(folder: Path, body: str) -> BodySource:
    """Return what the source of a decorated function shows."""
    path = folder / "test_written.py"
    path.write_text(f"from pytest_mapsat import case\n\n@case('x')\ndef test_it(episode):\n{body}\n", encoding="utf-8")
    module = ModuleType("test_written")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return read_body(module.test_it)


def test_blocks_are_found_wherever_they_stand_and_their_digest_knows_no_comments(tmp_path: Path) -> None:
    body = """
    for word in "ab":
        if word:
            with episode.asked("first", id="one"):
                assert word
    try:
        with episode.soft("second", weight=0.3):
            helper(episode)
    except ValueError:
        with open("x") as file, open("y"):
            with episode.policy('third'):
                with pytest.raises(KeyError):
                    episode.state
    """
    source = read(tmp_path, body)
    assert [(block.kind, block.text, block.id, block.weight, block.line) for block in source.blocks] == [
        ("asked", "first", "one", None, 8),
        ("soft", "second", "", 0.3, 11),
        ("policy", "third", "", None, 15),
    ]
    assert source.problems == ()
    assert not source.rest
    assert read(tmp_path, f"    # said\n\n{body}").digest == source.digest
    assert read(tmp_path, body.replace("word\n", "word + '.'\n")).digest != source.digest


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("assert episode.replies", True),
        ("raise ValueError", True),
        ("check_all(episode)", True),
        ("await check_all(episode)", True),
        ("with pytest.raises(KeyError):\n    episode.state", True),
        ("for x in y:\n    assert x", True),
        ("match x:\n    case 1:\n        assert x", True),
        ("assert (x, 'why')", False),
        ("assert True", False),
        ("x = check_all(episode)", False),
        ("print(episode)", False),
        ("isinstance(episode, int)", False),
        ("episode.agreed('x')", False),
        ("def inner():\n    assert x", False),
        ("with episode.hard('a'):\n    assert x", False),
    ],
)
def test_what_can_fail_outside_of_blocks_makes_a_requirement_of_the_test(body: str, fails: bool) -> None:
    assert can_fail(ast.parse(body).body, outside=True) is fails


@given(st.text(min_size=1, max_size=200))
def test_an_id_that_is_made_of_a_text_is_one_and_stays_the_same(text: str) -> None:
    made = slug(text)
    assert re.fullmatch(r"[a-z0-9-]{1,80}", made)
    assert made == slug(text)


def test_texts_that_differ_in_more_than_signs_have_ids_of_their_own() -> None:
    assert slug("The booking is cancelled!") == "the-booking-is-cancelled"
    assert slug("取消") != slug("保留")
    assert slug("x" * 100) != slug("x" * 101)
    assert slug("café") != slug("caf")


def test_whatever_a_case_in_yaml_can_say_is_a_keyword() -> None:
    said = {name for name, each in signature(case).parameters.items() if each.kind is Parameter.KEYWORD_ONLY}
    told = {*signature(User).parameters}
    of_user = {*UserScript.model_fields} - {"otherwise"}
    of_truth = {*Truth.model_fields} - {"user", *told}
    groups = {"visible", "truth", "episode"}
    wanted = ({*Case.model_fields} - groups) | ({*Visible.model_fields} - {"query"}) | of_truth | {"use", "vars"}
    assert said == wanted | {"user", "max_calls", "run", "events", "faults"}
    assert told == of_user | {"intent", "persona", "preferences"}
    assert {*EpisodeTerms.model_fields} == {"calls", "run"}


def test_a_declaration_is_found_through_wrappers_and_marks_and_is_no_keyword_of_the_item() -> None:
    @case("x", clarification=Clarification(max_turns=1))
    def test_one(episode: Any) -> None: ...

    def wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        return wraps(function)(lambda *args, **kwargs: [function(*args, **kwargs)])

    assert not vars(test_one)
    for found in (test_one, wrapper(test_one), pytest.mark.usefixtures("request")(test_one), staticmethod(test_one)):
        given = declared(found)
        assert given is not None
        assert given.given["query"] == "x"
    assert declared(wrapper) is None
    with pytest.raises(TypeError, match="two @case"):
        case("y")(test_one)
    with pytest.raises(TypeError, match="belongs to a test function"):
        case("y")(User)


def test_importing_case_and_user_costs_no_heavy_module() -> None:
    heavy = "{'pydantic', 'pytest_mapsat.model', 'numpy', 'pytest'}"
    code = f"import sys; from pytest_mapsat import User, case; assert not {heavy} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
