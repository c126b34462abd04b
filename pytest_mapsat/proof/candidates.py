"""What else an agent may choose in a task for a user with preferences (VitaBench 2.0, A.2.2): the oracle is played with every other row that its calls return.

A task tells agents apart where some row does what is asked and breaks a preference, and where only one row is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.model import Case, Json, Trajectory, shown
from pytest_mapsat.sandbox import returned_rows
from pytest_mapsat.suite import Remark, Suite

from .plain import play_oracle

#: The most other rows of a case that are tried, and the most right ones that a remark names.
_MOST, _NAMED = 25, 3
#: Marks in a result of the row that is right: parts of keys, and values of keys such as ``type``.
_TELLING_KEYS = ("distract", "target_reason")
_TELLING_VALUES = frozenset({"target", "distractor", "distraction", "query_distractor", "preference_distractor"})


def candidate_remarks(case: Case, suite: Suite, oracle: Trajectory) -> Iterator[Remark]:
    """Give the labels of the source that a tool shows; for a case with preferences also that no row is a distractor, or that several are right.

    Args:
        case: the case.
        suite: its suite.
        oracle: its oracle, played; all calls answered.
    """
    for step in oracle.calls:
        if (label := _label_in(step.result)) is not None:
            message = f"{step.tool} returns {label}, which says what is right"
            yield Remark(
                "error", "label-visible", ("truth", "oracle"), message, "leave it out of tables and recordings"
            )
            break
    hidden = [requirement.id for requirement in case.truth.implicit if requirement.leaves]
    if not case.truth.preferences or not hidden:
        return
    outcomes = list(_tried(case, suite, oracle, hidden))
    right = [name for name, outcome in outcomes if outcome == "right"]
    place = ("truth", "oracle")
    if outcomes and all(outcome != "distractor" for _, outcome in outcomes):
        message = f"of {len(outcomes)} other rows that the oracle's calls return, none does what is asked and breaks a preference"
        yield Remark(
            "warning", "no-distractor", place, message, "an agent that knows nothing of the user is right, too"
        )
    if right:
        named = ", ".join(map(shown, right[:_NAMED])) + (f" and {len(right) - _NAMED} more" if right[_NAMED:] else "")
        message = f"{named} would be as right as what the oracle chooses"
        yield Remark("warning", "several-targets", place, message, "one right row shows that an agent knows the user")


def _tried(
    case: Case, suite: Suite, oracle: Trajectory, hidden: Sequence[str]
) -> Iterator[tuple[str, Literal["distractor", "right", "other"]]]:
    """Yield each other row that can be chosen: a distractor does what is asked and breaks a preference, a right one keeps all of them."""
    judge = ChecksJudge(suite.tools, suite.vocabulary, suite=suite)
    before = {label.requirement: label.value for label in judge.judge(case, oracle).labels}
    for name, changed in _choices(case, suite, oracle):
        played = play_oracle(changed, suite)
        if played.fault is not None or any(step.status != "ok" for step in played.calls):
            continue  # the sandbox has no answer for this choice
        after = {label.requirement: label.value for label in judge.judge(case, played).labels}
        values = [(before.get(requirement), after.get(requirement)) for requirement in hidden]
        if any(after.get(requirement.id) != 1 for requirement in case.truth.asked):
            yield name, "other"
        elif any(now is not None and was is not None and now < was for was, now in values):
            yield name, "distractor"
        else:
            yield name, "other" if any(now is None for _, now in values) else "right"


class _Row(NamedTuple):
    """A row that a tool returned, by what an agent calls it: its name, its id, or both."""

    tool: str
    name: str
    id: str

    def __str__(self) -> str:
        return f"{self.name} ({self.id})" if self.name and self.id else self.name or self.id


def _choices(case: Case, suite: Suite, oracle: Trajectory) -> Iterator[tuple[str, Case]]:
    """Yield the names of other rows, each with the case whose oracle chooses that one."""
    rows = dict.fromkeys(_rows(suite, oracle))
    words = "\n".join(turn.say for turn in case.truth.oracle)
    given = {value for turn in case.truth.oracle for call in turn.calls for value in _texts(call.arguments)}
    by_id = [row for row in rows if row.id in given and row.id]
    chosen = by_id or [row for row in rows if row.name in words and row.name]
    for row in chosen[:1]:
        others = [other for other in rows if other.tool == row.tool and other not in chosen]
        for other in others[:_MOST]:
            swap = {old: new for old, new in ((row.name, other.name), (row.id, other.id)) if old and new}
            turns = tuple(
                turn.model_copy(
                    update={
                        "say": _renamed(turn.say, swap),
                        "calls": tuple(
                            call.model_copy(update={"arguments": _swapped(call.arguments, swap)}) for call in turn.calls
                        ),
                    }
                )
                for turn in case.truth.oracle
            )
            output = _swapped(case.truth.output, swap)
            truth = case.truth.model_copy(update={"oracle": turns, "output": output})
            yield str(other), case.model_copy(update={"truth": truth})


def _rows(suite: Suite, oracle: Trajectory) -> Iterator[_Row]:
    for step in oracle.calls:
        tool = suite.tools.get(step.tool)
        if tool is None:
            continue
        ids = [entities.id for entities in tool.entities if entities.id]
        ids += [key for entities in tool.entities for key, meaning in entities.fields.items() if meaning.kind == "id"]
        for row in returned_rows(tool, step.result):
            names, own = (
                [value for key in keys if isinstance(value := row.record.get(key), str) and value]
                for keys in ([entities.name for entities in tool.entities], ids)
            )
            yield _Row(step.tool, next(iter(names), ""), next(iter(own), ""))


def _renamed(text: str, swap: Mapping[str, str]) -> str:
    for old, new in swap.items():
        text = text.replace(old, new)
    return text


def _swapped(value: Json, swap: Mapping[str, str]) -> Json:
    """Return data with each text that is an old name replaced by the new one."""
    if isinstance(value, dict):
        return {key: _swapped(part, swap) for key, part in value.items()}
    if isinstance(value, list):
        return [_swapped(part, swap) for part in value]
    return swap.get(value, value) if isinstance(value, str) else value


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _label_in(value: Json) -> str | None:
    """Return the first field of a result that marks a row as right or wrong, as ``key: value``; None where there is none."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            for key, held in part.items():
                marks = isinstance(held, str) and held.casefold() in _TELLING_VALUES and key.endswith(("type", "label"))
                if marks or any(telling in key for telling in _TELLING_KEYS):
                    return f"{key}: {shown(held)}"
            stack += part.values()
        elif isinstance(part, list):
            stack += part
    return None
