"""Proposals under review: people accept, change or drop each, the case's file follows, and what they decided is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, StringConstraints

from pytest_mapsat.formats import append_lines, limits, parse_yaml, read_bytes, read_lines, read_nouns, shown_path
from pytest_mapsat.model import (
    Case,
    Identifier,
    Json,
    JsonObject,
    Noun,
    Problem,
    Requirement,
    ScriptedAnswer,
    SuiteError,
    Text,
    UsageError,
    did_you_mean,
    digest,
    shown,
)
from pytest_mapsat.sandbox import SandboxHook
from pytest_mapsat.suite import LABELS, PROPOSALS, CaseEntry, Suite, find_suite, open_suite, to_yaml, write_bytes

#: Where a match keeps the value that it compares with, by its operation.
_VALUES = {"equal": "value", "one_of": "values", "contains": "text", "open_at": "time"}


class ProposalDecision(Noun):
    """What a person decided on one proposal: a line of ``labels/proposals.jsonl``, or of a file of decisions.

    ``proposal``: the id of the requirement, or ``answer-`` and a digest of what the user says. ``kind``, ``text`` and ``value``, of a changed one: another kind of
    requirement, other words, and another value of the field that its check is about. ``was``: what had been proposed.
    """

    case: Identifier
    proposal: Text
    outcome: Literal["accepted", "changed", "dropped"]
    by: Annotated[str, StringConstraints(max_length=200)] = ""
    why: str = Field(default="", max_length=1000)
    kind: Literal["asked", "hard", "soft"] | None = None
    text: Text | None = None
    value: Json = None
    was: JsonObject = Field(default_factory=dict)


@dataclass(frozen=True)
class Proposal:
    """A proposal of a draft: a requirement, or an answer of the user.

    Attributes:
        case: the draft.
        entry: where it stands.
        name: what decisions call it.
        part: what is proposed.
        place: where in the case it stands, as it is written: keys, and the index in a list.
        line: its line in the file, from 1.
    """

    case: Case
    entry: CaseEntry
    name: str
    part: Requirement | ScriptedAnswer
    place: tuple[str | int, ...]
    line: int

    def to_json(self) -> JsonObject:
        """Return it as JSON data."""
        at = {"case": self.case.id, "proposal": self.name, "path": shown_path(self.entry.path), "line": self.line}
        kind = "requirement" if isinstance(self.part, Requirement) else "answer"
        return {**at, "is": kind, "proposed": self.part.to_json()}

    def problem(self, message: str) -> UsageError:
        """Return an error at its place."""
        return UsageError(f"{shown_path(self.entry.path)}:{self.line}: {self.case.id}, {self.name}: {message}")


class ProposalReview:
    """The drafts at a path under review.

    Args:
        path: a suite's folder, or a file or folder in it.
        by: who decides.
        sandboxes: what looks for sandboxes in Python.

    Raises:
        UsageError: there is no suite.
        SuiteError: it cannot be read.
    """

    def __init__(self, path: Path, by: str, sandboxes: Iterable[SandboxHook] = ()) -> None:
        root = find_suite(path)
        if root is None:
            raise UsageError(f"{path}: there is no suite; expected a suite.yaml there or above")
        self._path, self._by, self._sandboxes, self._root = Path(path).absolute(), by, tuple(sandboxes), root
        self.suite = self._opened()

    def _opened(self) -> Suite:
        suite = open_suite(self._root)
        suite.sandboxes = self._sandboxes
        return suite

    @property
    def open(self) -> list[Proposal]:
        """The proposals that no person has decided on, by file and line. Raises SuiteError."""
        files = (file for file in self.suite.files() if file == self._path or self._path in file.parents)
        entries = (entry for file in files for entry in self.suite.entries(file) if entry.draft)
        return [proposal for entry in entries for proposal in self._of(entry)]

    def _of(self, entry: CaseEntry) -> Iterator[Proposal]:
        case, lines = self.suite.load(entry), self.suite.lines_of(entry)
        user = _written_at(entry)["truth"].get("user")
        answers = ("truth", "user") if isinstance(user, list) else ("truth", "user", "answers")
        parts: list[tuple[str, Requirement | ScriptedAnswer, tuple[str | int, ...]]] = [
            (part.id, part, ("truth", "requirements", index)) for index, part in enumerate(case.truth.requirements)
        ]
        parts += [
            (f"answer-{digest(part.say, 6)}", part, (*answers, index))
            for index, part in enumerate(case.truth.user.answers)
        ]
        yield from (
            Proposal(case, entry, name, part, place, lines.at(place)) for name, part, place in parts if part.draft
        )

    def decide(self, proposal: Proposal, decision: ProposalDecision) -> None:
        """Keep a decision: the case's file is put in place whole, then the decision is added to ``labels/proposals.jsonl``.

        Raises:
            UsageError: the decision does not fit the proposal, or the file cannot be edited without losing what people wrote.
            SuiteError: the suite could not be read any more; then it is as it was.
        """
        data = _written_at(proposal.entry)
        *way, index = proposal.place
        parts: Any = data
        for key in way:
            parts = parts[key]
        decided = _decided(parts[index], decision, proposal)
        if decided is None and isinstance(proposal.part, Requirement) and len(proposal.case.truth.requirements) == 1:
            raise proposal.problem("it is the last requirement of the case: change it, or remove the case")
        parts[int(index) : int(index) + 1] = [] if decided is None else [decided]
        files = {proposal.entry.path: _file_with(proposal, data)}
        if decided is None and isinstance(proposal.part, Requirement):
            files |= self._without_label(proposal)
        before = {path: path.read_bytes() for path in files}
        try:
            for path, content in files.items():
                write_bytes(path, content)
            self.suite = self._opened()
            entries = self.suite.entries(proposal.entry.path)
            self.suite.load(next(entry for entry in entries if entry.id == proposal.case.id))
            kept = decision.model_copy(update={"by": decision.by or self._by, "was": proposal.part.to_json()})
            append_lines(self._root / LABELS / PROPOSALS, [kept.to_json()])
        except BaseException:
            for path, content in before.items():
                write_bytes(path, content)
            self.suite = self._opened()
            raise

    def _without_label(self, proposal: Proposal) -> dict[Path, bytes]:
        """Return the files of labelled answers without the label of a requirement that is dropped."""
        files: dict[Path, bytes] = {}
        for path in self.suite.inventory.labels:
            lines = [line.data for line in read_lines(path, limits.DIALOGUE_BYTES)]
            kept = list(lines)
            for number, line in enumerate(lines):
                data = json.loads(line)
                if data.get("case") == proposal.case.id and proposal.name in data.get("labels", ()):
                    for name in ("labels", "why", "wording"):
                        data.get(name, {}).pop(proposal.name, None)
                    kept[number] = json.dumps(data, ensure_ascii=False).encode() if data["labels"] else b""
            if kept != lines:
                files[path] = b"".join(line.rstrip(b"\n") + b"\n" for line in kept if line)
                _refuse_compressed(path)
        return files

    def take_file(self, path: Path) -> int:
        """Keep the decisions of a file of JSON lines, none where one of them names no open proposal. Return how many were kept.

        Raises:
            UsageError: there is no such file, or a decision does not fit its proposal; those before it are kept.
            SuiteError: with the problems of all lines.
        """
        decisions = read_nouns(path, ProposalDecision)
        names = [(proposal.case.id, proposal.name) for proposal in self.open]
        problems: list[Problem] = []
        first: dict[tuple[str, str], str] = {}
        for placed in decisions:
            key = placed.noun.case, placed.noun.proposal
            earlier = first.setdefault(key, placed.place)
            if key not in names:
                hint = did_you_mean(key[1], [name for case, name in names if case == key[0]])
                problems.append(placed.problem(["proposal"], f"{key[0]} has no open proposal {shown(key[1])}", hint))
            elif earlier != placed.place:
                problems.append(placed.problem(["proposal"], f"is decided twice: {earlier} does it too", "keep one"))
        if problems:
            raise SuiteError(*problems[: limits.PROBLEMS])
        for placed in decisions:
            key = placed.noun.case, placed.noun.proposal
            self.decide(next(each for each in self.open if (each.case.id, each.name) == key), placed.noun)
        return len(decisions)


def _decided(written: JsonObject, decision: ProposalDecision, proposal: Proposal) -> JsonObject | None:
    """Return what becomes of a proposal as it is written; None where it is dropped. Raises UsageError."""
    changes = decision.model_fields_set & {"kind", "text", "value"}
    if bool(changes) != (decision.outcome == "changed"):
        raise proposal.problem(f"found {decision.outcome}, expected changed with kind, text or value, or none of these")
    if decision.outcome == "dropped":
        return None
    part: JsonObject = {name: value for name, value in deepcopy(written).items() if name != "draft"}
    is_answer = isinstance(proposal.part, ScriptedAnswer)
    if is_answer and changes - {"text"}:
        raise proposal.problem("an answer of the user has a text, and no kind or value")
    if decision.text is not None:
        part["say" if is_answer else "text"] = decision.text
    if decision.kind is not None:
        part["kind"] = decision.kind
        for name in ("source", "evidence", "weight", "levels") if decision.kind == "asked" else ():
            part.pop(name, None)
    if "value" in changes:
        check: Any = part.get("check")
        wheres = [check.get(name) for name in ("where", "none_where")] if isinstance(check, dict) else []
        fields = [(where, path) for where in wheres if where for path in where]
        if len(fields) != 1:
            raise proposal.problem("its check is not about one field: change it by hand")
        where, path = fields[0]
        where[path] = _valued(where[path], decision.value)
    return part


def _valued(match: Json, value: Json) -> Json:
    """Return a match with another value; a whole match takes its place."""
    if isinstance(match, dict) and not isinstance(value, dict):
        bound = "max" if match.get("max") is not None else "min"
        name = bound if match.get("op") == "between" else _VALUES.get(str(match.get("op")), "")
        return {**match, name: value} if name else value
    return value


# -- files of cases


def _cases_of(raw: bytes, path: Path) -> list[JsonObject]:
    """Return the cases of a YAML file as they are written: common requirements are not in them. Raises SuiteError."""
    documents = (document.data for document in parse_yaml(raw, shown_path(path)))
    listed = (data if isinstance(data, list) else [data] for data in documents)
    return [case for cases in listed for case in cases if case is not None]


def _written_at(entry: CaseEntry) -> JsonObject:
    """Return a case as it is written."""
    if not entry.length:
        return _cases_of(read_bytes(entry.path, limits.YAML_BYTES), entry.path)[entry.offset]
    line = next(line.data for line in read_lines(entry.path, limits.CASE_BYTES) if line.number == entry.line)
    data: JsonObject = json.loads(line)
    return data


def _refuse_compressed(path: Path) -> None:
    if path.suffix == ".gz":
        raise UsageError(f"{shown_path(path)}: a compressed file is not edited: unpack it first")


def _file_with(proposal: Proposal, data: JsonObject) -> bytes:
    """Return the case's file with other data for the case; all else in it stays as it was written. Raises UsageError."""
    entry = proposal.entry
    _refuse_compressed(entry.path)
    raw = entry.path.read_bytes()
    if entry.length:
        line = json.dumps(data, ensure_ascii=False).encode()
        end = entry.offset + len(raw[entry.offset : entry.offset + entry.length].rstrip(b"\r\n"))
        return raw[: entry.offset] + line + raw[end:]
    text = raw.decode("utf-8-sig")
    node = list(_nodes(text))[entry.offset]
    start = node.start_mark.index
    inside = (token for token in yaml.scan(text) if start <= token.start_mark.index < token.end_mark.index)
    tokens = [token for token in inside if token.end_mark.index <= node.end_mark.index]
    end = start + len(text[start : tokens[-1].end_mark.index].rstrip())
    for before, after in pairwise(tokens):
        if "#" in text[before.end_mark.index : after.start_mark.index]:
            line_number = before.end_mark.line + 1
            raise proposal.problem(
                f"the case has a comment by hand (line {line_number}), which would be lost: edit the case by hand, or move the comment out of it"
            )
    # Inside brackets a block would be no YAML; JSON is.
    block = (
        json.dumps(data, ensure_ascii=False)
        if node.flow_style
        else to_yaml(data).decode().rstrip("\n").replace("\n", "\n" + " " * node.start_mark.column)
    )
    new = (text[:start] + block + text[end:]).encode()
    cases = _cases_of(raw, entry.path)
    cases[entry.offset] = data
    try:
        kept = _cases_of(new, entry.path) == cases
    except SuiteError:
        kept = False
    if not kept:
        raise proposal.problem("the case cannot be written again without changing others in its file: edit it by hand")
    return new


def _nodes(text: str) -> Iterator[Any]:
    """Yield the node of each case in a file: its documents, or the elements of those that are lists."""
    for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
        if isinstance(node, yaml.SequenceNode):
            yield from node.value
        elif node is not None and node.tag != "tag:yaml.org,2002:null":
            yield node
