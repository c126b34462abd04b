"""Import of promptfoo's configurations: each test, with each prompt, becomes a case.

An assertion becomes a check where one asks the same; all others are refused with the reason.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from pytest_mapsat.formats import (
    DocumentLines,
    LocatedDocument,
    content_digest,
    limits,
    located_json,
    package_data,
    parse_yaml,
    printable,
    read_bytes,
    read_csv,
    shown_path,
)
from pytest_mapsat.model import (
    CallPattern,
    Calls,
    Case,
    Check,
    Json,
    JsonObject,
    Matches,
    SuiteError,
    SuiteManifest,
    Tool,
    schema_problem,
    shown,
)
from pytest_mapsat.ports import Record, files_of, imported_manifest, safe_name, source_error, unused_id, write_suite
from pytest_mapsat.suite import ImportLog, ImportReport, bare_tool, new_folder, write_cases

_NOT = "not-"
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_MARKS = re.compile(r"[!-/:-@\[-^`{-~]")
_CHECK: TypeAdapter[Any] = TypeAdapter(Check)
#: Types that a model decides in promptfoo; here a requirement in words, without a check, which a judge with a model reads.
_IN_WORDS = ("llm-rubric", "g-eval", "model-graded-closedqa", "trajectory:goal-success")
_DATA = package_data(__package__, "words.yaml")
_WHY: Mapping[str, str] = {sort: why for why, sorts in _DATA["why"] for sort in sorts}


class RefusedError(Exception):
    """Raised if an assertion, prompt or file cannot be imported; its message gives the reason."""


def requirement_of(kind: str, value: Json, threshold: Json) -> tuple[str, JsonObject | None]:
    """Return an assertion as a requirement's text and its check; the check is None if a model must judge the text.

    Args:
        kind: the type, as ``not-contains``.
        value: its value, variables filled in.
        threshold: its threshold, None where it has none.

    Raises:
        RefusedError: no check asks the same.
    """
    plain = kind.removeprefix(_NOT)
    if plain in _IN_WORDS:
        if kind != plain or not isinstance(value, str) or not value.strip():
            raise RefusedError("asks a model for the opposite of its words" if kind != plain else "has no words")
        return value, None
    if plain not in _CHECKS:
        raise RefusedError(_WHY.get(plain, "has no counterpart"))
    if threshold is not None:
        raise RefusedError("has a threshold: a check holds or not")
    check = _CHECKS[plain](value)
    check = check if kind == plain else {"kind": "not", "check": check}
    try:
        _CHECK.validate_python(check)
    except ValidationError as error:
        raise RefusedError(f"makes no check: {error.errors()[0]['msg']}") from None
    words = "" if value is None else f" {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
    return f"the output: {kind}{words}"[:2000], check


def _text(value: Json) -> str:
    """Return a text or number to search for as text. Raises RefusedError for any other value."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
        raise RefusedError("has no text to look for")
    return str(value)


def _texts(value: Json) -> list[str]:
    """Return the texts to search for, from a list or from comma-separated text. Raises RefusedError if there are none."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise RefusedError("has no list of texts")
    return [_text(part) for part in parts]


def _matches(pattern: str) -> JsonObject:
    """Return a check that the reply matches a pattern. Raises RefusedError if RE2 cannot read the pattern."""
    try:
        Matches(kind="matches", pattern=pattern).compiled  # noqa: B018  it raises for what RE2 does not read
    except ValidationError:
        raise RefusedError("is longer than a pattern may be") from None
    except ValueError as error:
        raise RefusedError(f"has a pattern that RE2 does not read: {error}") from None
    return {"kind": "matches", "pattern": pattern}


def _literal(text: str) -> str:
    """Return a pattern that matches a text literally."""
    return _MARKS.sub(r"\\\g<0>", text)


def _contains(text: str, *, any_case: bool = False) -> JsonObject:
    """Return a check that the reply contains a text; ``any_case`` ignores case."""
    return _matches(("(?i)" if any_case else "") + _literal(text))


def _equals(value: Json) -> JsonObject:
    """Return a check that the whole reply equals a text. Raises RefusedError for an object or a list."""
    if isinstance(value, (dict, list)):
        raise RefusedError("compares with data: ask for a structured output and check its fields (output)")
    return _matches(rf"\A{_literal(_text(value))}\z")


def _regex(value: Json) -> JsonObject:
    """Return a check that the reply matches a pattern, which may be written ``/pattern/flags``."""
    pattern = _text(value)
    written = re.fullmatch(r"/(.*)/([a-z]*)", pattern, re.DOTALL)
    if written is None:
        return _matches(pattern)
    flags = "".join(flag for flag in written[2] if flag in "ims")
    return _matches(f"(?{flags}){written[1]}" if flags else written[1])


def _is_json(value: Json) -> JsonObject:
    """Return a check that there is structured output. Raises RefusedError for an invalid schema."""
    if value is None:
        return {"kind": "output", "equals": {"op": "present"}}
    if not isinstance(value, dict) or value.get("type") != "object":
        raise RefusedError("has a schema of no object: structured output is one")
    if (problem := schema_problem(value)) is not None:
        raise RefusedError(f"has a schema that is not read whole: {'.'.join(map(str, problem[0]))}: {problem[1]}")
    return {"kind": "output"}


def _tool(name: Json) -> str:
    """Return the name of a tool. Raises RefusedError if the value is not a name."""
    if not isinstance(name, str) or not _TOOL.fullmatch(name):
        raise RefusedError("names no tool, or a pattern of names")
    return name


def _tool_used(value: Json) -> JsonObject:
    """Return a check that the agent calls a tool, or each tool of a list, within the given limits."""
    if isinstance(value, list):
        return {"kind": "all", "checks": [_tool_used(member) for member in value]}
    if isinstance(value, str):
        return {"kind": "calls", "tool": _tool(value)}
    if not isinstance(value, Mapping):
        raise RefusedError("names no tool, or a pattern of names")
    counts = {"at_least": value.get("min", 1), "at_most": value.get("max")}
    given = {name: count for name, count in counts.items() if count is not None}
    return {"kind": "calls", "tool": _tool(value.get("name")), **given}


def _tool_arguments(value: Json) -> JsonObject:
    """Return a check that a tool is called with the given arguments. Raises RefusedError for exact arguments."""
    arguments = value.get("args", value.get("arguments")) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(arguments, dict):
        raise RefusedError("names no tool with arguments")
    if value.get("mode", "partial") != "partial":
        raise RefusedError("asks that there are no other arguments (mode: exact)")
    wanted = {name: {"op": "equal", "value": value} for name, value in arguments.items()}
    return {"kind": "calls", "tool": _tool(value.get("name")), "with": wanted}


def _tool_sequence(value: Json) -> JsonObject:
    """Return a check that the agent calls tools in order, or exactly in order. Raises RefusedError for any other mode."""
    steps = value.get("steps") if isinstance(value, Mapping) else value
    mode = value.get("mode", "in_order") if isinstance(value, Mapping) else "in_order"
    if not isinstance(steps, list) or not all(map(_tool, steps)) or mode not in ("in_order", "exact"):
        raise RefusedError("is no list of tools, in order or exactly")
    return {"kind": "calls", "steps": steps, "match": mode}


def _several(combination: str, *, any_case: bool) -> Callable[[Json], JsonObject]:
    """Return a function that makes a check that the reply contains all or any of several texts."""
    return lambda value: {"kind": combination, "checks": [_contains(text, any_case=any_case) for text in _texts(value)]}


_CHECKS: Mapping[str, Callable[[Json], JsonObject]] = {
    "equals": _equals,
    "contains": lambda value: _contains(_text(value)),
    "icontains": lambda value: _contains(_text(value), any_case=True),
    **{f"contains-{which}": _several(which, any_case=False) for which in ("all", "any")},
    **{f"icontains-{which}": _several(which, any_case=True) for which in ("all", "any")},
    "starts-with": lambda value: _matches(rf"\A{_literal(_text(value))}"),
    "ends-with": lambda value: _matches(rf"{_literal(_text(value))}\z"),
    "regex": _regex,
    "is-json": _is_json,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-args-match": _tool_arguments,
    "trajectory:tool-sequence": _tool_sequence,
}


FORMAT = "promptfoo"
_NAMES = tuple(f"promptfooconfig.{ending}" for ending in ("yaml", "yml", "json"))
#: The most cases that a configuration may multiply to.
_MOST = 10_000
#: How often a variable may stand in another one.
_DEPTH = 5
#: An expression ends before the next one begins, so that braces that are never closed take linear time.
_TEMPLATE = re.compile(r"\{\{((?:(?!\{\{|\}\}).)*)\}\}", re.DOTALL)
#: Characters that one text may come to with its variables.
_MOST_FILLED = 2_000_000
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")


class _Test(NamedTuple):
    """A test with defaults applied: its place, name, variables and assertions."""

    place: str
    name: str
    vars: JsonObject
    assertions: tuple[Record, ...]


class _Prompt(NamedTuple):
    """A prompt: the user's message, the messages before it, and the system instructions."""

    label: str
    text: str
    system: str = ""
    history: tuple[str, ...] = ()


def import_promptfoo(src: Path, dest: Path) -> ImportReport:
    """Import a configuration of promptfoo as a suite at ``dest``.

    Args:
        src: ``promptfooconfig.yaml``, or the folder that holds it.
        dest: a folder that does not exist yet, or is empty.

    Returns:
        What came over, what did not, and what is odd.

    Raises:
        SuiteError: when the configuration cannot be read, or no test of it becomes a case.
        UsageError: when ``dest`` cannot be used.
    """
    lacks = f"holds none of {', '.join(_NAMES)}"
    config = files_of(src, *([name] for name in _NAMES), lacks=lacks, hint="name the configuration itself")[0]
    log = ImportLog()
    reader = _Config(config, log)
    cases = list(reader.cases())
    if not cases:
        raise log.nothing(config, "holds no tests")
    with new_folder(dest) as folder:
        tools = list(_tools(cases, log))
        write_suite(folder, reader.manifest(len(cases)), tools)
        write_cases(folder / "cases.jsonl", cases)
        return log.report(folder, FORMAT, cases=len(cases), tools=len(tools), by_tool=Counter())


def _tools(cases: Iterable[Case], log: ImportLog) -> Iterator[Tool]:
    """Yield a minimal spec for each tool in an assertion, with the observed parameters, and note that it is minimal."""
    seen: dict[str, set[str]] = {}
    leaves = (leaf for case in cases for requirement in case.truth.requirements for leaf in requirement.leaves)
    for calls in leaves:
        if isinstance(calls, Calls):
            own = [CallPattern(tool=calls.tool, arguments=calls.arguments)] if calls.tool else []
            for pattern in (*own, *calls.steps):
                seen.setdefault(pattern.tool, set()).update(pattern.arguments)
    way = "mapsat record TOOLS describes it anew and keeps answers"
    for name in sorted(seen):
        log.note("tool", name, f"the configuration tells only its name and parameters seen; {way}")
        yield bare_tool(name, seen[name])


class _Config:
    """One configuration, with the files to which it refers."""

    def __init__(self, path: Path, log: ImportLog) -> None:
        self._path = path
        self._root = path.parent.resolve()
        self._log = log
        self._refused: set[tuple[str, str]] = set()
        self._document = self._read(path)
        data = self._document.data
        if not isinstance(data, dict):
            raise source_error(path, f"found {shown(data)}, expected the keys prompts and tests", line=1)
        self._data: JsonObject = data
        self._default = data.get("defaultTest", {})
        if not isinstance(self._default, dict):  # without its assertions the tests would ask less
            message = f"defaultTest: found {shown(self._default)}, expected what each test has: write it in place"
            raise source_error(path, message, line=self._document.lines.at(("defaultTest",)))

    def manifest(self, cases: int) -> SuiteManifest:
        """Return the manifest of the suite."""
        about = self._data.get("description")
        name = safe_name(self._path.resolve().parent.name, 60) or FORMAT
        return imported_manifest(
            f"promptfoo-{name}",
            content_digest(self._path)[:12],
            description=f"{about if isinstance(about, str) else 'Tests of promptfoo'}; imported, {cases} cases."[:1000],
        )

    def cases(self) -> Iterator[Case]:
        """Yield a case for each test with each prompt, and note what cannot be carried over."""
        for key in sorted(self._data.keys() & set(_DATA["own"])):
            message = f"{key}: belongs to promptfoo; an agent is named by --mapsat-agent"
            self._log.note("ignored", self._at(key), message, leaves=key)
        prompts = list(self._prompts())
        names: dict[str, int] = {}
        number = 0
        for test in self._tests():
            for prompt in prompts:
                number += 1
                if number > _MOST:
                    self._refuse("cases", test.place, f"the configuration has more than {_MOST} cases")
                    return
                case = self._case(test, prompt, unused_id(safe_name(test.name, 50) or "test", names))
                if case is not None:
                    yield case

    def _case(self, test: _Test, prompt: _Prompt, name: str) -> Case | None:
        """Return the case of a test with a prompt; note it and return None if no case can be made of them."""
        try:
            query, system = _filled(prompt.text, test.vars), _filled(prompt.system, test.vars)
            history = [_filled(line, test.vars) for line in prompt.history]
        except RefusedError as error:
            self._refuse("tests", test.place, f"the prompt {shown(prompt.label)} {error}")
            return None
        requirements, schema, refused = self._requirements(test)
        if not requirements:
            what = "no assertion that a check could ask" if test.assertions else "no assertion"
            self._refuse("tests", test.place, f"the test has {what}")
            return None
        visible = {"query": query, "instructions": system, "output_schema": schema, "context": {"history": history}}
        attributes = {"assertions": "some" if refused else "all", "prompt": prompt.label[:100]}
        data = {"id": name, "attributes": attributes, "visible": visible, "truth": {"requirements": requirements}}
        return self._log.case(data, test.place)

    def _requirements(self, test: _Test) -> tuple[list[JsonObject], JsonObject, int]:
        """Return the requirements of a test, the schema of its output, and the number of refused assertions."""
        requirements: list[JsonObject] = []
        schema: JsonObject = {}
        refused = 0
        for number, assertion in enumerate(test.assertions, 1):
            try:
                text, check = self._requirement(assertion, test.vars)
                if assertion.data.get("type") == "is-json" and check == {"kind": "output"}:
                    schema = self._value(assertion.data.get("value"), test.vars)
            except RefusedError as error:
                refused += 1
                kind = assertion.data.get("type")
                self._refuse("assertions", assertion.place, f"{kind if isinstance(kind, str) else shown(kind)} {error}")
                continue
            name = assertion.data.get("metric")
            text = f"{name}: {text}" if isinstance(name, str) else text
            checked = {} if check is None else {"check": check}
            requirements.append({"id": f"a{number}", "kind": "asked", "text": text, **checked})
        return requirements, schema, refused

    def _requirement(self, assertion: Record, given: JsonObject) -> tuple[str, JsonObject | None]:
        """Return the text and the check of one assertion. Raises RefusedError if it cannot be carried over."""
        data = assertion.data
        kind = data.get("type")
        if data.get("transform") is not None or data.get("weight") == 0:
            weightless = data.get("weight") == 0
            raise RefusedError("has weight 0: it decides nothing" if weightless else "reads a transformed output")
        if not isinstance(kind, str):
            raise RefusedError("has no type")
        return requirement_of(kind, self._value(data.get("value"), given), data.get("threshold"))

    def _value(self, value: Json, given: JsonObject) -> Json:
        """Return the value of an assertion with its file read and its variables filled in."""
        if isinstance(value, list):
            return [self._value(member, given) for member in value]
        if isinstance(value, dict):
            return {key: self._value(member, given) for key, member in value.items()}
        return _all_filled(self._data_of(value), given)  # files that a file names are not read: it may name itself

    # -- tests

    def _tests(self) -> Iterator[_Test]:
        """Yield the tests of the configuration and of the files that it names; note what is not a test."""
        tests = self._data.get("tests")
        for number, test in enumerate(tests if isinstance(tests, list) else [] if tests is None else [tests]):
            place = self._at("tests", number)
            if isinstance(test, str):
                yield from self._from_file(test, place)
            elif isinstance(test, dict):
                yield from self._test(test, place, ("tests", number))
            else:
                self._refuse("tests", place, f"found {shown(test)}, expected a test or the name of a file")
        if self._data.get("scenarios"):
            self._refuse("scenarios", self._at("scenarios"), "scenarios are not read: write their tests out")

    def _from_file(self, name: str, place: str) -> Iterator[_Test]:
        """Yield the tests of a CSV, YAML or JSON file; note what cannot be read."""
        try:
            path = self._named_file(name)
            if path.suffix.lower() == ".csv":
                for row in read_csv(path, ()):
                    yield from self._test(_of_row(row.cells), f"{printable(path.name)}:{row.line}")
                return
            tests = self._read(path)
        except (SuiteError, RefusedError) as error:
            self._refuse("files of tests", place, str(error))
            return
        for number, test in enumerate(tests.data if isinstance(tests.data, list) else [tests.data]):
            at = f"{printable(path.name)}:{tests.lines.at([number])}"
            if isinstance(test, dict):
                yield from self._test(test, at)
            else:
                self._refuse("tests", at, f"found {shown(test)}, expected a test")

    def _test(self, test: JsonObject, place: str, path: Sequence[str | int] = ()) -> Iterator[_Test]:
        """Yield a test once for each combination of its variables that have several values; note a test that is refused."""
        own = {**_object(self._default.get("vars")), **_object(test.get("vars"))}
        merged = {**self._default, **test, "vars": own}  # assertions are not merged here
        options = _object(merged.get("options"))
        if options.get("transform") or options.get("postprocess"):
            self._refuse("tests", place, "the test transforms the output before its assertions")
            return
        if options.get("disableVarExpansion"):
            self._refuse("tests", place, "the test keeps lists of values whole (disableVarExpansion)")
            return
        if merged.get("threshold") is not None:
            message = "the threshold of the test is not carried over: all assertions are asked"
            self._log.note("threshold", place, message)
        assertions = list(self._assertions(test.get("assert"), place, path))
        if not options.get("disableDefaultAsserts"):
            shared = self._assertions(self._default.get("assert"), self._at("defaultTest"), ("defaultTest",))
            assertions = [*shared, *assertions]
        try:
            given = {key: self._data_of(value) for key, value in _object(merged.get("vars")).items()}
        except (RefusedError, SuiteError) as error:
            self._refuse("tests", place, str(error))
            return
        name = test.get("description")
        several = {key: value for key, value in given.items() if isinstance(value, list)}
        for values in islice(product(*several.values()), _MOST + 1):
            variables = {**given, **dict(zip(several, values, strict=True))}
            yield _Test(place, name if isinstance(name, str) else "test", variables, tuple(assertions))

    def _assertions(self, listed: Json, place: str, path: Sequence[str | int]) -> Iterator[Record]:
        """Yield the assertions of a list, each with its place."""
        for number, assertion in enumerate(listed if isinstance(listed, list) else ()):
            at = self._at(*path, "assert", number) if path else place
            yield Record(at, assertion if isinstance(assertion, dict) else {"type": assertion})

    # -- prompts, variables, files

    def _prompts(self) -> Iterator[_Prompt]:
        """Yield the prompts of the configuration; note those that cannot be read."""
        prompts = self._data.get("prompts", ["{{prompt}}"])
        for number, prompt in enumerate(prompts if isinstance(prompts, list) else [prompts]):
            given = {"raw": prompt} if isinstance(prompt, str) else _object(prompt)
            raw = next((given[key] for key in ("raw", "id") if isinstance(given.get(key), str)), "")
            label = given.get("label")
            try:
                yield from self._prompt(raw, label if isinstance(label, str) else f"prompt {number + 1}")
            except (RefusedError, SuiteError) as error:
                self._refuse("prompts", self._at("prompts", number), f"the prompt {error}")

    def _prompt(self, raw: str, label: str) -> Iterator[_Prompt]:
        """Yield a prompt given as text or as the name of a file. Raises RefusedError if it is empty or a program."""
        if not raw.strip():
            raise RefusedError("is empty")
        if not raw.startswith("file://") and not (("\n" not in raw) and Path(raw).suffix in (".txt", ".json", ".md")):
            yield _chat(raw, label)
            return
        path = self._named_file(raw)
        if path.suffix.lower() not in (".txt", ".md", ".json"):
            raise RefusedError("is a program: only texts and lists of messages are read")
        text = read_bytes(path, limits.YAML_BYTES).decode("utf-8", errors="replace")
        if path.suffix.lower() == ".txt" and re.search(r"^---\s*$", text, re.MULTILINE):
            raise RefusedError("is divided by ---: write each part into a file of its own")
        yield _chat(text.strip(), label)

    def _data_of(self, value: Json) -> Json:
        """Return the content of the file that a ``file://`` value names; return any other value unchanged."""
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        path = self._named_file(value)
        if path.suffix.lower() in (".yaml", ".yml", ".json"):
            return self._read(path).data
        if path.suffix.lower() not in (".txt", ".md", ".html", ".csv", ".xml"):
            raise RefusedError(f"names {printable(path.name)}, which is no text: code is not run")
        return read_bytes(path, limits.YAML_BYTES).decode("utf-8", errors="replace").strip()

    def _named_file(self, name: str) -> Path:
        """Return the path of a file that the configuration names. Raises RefusedError if it is outside its folder or no file."""
        place = name.removeprefix("file://").partition("?")[0]
        try:
            path = (self._root / place).resolve()
            is_file = path.is_file()
        except (OSError, ValueError, RuntimeError):  # too long, no name of a file, links in a circle
            raise RefusedError(f"names {shown(name)}, which is no name of a file") from None
        if not place or not path.is_relative_to(self._root):
            raise RefusedError(f"names {shown(name)}, which is not in the folder of the configuration")
        if not is_file:
            raise RefusedError(f"names {shown(name)}, which is no file; patterns and addresses are not read")
        return path

    def _read(self, path: Path) -> LocatedDocument:
        """Return the data of a YAML or JSON file with its line numbers. Raises SuiteError."""
        name = shown_path(path)
        raw = read_bytes(path, limits.YAML_BYTES)
        if path.suffix.lower() == ".json":  # which YAML does not read whole: no half characters in escapes
            return LocatedDocument(located_json(raw.decode("utf-8-sig", errors="replace"), name, 1), DocumentLines(1))
        documents = parse_yaml(raw, name)
        if len(documents) != 1:
            raise source_error(path, f"holds {len(documents)} documents, expected one", line=1)
        return documents[0]

    def _at(self, *path: str | int) -> str:
        """Return the configuration's file name and the line of a key, as ``name:line``."""
        return f"{printable(self._path.name)}:{self._document.lines.at(path)}"

    def _refuse(self, what: str, place: str, message: str) -> None:
        """Note once that something is left out and why, and count it under ``what``."""
        if (place, message) not in self._refused:  # an assertion of several cases is told once
            self._refused.add((place, message))
            self._log.note("refused", place, f"{message}; left out", leaves=what)


def _object(value: Json) -> JsonObject:
    """Return an object unchanged; empty for any other value."""
    return value if isinstance(value, dict) else {}


def _of_row(cells: dict[str, str]) -> JsonObject:
    """Return a test from a row of a table: columns are variables, and ``__expected`` holds an assertion."""
    variables = {key: value for key, value in cells.items() if not key.startswith("__")}
    expected = [value for key, value in cells.items() if re.fullmatch(r"__expected\d*", key) and value.strip()]
    test: JsonObject = {"vars": variables, "assert": [_expected(value.strip()) for value in expected]}
    if cells.get("__description"):
        test["description"] = cells["__description"]
    return test


def _expected(text: str) -> JsonObject:
    """Return the assertion in a cell: a type and its value, as ``contains: words``, or the text that the output equals."""
    match = re.fullmatch(r"((?:not-)?[a-z][a-z-]*)(?:\((\d+(?:\.\d+)?)\))?:\s*(.*)", text, re.DOTALL)
    if match is None:
        bare = text in ("is-json", "not-is-json")
        return {"type": text, "value": None} if bare else {"type": "equals", "value": text}
    threshold = {} if match[2] is None else {"threshold": float(match[2])}
    return {"type": _DATA["prefixes"].get(match[1], match[1]), "value": match[3], **threshold}


def _chat(text: str, label: str) -> _Prompt:
    """Return a prompt from a text, or from a JSON list of messages with system, history and last user message."""
    data = None
    if text.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            data = json.loads(_TEMPLATE.sub(lambda match: match[0].replace('"', "'"), text))
    messages: list[Json] = data if isinstance(data, list) else [None]
    if not all(isinstance(_object(message).get("content"), str) for message in messages):
        return _Prompt(label, text)
    spoken = [(str(_object(message).get("role", "user")), _object(message)["content"]) for message in messages]
    users = [at for at, (role, _) in enumerate(spoken) if role == "user"]
    if not users:
        raise RefusedError("is a list of messages in which no user speaks")
    system = "\n".join(words for role, words in spoken if role == "system")
    history = tuple(f"{role}: {words}" for role, words in spoken[: users[-1]] if role != "system")
    return _Prompt(label, spoken[users[-1]][1], system, history)


def _all_filled(value: Json, given: JsonObject) -> Json:
    """Return data with the variables in all its texts filled in."""
    if isinstance(value, str):
        return _filled(value, given)
    if isinstance(value, list):
        return [_all_filled(member, given) for member in value]
    return {key: _all_filled(member, given) for key, member in value.items()} if isinstance(value, dict) else value


def _filled(template: str, given: JsonObject) -> str:
    """Return a text with its variables filled in, recursively. Raises RefusedError for any other template syntax."""
    characters = 0

    def filled(text: str, depth: int) -> str:
        """Return a text with its variables filled in. Raises RefusedError if it nests too deep or grows too long."""
        nonlocal characters
        if "{%" in text or "{#" in text:
            raise RefusedError("has a loop, a condition or a comment of a template")
        if depth > _DEPTH:
            raise RefusedError("has variables that lead to each other")
        characters += len(text)
        if characters > _MOST_FILLED:
            raise RefusedError(f"has variables that come to more than {_MOST_FILLED:,} characters")
        return _TEMPLATE.sub(lambda match: value(match, depth), text)

    def value(match: re.Match[str], depth: int) -> str:
        """Return the text of the variable that an expression names. Raises RefusedError if there is none."""
        nonlocal characters
        name = match[1].removeprefix("-").removesuffix("-").strip()
        if not _PATH.fullmatch(name):
            raise RefusedError(f"has {shown(match[0])}: only names of variables are filled in")
        here: Json = given
        for key in name.split("."):
            if not isinstance(here, dict) or key not in here:
                raise RefusedError(f"has {shown(match[0])}, which no variable fills in")
            here = here[key]
        if isinstance(here, str):
            return filled(here, depth + 1)
        text = json.dumps(here, ensure_ascii=False)
        characters += len(text)
        return text

    return filled(template, 0)
