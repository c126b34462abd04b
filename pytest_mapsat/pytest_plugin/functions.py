"""Decorated test functions as cases: their items, their cases, and the calls with their episodes."""

from __future__ import annotations

import hashlib
import re
import unittest
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from inspect import unwrap
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from pydantic import TypeAdapter

from pytest_mapsat.formats import DocumentLines, LocatedDocument, limits
from pytest_mapsat.judges import Blocks, JudgedDialogue
from pytest_mapsat.model import (
    Noun,
    Problem,
    RequirementKind,
    SuiteError,
    did_you_mean,
    digest,
    noun_digest,
    shown,
)
from pytest_mapsat.printed import printed
from pytest_mapsat.python_cases import Declaration, declared
from pytest_mapsat.suite import CaseEntry, Suite

from .body_source import BodySource, read_body, slug
from .items import PYTHON_CASE, CaseParam, PythonCase, case_marks
from .private import is_overridden, item_again

#: A parameter in a text, or a brace that is meant.
_HOLE = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")
_NO_ID = re.compile(r"[^A-Za-z0-9_.-]+")
_GROUP = re.compile(r"^(truth|visible)\.")
_TRIAL = re.compile(r"-t\d+$")
_LONGEST_ID = 80
#: What a test that asks for cases of suites asks for.
_OF_SUITES = ("mapsat_case", "mapsat_run", "mapsat_sandbox")


Declare = Callable[[LocatedDocument, Path], tuple[Suite, CaseEntry]]


class Functions:
    """A plugin that turns functions with the decorator ``@case`` into cases.

    Args:
        declare: adds a case, written as one in YAML, to the suite of its file, and returns both.
        trials: episodes of each case.
        agent_fixture: whether the agent is that of a fixture, which is then set up with the others.

    Attributes:
        collected: the items that it has made cases of, by node id.
    """

    def __init__(self, declare: Declare, trials: int, *, agent_fixture: bool = False) -> None:
        self._declare = declare
        self._trials = trials
        self._agent_fixture = agent_fixture
        self.collected: dict[str, pytest.Function] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: object) -> Generator[None, Any, Any]:
        """Create a case for each item of a decorated function."""
        del name
        if isinstance(obj, type) and issubclass(obj, unittest.TestCase):
            for method in vars(obj).values():
                if declared(method) is not None:
                    source = read_body(method)
                    raise collector.CollectError(
                        f"{source.path}:{source.line}: a case in unittest.TestCase, which knows neither fixtures nor parameters: put it into a plain class, or none"
                    )
        declaration = declared(obj)
        asked = ["mapsat_agent"] if self._agent_fixture else []
        asked += ["mapsat_environment"] if is_overridden(collector, "mapsat_environment") else []
        if declaration is not None and asked:
            pytest.mark.usefixtures(*asked)(getattr(obj, "__func__", obj))
        items = yield
        if declaration is not None:
            try:
                if isinstance(items, list):
                    items = [each for item in items for each in self._make(item, declaration)]
            except SuiteError as error:
                raise collector.CollectError(printed(error)) from None
        return items

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make the trials of a case its last parameter."""
        if declared(metafunc.function) is None:
            return
        source = read_body(metafunc.function)
        if "episode" not in metafunc.fixturenames:
            raise pytest.Collector.CollectError(f"{source.path}:{source.line}: a case takes the argument 'episode'")
        if asked := [name for name in _OF_SUITES if name in metafunc.fixturenames]:
            raise pytest.Collector.CollectError(
                f"{source.path}:{source.line}: a case in Python has its episode: {asked[0]} is for tests of cases in suites"
            )
        several = self._trials > 1
        ids: Any = [f"t{trial}" for trial in range(1, self._trials + 1)] if several else [pytest.HIDDEN_PARAM]
        metafunc.parametrize("episode", range(1, self._trials + 1), ids=ids)

    def _make(self, item: pytest.Function, declaration: Declaration) -> list[pytest.Function]:
        """Create the case of one item, and return the item and those of its variants: write it as a document, add it to its suite, and keep its parameter for the run."""
        source = read_body(item.function)
        written = _Written(item, declaration, source, several=self._trials > 1)
        document = written.document()
        try:
            suite, entry = self._declare(document, item.path)
        except SuiteError as error:  # the keywords stand in no group
            problems = [replace(each, message=_GROUP.sub("", each.message)) for each in error.problems]
            raise SuiteError(*problems) from None
        items = []
        for each in suite.with_variants(entry):
            items.append(item_again(item, each.id.removeprefix(f"{entry.id}--")) if each.plain else item)
            param = CaseParam(suite, each, written.trial, items[-1].nodeid)
            items[-1].stash[PYTHON_CASE] = PythonCase(param, frozenset(written.decided), written.rest, source.digest)
            for mark in case_marks(each):
                items[-1].add_marker(mark)
            self.collected[items[-1].nodeid] = items[-1]
        return items


class _Written:
    """The case of one item, in the form of its YAML equivalent."""

    def __init__(self, item: pytest.Function, declaration: Declaration, source: BodySource, *, several: bool) -> None:
        callspec = item.callspec
        self.trial: Any = callspec.params["episode"]
        self._params = {name: value for name, value in callspec.params.items() if name != "episode"}
        #: What the names of node ids have for the parameters, without the trial.
        self._values = callspec.id.removesuffix(f"t{self.trial}").removesuffix("-") if several else callspec.id
        self._item = item
        self._declaration = declaration
        self._source = source
        self._problems = list(source.problems)
        #: The ids of the requirements that the body decides; of these, what stands outside of its blocks.
        self.decided: list[str] = []
        self.rest = ""
        self._lines = DocumentLines(
            source.line, {name: DocumentLines(source.line) for name in ("visible", "truth", "episode")}
        )
        for name, lines in source.keywords.items():
            *above, last = declaration.place_of(name)
            children = self._lines.children
            (children.setdefault(above[0], DocumentLines(source.line)).children if above else children)[last] = lines

    def document(self) -> LocatedDocument:
        """Return the case as a document with line numbers. Raises SuiteError."""
        data = self._declaration.written
        data["id"] = self._id(data.pop("id", None))
        data["visible"]["query"] = self._text(data["visible"]["query"], "query")
        data = _filled(data, self._params)
        data["truth"]["requirements"] = self._requirements(data["truth"].get("requirements", ()))
        if self._problems:
            raise SuiteError(*self._problems[: limits.PROBLEMS])
        return LocatedDocument(data, self._lines)

    def _wrong(self, line: int, message: str, hint: str = "") -> None:
        """Note a problem at a line."""
        self._problems.append(Problem(self._source.path, line, message, hint))

    def _text(self, text: str, keyword: str) -> str:
        """Return a text with the item's parameters filled in; report an unknown parameter as a problem."""
        for hole in _HOLE.finditer(text):
            if hole[1] and hole[1] not in self._params:
                line = self._source.keywords.get(keyword, DocumentLines(self._source.line)).line
                hint = did_you_mean(hole[1], self._params) or f"write {{{{{hole[1]}}}}} for the braces themselves"
                self._wrong(line, f"{keyword}: the test has no parameter {shown(hole[1])}", hint)
        return _HOLE.sub(lambda hole: str(self._params.get(hole[1], hole[0])) if hole[1] else hole[0][0], text)

    def _id(self, given: object) -> object:
        """Return the id of the case: the given id, otherwise the name of the function with its parameters."""
        if given is not None and not isinstance(given, str):
            return given
        item = self._item
        owner = [item.cls.__qualname__] if item.cls is not None else []
        name = given and self._text(given, "id")
        if not name or (name == given and self._values):
            name = name or ".".join([item.function.__module__, *owner, item.originalname])
            name = "-".join(filter(None, (name, self._values)))
            plain = _NO_ID.sub("-", name)
            if plain != name or len(plain) > _LONGEST_ID or _TRIAL.search(plain):
                name = f"{plain[: _LONGEST_ID - 7]}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
        return name

    def _requirements(self, given: Any) -> list[Any]:
        """Return the given requirements, those of the blocks, and that of the code outside blocks, in this order without repetitions."""
        source, listed, lines = self._source, [], []
        for each in given if isinstance(given, list) else ():
            listed.append({"id": slug(str(each.get("text", ""))), **each} if isinstance(each, dict) else each)
            lines.append(source.keywords.get("requirements", DocumentLines(source.line)))
        known = {(each.get("kind"), each.get("text")) for each in listed if isinstance(each, dict)}
        for block in source.blocks:
            if block.text is None and not listed:
                hint = "@case(requirements=[...]) names it, with its kind"
                self._wrong(block.line, "the text of this block is no literal", hint)
            elif block.text is not None and (block.kind, block.text) not in known:
                weight = {} if block.weight is None else {"weight": block.weight}
                listed.append({"id": block.id or slug(block.text), "kind": block.kind, "text": block.text, **weight})
                lines.append(DocumentLines(block.line))
        if source.rest:
            name = self._item.originalname
            self.rest = name if name.isascii() else slug(name)
            listed.append({"id": self.rest, "kind": "hard", "text": name})
            lines.append(DocumentLines(source.line))
        if not listed:
            hint = "write assert, or a block: with episode.hard('...')"
            self._wrong(source.line, "nothing in this case can fail", hint)
        nouns = [each for each in listed if isinstance(each, dict)]
        self.decided = [str(each.get("id")) for each in nouns if not {"check", "levels"} & each.keys()]
        self._lines.children["truth"].children["requirements"] = DocumentLines(source.line, dict(enumerate(lines)))
        return listed


def _filled(value: Any, params: Mapping[str, Any]) -> Any:
    """Return plain data with the item's parameters filled into its texts."""
    if isinstance(value, str):
        return _HOLE.sub(lambda hole: str(params[hole[1]]) if hole[1] in params else hole[0], value)
    if isinstance(value, Mapping):
        return {name: _filled(each, params) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_filled(each, params) for each in value]
    if isinstance(value, Noun):
        return _filled(value.model_dump(mode="json", by_alias=True, exclude_unset=True), params)
    return value.isoformat() if hasattr(value, "isoformat") else value


# -- the body ------------------------------------------------------------------------------


_SKIPPING = (pytest.skip.Exception, pytest.xfail.Exception)


def _fails(error: BaseException) -> bool:
    """Return whether an exception fails a test, rather than skipping or ending it."""
    return isinstance(error, AssertionError | pytest.fail.Exception) and not isinstance(error, _SKIPPING)


def blocks_for(
    case: PythonCase, context: JudgedDialogue, *, stops: Callable[[RequirementKind], bool] = lambda _: False
) -> Blocks:
    """Return new blocks for the body of a case."""
    requirements = context.case.truth.requirements if context.case else ()

    def ever_there(table: str, row_id: object) -> bool:
        """Return whether a row was in the tables at the start or at the end of the episode."""
        key = context.end.key(table)
        return any(row.get(key) == row_id for row in context.end.tables[table].rows)

    return Blocks(
        [each for each in requirements if each.id in case.decided],
        case.rest,
        fails=_fails,
        skips=lambda error: isinstance(error, _SKIPPING),
        stops=stops,
        ever_there=ever_there,
    )


def call_body(
    item: pytest.Function, context: JudgedDialogue, blocks: Blocks
) -> Generator[None, Any, BaseException | None]:
    """Have pytest call the body of a case with its episode; return an exception that the body itself raised.

    Raises:
        BaseException: the body was not reached, or pytest is to end.
    """
    __tracebackhide__ = True
    item.funcargs["episode"] = replace(context.episode, _blocks=blocks)
    try:
        yield
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise
    except BaseException as error:
        trace = _of_body(item, error)
        if trace is None:
            raise
        return blocks.finish(error.with_traceback(trace))
    return blocks.finish(None)


def _of_body(item: pytest.Function, error: BaseException) -> TracebackType | None:
    """Return the part of an exception's traceback that starts in the body; None if the body is not in the traceback."""
    code, trace = unwrap(item.function).__code__, error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not code:
        trace = trace.tb_next
    return trace


def stamp_of(case: PythonCase, context: JudgedDialogue) -> str:
    """Return a digest of a Python case, from its declaration and its body."""
    return digest([noun_digest(context.case) if context.case else "", case.digest])


# -- workers -------------------------------------------------------------------------------

#: Node id, trial and entry of each case in Python that a worker has collected, which its node ids do not tell.
Listed = TypeAdapter(list[tuple[str, int, CaseEntry]])


def listed_items(items: Iterable[pytest.Item]) -> bytes:
    """Return a worker's Python cases as JSON for the controller."""
    params = [item.stash[PYTHON_CASE].param for item in items if PYTHON_CASE in item.stash]
    return Listed.dump_json([(param.nodeid, param.trial, param.entry) for param in params])
