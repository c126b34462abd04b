"""The profile setting: what the profile tools would return stands in the context, and those tools are no longer expected."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mapsat.model import Case, JsonObject, canonical_json
from pytest_mapsat.sandbox import make_world
from pytest_mapsat.suite import Suite


def in_profile_setting(case: Case, suite: Suite) -> Case:
    """Return the case as it is in the profile setting (MapSatisfyBench, B.4).

    ``context.profile`` holds, by tool, a list of ``arguments`` and ``result`` of each call that the case's records, its oracle dialogue and the user's id know of;
    calls that the world does not answer are left out. The tools leave the expected ones, and with them what was to come after them.

    Raises:
        SuiteError: the case's records cannot be read.
    """
    profiles = {name for name, tool in suite.tools.items() if tool.profile}
    if not profiles:
        return case
    world = make_world(case, suite)
    found: dict[str, dict[str, JsonObject]] = {}
    for name, arguments in _calls(case, suite, profiles):
        answer = world.call(name, arguments)
        if answer.status == "ok":
            kept = found.setdefault(name, {})
            kept.setdefault(canonical_json(answer.result), {"arguments": arguments, "result": answer.result})
    profile = {name: list(found[name].values()) for name in sorted(found)}
    gone = {expected.key for expected in case.truth.tools if expected.name in profiles}
    left = tuple(
        expected.model_copy(update={"after": tuple(one for one in expected.after if one not in gone)})
        for expected in case.truth.tools
        if expected.name not in profiles
    )
    context = case.visible.context.model_copy(update={"profile": {**case.visible.context.profile, **profile}})
    return case.model_copy(
        update={
            "visible": case.visible.model_copy(update={"context": context}),
            "truth": case.truth.model_copy(update={"tools": left}),
        }
    )


def _calls(case: Case, suite: Suite, profiles: set[str]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the calls of profile tools that may have an answer, those of records first, in a fixed order."""
    recorded = [(record.tool, dict(record.arguments)) for record in suite.records(case.id) if record.tool in profiles]
    yield from sorted(recorded, key=canonical_json)
    for turn in case.truth.oracle:
        yield from ((call.tool, dict(call.arguments)) for call in turn.calls if call.tool in profiles)
    for name in sorted(profiles):
        required = suite.tools[name].parameters.get("required", [])
        if case.visible.context.uid and len(required) == 1:
            yield name, {required[0]: case.visible.context.uid}
