"""The one door for calls that no sandbox of ours answered, and that something else reports: they become steps of the reply that is under way.

Who reports is asked after each reply, and once more when the dialogue is over: a service for what stands in its answers, for its spans, for what
went through a proxy (``Conversation.reported``), an environment for what it has seen (``run_episode(reported=...)``). What is reported was called. Whether it is all
that was called is unknown unless the service file says so, and the trajectory says that (``calls_reported``). Hence a call that may have been told before is left out: one call
fewer leaves a check undecided, one too many would decide it wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_mapsat.agents import as_json
from pytest_mapsat.formats import Unknown, data_of
from pytest_mapsat.model import (
    CallPart,
    InfrastructureError,
    Json,
    Provenance,
    ReportedCall,
    Step,
    StepStatus,
    Tool,
    json_size,
    same,
    shown,
    tool_name,
)

#: Asked after each reply: the calls since it was last asked, or all of the dialogue so far.
Reporter = Callable[[], Sequence[ReportedCall]]

#: So many calls are looked at in one report and taken of one reply; so many characters of a name, of arguments and of a result.
_MOST_TOLD, _MOST_CALLS, _LONGEST_NAME, _MOST_TEXT = 2_000, 1_000, 200, 1_000_000
#: What tools and services put into a result in place of an answer.
_ERROR_KEYS, _ERROR_STATES = ("error", "errors", "isError", "is_error"), ("error", "failed", "failure")


class Reports:
    """What one source has reported of the calls of an episode.

    Args:
        ask: returns its reports since it was last asked, in their order.
        source: who that is, as notes of calls say it: ``reported by the service``.
        tools: those of the case, by name; calls of others are taken as well.
        anew: whether no report has the calls of an earlier one.

    Attributes:
        cut: whether there were more calls than are taken.
    """

    def __init__(
        self, ask: Callable[[], Iterable[object]], source: str, tools: Mapping[str, Tool], *, anew: bool = False
    ) -> None:
        self._ask = ask
        self._provenance = Provenance(kind="reported", note=source)
        self._tools = tools
        self._anew = anew
        self.cut = False
        self._before: list[tuple[str, Step]] = []

    def new(self, known: Sequence[Step]) -> list[Step]:
        """Return the calls that were not reported before.

        Args:
            known: the calls of this reply that are known already. Each may be reported once more, as may each call of an earlier report.

        Raises:
            InfrastructureError: what is reported is no list of calls.
        """
        new: list[Step] = []
        left = [("", step) for step in known if step.kind == "call"]
        for told in self._ask():
            if not isinstance(told, Sequence) or isinstance(told, (str, bytes)):
                raise InfrastructureError(f"expected a list of reported calls, found {shown(as_json(told))}")
            before = [] if self._anew else [*self._before]
            for call in map(self._step, told[:_MOST_TOLD]):
                told_before, known_already = _taken(call, before), _taken(call, left)
                self._before += [] if told_before else [call]
                new += [] if told_before or known_already else [call[1]]
            self.cut |= len(told) > _MOST_TOLD or len(new) > _MOST_CALLS
        return new[:_MOST_CALLS]

    def _step(self, call: object) -> tuple[str, Step]:
        """Return a call as a step, behind the id that it was reported with."""
        tool = call.get("tool") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(tool, str) or not tool.strip():
            raise InfrastructureError(
                f"expected a reported call with the name of its tool, found {shown(as_json(call))}"
            )
        unknown: list[CallPart] = ["changed"]
        arguments, result = (_value(call.get(part)) if part in call else _UNKNOWN for part in ("arguments", "result"))
        if not isinstance(arguments, dict):
            arguments = {}
            unknown.append("arguments")
        if isinstance(result, Unknown):
            result = None
            unknown.append("result")
        step = Step(
            kind="call",
            tool=tool_name(self._tools, str(as_json(tool))[:_LONGEST_NAME]),
            arguments=arguments,
            result=result,
            status=_status(call.get("status"), result, told="result" not in unknown),
            provenance=self._provenance,
            unknown=tuple(unknown),
        )
        named = call.get("id")
        return (str(named) if isinstance(named, (str, int)) else ""), step


_UNKNOWN = Unknown()


class _NoJsonError(Exception):
    """A value is none that JSON has, so that a copy of it would be another."""


def _no_json(_: object) -> Json:
    raise _NoJsonError


def _value(value: object) -> Json | Unknown:
    """Return a copy of what is reported, JSON text read; what is cut off, hidden, too large or none of JSON is unknown."""
    try:
        data = data_of(as_json(value, _no_json)) if value is not None else None
    except _NoJsonError:
        return _UNKNOWN
    return _UNKNOWN if isinstance(data, Unknown) or json_size(data) > _MOST_TEXT else data


def _status(status: object, result: Json, *, told: bool) -> StepStatus:
    """Return what became of a call: what is reported, else what its result shows; one that may be an error is unknown."""
    if status in ("ok", "error"):
        return "ok" if status == "ok" else "error"
    says_error = isinstance(result, dict) and (
        any(map(result.get, _ERROR_KEYS)) or str(result.get("status")).lower() in _ERROR_STATES
    )
    return "unknown" if status is not None or says_error or not told else "ok"


def _taken(call: tuple[str, Step], others: list[tuple[str, Step]]) -> bool:
    """Return whether one of some calls may be this one, and take it from them."""
    twin = next((other for other in others if _may_be_one(other, call)), None)
    if twin is not None:
        others.remove(twin)
    return twin is not None


def _may_be_one(one: tuple[str, Step], other: tuple[str, Step]) -> bool:
    """Return whether two reports may be of one call: nothing in them differs, and neither do their ids."""
    (its_id, here), (other_id, there) = one, other
    if here.tool != there.tool or (its_id and other_id and its_id != other_id):
        return False
    parts: tuple[CallPart, ...] = ("arguments", "result")
    return all(
        part in (*here.unknown, *there.unknown) or same(getattr(here, part), getattr(there, part)) for part in parts
    )
