"""Blocks of a body in Python: what each end of one means, whatever its author does with what cannot be known."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asked_models import REPLY, ScriptedDoor, entry
from hypothesis import given
from hypothesis import strategies as st
from judging import TOOLS, call, case_of, dialogue, found_places

from pytest_mapsat.judges import Blocks, ChecksJudge, Episode, Finding, JudgedDialogue, make_judge
from pytest_mapsat.judges.python_check import reason_of
from pytest_mapsat.model import InfrastructureError, NotRecordedError, Requirement, Trajectory, UsageError
from pytest_mapsat.sandbox import NoSuchRowError

KINDS = ("asked", "hard", "soft", "fact", "policy")


def blocks_of(*names: str, rest: str = "", **how: Any) -> Blocks:
    """Return blocks for some hard requirements, each of which has its id as its text."""
    return Blocks(
        [Requirement(id=name, kind="hard", text=name) for name in (*names, *filter(None, (rest,)))], rest, **how
    )


def played(blocks: Blocks, body: Callable[[Blocks], object]) -> tuple[dict[str, bool | None], BaseException | None]:
    """Play a body; return what each requirement came to, and what is the test's own error."""
    raised: BaseException | None = None
    try:
        body(blocks)
    except BaseException as error:  # noqa: BLE001
        raised = error
    own = blocks.finish(raised)
    return {name: finding.passed for name, finding in blocks.decided.findings.items()}, own


def episode_of(trajectory: Trajectory, blocks: Blocks | None = None, tools: Any = TOOLS, **about: Any) -> Episode:
    return replace(JudgedDialogue(trajectory, tools, **about).episode, _blocks=blocks)


class _GaveUp(BaseException):
    pass


#: What may happen in a block, and what it makes of it; None: the function ends there.
ENDS: dict[str, tuple[BaseException | None, bool | None, bool]] = {
    "holds": (None, True, True),
    "fails": (AssertionError("no"), False, True),
    "unknown": (NotRecordedError("not told"), None, True),
    "broken end": (InfrastructureError("no table"), None, True),
    "gone row": (NoSuchRowError("rows", "was"), False, True),
    "no such row": (NoSuchRowError("rows", "never"), None, False),
    "breaks": (KeyError("x"), None, False),
    "gives up": (_GaveUp(), None, False),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(ENDS)), st.booleans()), min_size=1, max_size=6))
def test_a_block_passes_only_where_it_was_reached_held_and_nothing_in_it_is_unknown(
    ends: list[tuple[str, bool]],
) -> None:
    names = [f"b{number}" for number in range(len(ends))]
    blocks = blocks_of(
        *names, rest="test", skips=lambda error: isinstance(error, _GaveUp), ever_there=lambda _, row: row == "was"
    )

    def body(blocks: Blocks) -> None:
        for name, (end, asks) in zip(names, ends, strict=True):
            with blocks.block("hard", name, ""):
                if asks:
                    blocks.note("it was asked")
                if (error := ENDS[end][0]) is not None:
                    raise error

    found, own = played(blocks, body)
    reached = True
    for name, (end, asks) in zip(names, ends, strict=True):
        _, passed, goes_on = ENDS[end]
        assert found[name] is (None if asks or not reached else passed)
        reached = reached and goes_on
    assert found["test"] is (True if reached else None)
    assert (own is None) == reached
    assert len(blocks.failures) == sum(value is False for value in found.values())


def test_a_failure_outside_ends_the_function_and_is_the_test_s_own_where_nothing_outside_could_fail() -> None:
    def body(blocks: Blocks) -> None:
        with blocks.block("hard", "a", ""):
            pass
        raise AssertionError("outside")

    assert played(blocks_of("a", "b", rest="test"), body) == ({"a": True, "b": None, "test": False}, None)
    found, own = played(blocks_of("a", "b"), body)
    assert found == {"a": True, "b": None}
    assert isinstance(own, AssertionError)


def test_what_is_unknown_outside_leaves_the_rest_undecided_and_is_no_error() -> None:
    def body(blocks: Blocks) -> None:
        raise NotRecordedError("the calls are not told")

    assert played(blocks_of("a"), body) == ({"a": None}, None)
    assert played(blocks_of("a", rest="test"), body) == ({"a": None, "test": None}, None)


def test_a_debugger_has_the_first_failure_passed_on() -> None:
    blocks = blocks_of("a", "b", rest="test", stops=lambda kind: kind == "hard")

    def body(blocks: Blocks) -> None:
        with blocks.block("hard", "a", ""):
            raise AssertionError("first")
        raise AssertionError("not reached")

    assert played(blocks, body) == ({"a": False, "b": None, "test": None}, None)


def test_a_block_that_is_none_of_the_case_s_or_begins_in_another_is_refused() -> None:
    blocks = blocks_of("one", "two")
    with pytest.raises(UsageError, match=r"no hard requirement 'on' \(did you mean 'one'\?\)"):
        blocks.block("hard", "on", "")
    with pytest.raises(UsageError, match="no soft requirement 'one'"):
        blocks.block("soft", "one", "")
    found, own = played(blocks, _nested)
    assert (found, own) == ({"one": None, "two": None}, None)


def _nested(blocks: Blocks) -> None:
    with blocks.block("hard", "one", ""), blocks.block("hard", "two", ""):
        raise AssertionError


def test_called_and_agreed_are_sure_or_noted_whatever_is_made_of_the_error() -> None:
    made = dialogue("Fine.", steps=[call(query="cafe"), call("route", to="x")])
    asked = episode_of(made)
    assert asked.called("search_poi", query="cafe") == 1
    assert not asked.called("search_poi", query="bar")
    assert (
        repr(asked.called("search_poi", query="bar"))
        == "<search_poi was called once, but not with query equal to 'bar'>"
    )
    assert not asked.agreed("search_poi")
    assert not episode_of(dialogue("Fine.")).called("route")
    with pytest.raises(UsageError, match=r"no tool 'rout' \(did you mean 'route'\?\)"):
        asked.called("rout")
    with pytest.raises(UsageError, match=r"route has no parameter 'too' \(did you mean 'to'\?\)"):
        asked.called("route", too=1)
    untold = dialogue("Fine.", steps=[call("route").model_copy(update={"unknown": ("arguments",)})])
    for episode, ask in (
        (episode_of(untold, blocks := blocks_of("a")), lambda episode: episode.called("route", to="x")),
        (episode_of(made, other := blocks_of("a"), {}), lambda episode: episode.called("book")),
        (episode_of(made, third := blocks_of("a")), lambda episode: episode.judged("polite")),
    ):
        with episode.hard("a"), suppress(NotRecordedError):
            ask(episode)
    for each in (blocks, other, third):
        assert each.finish(None) is None
        assert each.decided.findings["a"].passed is None
    assert "the tools of this agent are not known" in other.noted
    assert third.noted == "'polite' needs --mapsat-judge=llm:MODEL"


def test_a_list_is_one_value_and_a_value_that_is_no_json_is_its_text() -> None:
    from datetime import date

    episode = episode_of(dialogue("Fine.", steps=[call("route", to=["a", "b"]), call("route", to="2026-03-01")]))
    assert episode.called("route", to=["a", "b"])
    assert not episode.called("route", to="a")
    assert episode.called("route", to=date(2026, 3, 1))


def test_a_judging_model_is_asked_about_sentences_and_what_it_spends_is_counted() -> None:
    asked: list[str] = []

    def ask(text: str, blocks: Blocks | None) -> Finding:
        asked.append(text)
        return Finding(text == "polite", "it says so")

    episode = episode_of(dialogue("Fine."), blocks_of("a"), ask=ask)
    assert episode.judged("polite") == 1
    assert not episode.judged("rude")
    assert asked == ["polite", "rude"]


def test_a_body_decides_before_any_judge_and_blocks_belong_to_bodies() -> None:
    case = case_of(implicit=[{"id": "z", "kind": "hard", "text": "z"}, {"id": "y", "kind": "soft", "text": "y"}])
    blocks = Blocks(case.truth.requirements, "")
    with blocks.block("soft", "y", ""):
        pass
    blocks.finish(None)
    verdict = ChecksJudge({}).judge(case, dialogue("Fine."), blocks.decided)
    assert {label.requirement: (label.outcome, label.value, label.reading) for label in verdict.labels} == {
        "z": ("unevaluated", None, ""),
        "y": ("passed", 1.0, ""),
    }
    late = dialogue("Fine.", after_end=(call("route"),))
    open_label = ChecksJudge({}).judge(case, late, blocks.decided).labels[1]
    assert (open_label.outcome, open_label.blame) == ("unevaluated", None)
    for kind in KINDS:
        with pytest.raises(UsageError, match="blocks belong to the function of a case in Python"):
            getattr(episode_of(dialogue("Fine.")), kind)("x")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("assert 1 == 2\n +  where 1 = f()", "assert 1 == 2"),
        ("too dear\nassert 1 == 2", "too dear\nassert 1 == 2"),
        ("too dear", "too dear"),
        ("assert <it was not asked>\n +  where <it was not asked> = agreed()", "it was not asked"),
        ("assert {'a': 1} == {}", "assert {'a': 1} == {}"),
        ("assert {'b', 'a'} == {'c'}\n  Extra items", "raise AssertionError(words)"),
        ("assert <object at 0x7f3a> is None", "raise AssertionError(words)"),
        ("", "raise AssertionError(words)"),
    ],
)  # fmt: skip
def test_a_reason_is_the_same_in_every_process(words: str, told: str) -> None:
    with pytest.raises(AssertionError) as raised:
        raise AssertionError(words)
    assert reason_of(raised.value) == told


def test_a_model_decides_what_is_judged_and_what_a_question_leaves_open_and_never_a_block() -> None:
    def answers(text: str, *_: object) -> dict[str, Any]:
        return entry("passed" if "polite" in text or "agreed" in text else "failed")

    door = ScriptedDoor(answers)
    judge = make_judge("llm:some/model", TOOLS, root=Path(), client=door, votes=3)
    case = case_of(implicit=[{"id": "a", "kind": "hard", "text": "a"}, {"id": "b", "kind": "hard", "text": "b"}])
    trajectory = dialogue(REPLY, steps=[found_places()])
    blocks = Blocks(case.truth.requirements, "")
    episode = replace(judge.context(case, trajectory).episode, _blocks=blocks)
    with episode.hard("a"):
        assert episode.judged("polite")
        assert not episode.judged("rude")
    with episode.hard("b"):
        raise NotRecordedError("not told")
    blocks.finish(None)
    verdict = judge.judge(case, trajectory, blocks.decided)
    assert [(label.requirement, label.outcome, label.by) for label in verdict.labels] == [
        ("a", "passed", "checks"),
        ("b", "unevaluated", "checks"),
    ]
    assert len(door.requests) == 6  # three votes on each of two sentences, none on a block
    assert verdict.usage is not None
    assert verdict.usage.input_tokens == 600
