"""Plain English in what people read: messages, option help, first lines of docstrings, and the pages of the documentation."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: What is read: folders of Python (messages, help, first lines of docstrings), folders and pages of Markdown.
ROOTS = ("pytest_mapsat", "examples/starts/assistant", "docs", "README.md")
#: Rooms of which only the first lines of docstrings are read.
DOCSTRINGS_ALONE = tuple(
    f"pytest_mapsat/{room}/" for room in ("making", "metrics", "ports", "pytest_plugin", "reports")
)
#: The docstrings there are descriptions of tau2-bench's tools, for agents.
NOT_OURS = tuple(f"pytest_mapsat/ports/tau2/{world}.py" for world in ("airline", "retail", "telecom"))
#: Notes for contributors, off the site.
NOT_ON_THE_SITE = "docs/internals/architecture.md"
#: Vocabulary, prompts and programs in strings: no sentences of ours.
NOT_READ = re.compile(r"^Could you tell me|\n *(import|from|def|SELECT|for) |^\(?\?|\\[bswd]|^[\W\d_]*$")


class Pattern(NamedTuple):
    found: re.Pattern[str]
    better: str


def patterns() -> list[Pattern]:
    lines = Path(__file__).with_name("plain_english.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.rpartition(" => ") for line in lines if line and not line.startswith("#")]
    return [Pattern(re.compile(found, re.IGNORECASE | re.MULTILINE), better) for found, _, better in parts]


PATTERNS = patterns()


def sentences_of_module(text: str, *, docstrings_alone: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the first lines of docstrings and, with ``{}`` for values, strings of three words or more; each with its line."""
    tree = ast.parse(text)
    seen = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            seen.add(id(first.value))
            yield first.lineno, " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
        elif isinstance(node, ast.JoinedStr):
            seen.update(map(id, node.values))
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            if not docstrings_alone:
                yield node.lineno, "".join(parts)
    for node in ast.walk(tree):
        text_of_ours = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen
        if text_of_ours and not docstrings_alone and len(node.value.split()) > 2 and not NOT_READ.search(node.value):
            yield node.lineno, node.value


def sentences_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page that are no code, without the targets of links; each with its number."""
    without = re.sub(
        r"^( *)(```|~~~).*?^\1\2", lambda code: "\n" * code[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE
    )
    for number, line in enumerate(without.splitlines(), 1):
        if not line.startswith("    "):
            yield number, re.sub(r"\]\([^)]*\)", "]", line)


def hits(root: str) -> Iterator[str]:
    """Yield each stilted wording below a root, with its place and what reads better."""
    top = ROOT / root
    ending = ".py" if (top / "__init__.py").exists() else ".md"
    for path in [top] if top.is_file() else sorted(top.rglob(f"*{ending}")):
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(ROOT).as_posix()
        if place in NOT_OURS or place.startswith(NOT_ON_THE_SITE):
            continue
        alone = place.startswith(DOCSTRINGS_ALONE)
        read = sentences_of_module(text, docstrings_alone=alone) if path.suffix == ".py" else sentences_of_page(text)
        for line, text_of_line in read:
            sentence = re.sub(r"(`+)[^`]+\1", "{}", text_of_line)  # code is no English
            for pattern in PATTERNS:
                if match := pattern.found.search(sentence):
                    start, end = max(0, match.start() - 40), match.end() + 40
                    yield f"{place}:{line}: ...{sentence[start:end]}... {match[0]!r}: {pattern.better}"


@pytest.mark.parametrize("root", ROOTS)
def test_sentences_are_plain(root):
    assert list(hits(root)) == []


def test_there_are_about_forty_patterns_each_with_a_better_wording():
    assert len(PATTERNS) >= 40
    assert all(pattern.better for pattern in PATTERNS)


@pytest.mark.parametrize(
    "sentence",
    [
        "The blame is laid to the agent",
        "What is odd is told with its line",
        "Return the adapter for what a factory has made",
        "A figure of which it is open whether it fits",
        "it is there already",
        "A domain stands in node ids",
        "nav is no domain",
    ],
)
def test_a_stilted_sentence_is_found(sentence):
    assert any(pattern.found.search(sentence) for pattern in PATTERNS)


@pytest.mark.parametrize(
    "sentence",
    [
        "Say what is wrong with the file",
        "There is no suite here",
        "no row differs; there are none",
        "distinguishes two runs; tells them apart",
        "the agent is no longer running",
    ],
)
def test_a_plain_sentence_passes(sentence):
    assert not [pattern.found.pattern for pattern in PATTERNS if pattern.found.search(sentence)]


def test_messages_docstrings_and_pages_are_read_with_their_lines():
    module = '"""Do it.\n\nMore."""\n\n\ndef f(x):\n    """Return one."""\n    raise ValueError(f"it is {x} or so")\n'
    assert list(sentences_of_module(module)) == [(1, "Do it."), (7, "Return one."), (8, "it is {} or so")]
