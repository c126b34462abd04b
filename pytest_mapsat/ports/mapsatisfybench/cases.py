"""One row of MapSatisfyBench's table becomes a case."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pytest_mapsat.formats import parse_json
from pytest_mapsat.model import Case, Json, JsonObject, Tool, digest, shown
from pytest_mapsat.suite import ImportLog

from .workbook import SourceRow

COLUMNS = ("task_id", "query", "context", "full_intent", "ground_truth")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)")
_CONTEXT = ("uid", "time", "user_current_loc", "user_loc_name", "city", "history")
_TRUTH = ("explicit_intent", "implicit_intent", "clarification_policy", "truth_trajectory")
_IMPLICIT = ("rubric_instruction", "constraint_type", "evidence_confidence", "evidence")
_CALLS = ("expected_tools", "parameter_rules", "factual_answer_rubric")


class _OddError(ValueError):
    """A part of the row is not what it should be; the row cannot become a case."""


def alias(uid: str) -> str:
    """Return a stable name for a user that says nothing of the case: in the source the user's id is the case's."""
    return f"u-{digest(uid, 12)}"


def user_parameter(name: str, tool: Tool | None) -> str:
    """Return the tool's own name of the parameter that the source's recordings call ``adiu``."""
    known = tool.parameters.get("properties", {}) if tool else {}
    return "uid" if name == "adiu" and "adiu" not in known and "uid" in known else name


def convert_case(row: SourceRow, tools: Mapping[str, Tool], log: ImportLog) -> Case | None:
    """Return the case of a row, or None after noting why it cannot be one."""
    reader = _Reader(row, tools, log)
    try:
        data = reader.case()
    except _OddError as error:
        log.note("unparsable", row.place, f"{error}; the case is left out")
        return None
    return log.case(data, row.place)


class _Reader:
    """Reads one row; every key that it does not know is counted as not carried."""

    def __init__(self, row: SourceRow, tools: Mapping[str, Tool], log: ImportLog) -> None:
        self.row = row
        self.tools = tools
        self.log = log

    def case(self) -> JsonObject:
        cells = self.row.cells
        context = self._json("context")
        truth = self._json("ground_truth")
        return {
            "id": cells["task_id"],
            "language": "zh",
            "visible": {"query": cells["query"], "context": self._context(context)},
            "truth": {"intent": cells["full_intent"], **self._truth(truth)},
        }

    def _json(self, column: str) -> JsonObject:
        try:
            value = parse_json(self.row.cells[column])
        except ValueError as error:
            raise _OddError(f"{column} is not JSON: {error}") from error
        return _mapping(value, column)

    def _note(self, kind: str, message: str) -> None:
        self.log.note(kind, self.row.place, message)

    def _leave_unknown(self, data: JsonObject, known: Sequence[str], where: str) -> None:
        for key in sorted(data.keys() - set(known)):
            self._note("not_carried", f"{where}.{key} has no place in a case")
            self.log.leave(f"{where}.{key}")
        for key in sorted(set(known) - data.keys()):
            self._note("missing", f"{where}.{key} is missing")

    def _context(self, data: JsonObject) -> JsonObject:
        self._leave_unknown(data, _CONTEXT, "context")
        uid = str(data.get("uid") or "")
        context: JsonObject = {
            "now": self._moment(data.get("time")),
            "city": str(data.get("city") or ""),
            "history": self._history(data.get("history")),
            "uid": alias(uid) if uid else "",
        }
        location = self._location(data)
        return context if location is None else {**context, "location": location}

    def _moment(self, text: Json) -> str:
        found = _TIME.fullmatch(str(text).strip())
        if found is None:
            raise _OddError(f"context.time: found {shown(text)}, expected YYYY-MM-DD HH:MM:SS")
        return f"{found[1]}T{found[2]}+08:00"

    def _location(self, data: JsonObject) -> JsonObject | None:
        text = data.get("user_current_loc")
        name = str(data.get("user_loc_name") or "")
        try:
            lon, lat = (float(part) for part in str(text).split(","))
        except ValueError:
            self._note("location", f"user_current_loc is {shown(text)}, not lon,lat; the case has no location")
            self.log.leave("locations")
            return None
        return {"lon": lon, "lat": lat, "name": name}

    def _history(self, value: Json) -> list[str]:
        if value is None or value == "":
            return []
        items, repaired = _sentences(value)
        if items is None:
            self._note("history", "the history is no JSON array; it is kept as one sentence")
            return [str(value)]
        if repaired:
            self._note("history", "the history is escaped twice; it was unescaped")
        return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items]

    def _truth(self, data: JsonObject) -> JsonObject:
        self._leave_unknown(data, _TRUTH, "ground_truth")
        trajectory = _mapping(data.get("truth_trajectory") or {}, "truth_trajectory")
        self._leave_unknown(trajectory, ("tool_calls",), "truth_trajectory")
        calls = _mapping(trajectory.get("tool_calls") or {}, "tool_calls")
        self._leave_unknown(calls, _CALLS, "tool_calls")
        truth: JsonObject = {
            "explicit": _factors("e", data.get("explicit_intent"), "explicit_intent"),
            "implicit": self._implicit(_list(data.get("implicit_intent"), "implicit_intent")),
            "facts": _factors("f", calls.get("factual_answer_rubric"), "factual_answer_rubric"),
            "tools": self._tools(calls),
        }
        policy = data.get("clarification_policy")
        return truth if policy is None else {**truth, "clarification": self._clarification(policy)}

    def _implicit(self, items: Sequence[Json]) -> list[JsonObject]:
        factors = []
        for number, item in enumerate(items, 1):
            data = _mapping(item, f"implicit_intent[{number - 1}]")
            self._leave_unknown(data, _IMPLICIT, "implicit_intent")
            evidence = str(data.get("evidence") or "")
            factor = {
                "id": f"z{number}",
                "text": data.get("rubric_instruction"),
                "severity": data.get("constraint_type"),
                "weight": data.get("evidence_confidence"),
                "evidence": [{"text": evidence}] if evidence else [],
            }
            factors.append(factor)
        return factors

    def _clarification(self, policy: Json) -> JsonObject:
        data = _mapping(policy, "clarification_policy")
        self._leave_unknown(data, ("max_allowed", "evidence"), "clarification_policy")
        return {"max_turns": data.get("max_allowed"), "note": str(data.get("evidence") or "")}

    def _tools(self, calls: JsonObject) -> list[JsonObject]:
        rules = _mapping(calls.get("parameter_rules") or {}, "parameter_rules")
        names = [str(name) for name in _list(calls.get("expected_tools"), "expected_tools")]
        unique = list(dict.fromkeys(names))
        if len(unique) < len(names):
            self._note("duplicate_tool", "expected_tools names a tool twice; it is expected once")
        for name in sorted(rules.keys() - set(unique)):
            self._note("rule_without_tool", f"parameter_rules has {name}, which is not expected; left out")
            self.log.leave("parameter rules")
        return [self._tool(name, rules.get(name)) for name in unique]

    def _tool(self, name: str, rule: Json) -> JsonObject:
        if rule is None:
            self._note("missing", f"the expected tool {name} has no parameter_rules")
        data = _mapping(rule or {}, f"parameter_rules.{name}")
        spelled = "paramter" if "paramter" in data else "parameter"  # the source always misspells it
        self._leave_unknown(data, (spelled, "rules") if rule else (), "parameter_rules")
        tool = self.tools.get(name)
        required = [user_parameter(str(one), tool) for one in _list(data.get(spelled), f"{name}.{spelled}")]
        return {"name": name, "required": required, "prose": self._prose(data, name)}

    def _prose(self, data: JsonObject, name: str) -> list[list[str]]:
        prose = []
        for item in _list(data.get("rules"), f"{name}.rules"):
            rule = _mapping(item, f"{name}.rules")
            self._leave_unknown(rule, ("param", "rule_description"), "rules")
            parameter = user_parameter(str(rule.get("param", "")), self.tools.get(name))
            prose.append([parameter, str(rule.get("rule_description", ""))])
        return prose


def _sentences(value: Json) -> tuple[list[Json] | None, bool]:
    """Return the array that the history holds, as JSON in a string, and whether it had to be unescaped once more."""
    if isinstance(value, list):
        return value, False
    for text, repaired in ((str(value), False), (f'"{value}"', True)):
        try:
            found = parse_json(text)
            found = parse_json(found) if isinstance(found, str) else found
        except ValueError:
            continue
        if isinstance(found, list):
            return found, repaired
    return None, False


def _factors(letter: str, value: Json, name: str) -> list[JsonObject]:
    return [{"id": f"{letter}{number}", "text": text} for number, text in enumerate(_list(value, name), 1)]


def _list(value: Json, name: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _OddError(f"{name} is {shown(value)}, not a list")
    return value


def _mapping(value: Json, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise _OddError(f"{name} is {shown(value)}, not an object")
    return value
