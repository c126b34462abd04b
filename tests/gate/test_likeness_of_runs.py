"""What makes two runs comparable: what they differ in, what was lost, and the ways on that a refusal names."""

import pytest
from gate_runs import SUITE, card, compared, label, side

from pytest_mapsat.gate import Side, builds_named, compare, likeness, reduced_card, without_turns
from pytest_mapsat.model import CardRequirement, RunRequest, SuiteInfo, Trajectory, Turn

ONE = [card("a"), card("b")]
REQUEST = {"agent": "x:y", "user": "scripted", "judge": "checks"}
FAILED = {"outcome": "failed", "blame": "agent"}


def refusal(baseline, new, **options):
    return compare(baseline, new, **options).reasons


@pytest.mark.parametrize(
    ("fields", "what", "way"),
    [
        ({"user": "none"}, "user: baseline scripted, new none", "mapsat regrade judges the baseline again"),
        ({"options": {"max_turns": 3}}, "max-turns: baseline ", "mapsat regrade judges the baseline again"),
        ({"prompts": {"judge": "x"}}, "prompt judge: baseline none, new x", "mapsat regrade judges the baseline again"),
        ({"prompts": {"own/remember": "x"}}, "prompt own/remember: baseline none, new x", "mapsat compare --memories"),
        ({"options": {"agent_memory": "full"}}, "agent-memory: baseline none, new full", "mapsat compare --memories"),
        ({"options": {"agent_memory": "full"}, "user": "none"}, "user: baseline", "mapsat regrade judges"),
        ({"unfinished": "it was stopped"}, "end: baseline a whole run, new it was stopped", "--mapsat-resume finishes a run"),
        ({"unfinished": "it was stopped", "user": "none"}, "end: baseline a whole run", "--mapsat-resume finishes a run"),
        ({"versions": {"pytest-mapsat": "2"}}, "version of pytest-mapsat: baseline 1, new 2", "run the baseline again"),
        (
            {"suites": (SuiteInfo(name="s", version="2", fingerprint="f"),)},
            "suite s: baseline version 1, fingerprint f, new version 2, fingerprint f",
            "run the baseline again",
        ),
        (
            {"suites": (SUITE, SuiteInfo(name="s", version="2", fingerprint="g"))},
            "suite s: baseline version 1, fingerprint f, new version 1, fingerprint f and version 2, fingerprint g",
            "run the baseline again",
        ),
        (
            {"suites": (SUITE.model_copy(update={"calibration": "c"}),)},
            "calibration table of s: baseline none, new c",
            "mapsat regrade judges",
        ),
    ],
)  # fmt: skip
def test_what_differs_is_told_with_the_way_on(fields, what, way):
    for swapped in (False, True):
        sides = [side(ONE), side(ONE, **fields)]
        reasons = refusal(*(reversed(sides) if swapped else sides))
        assert reasons[-1].startswith(way)
        told = what.partition(":")[0] if swapped else what
        assert reasons[0].startswith(f"the runs cannot be compared: {told}")
        assert compare(*sides, common=True).comparable is way.startswith("run the baseline")


@pytest.mark.parametrize(
    "fields", [{"prompts": {"own/judge_state": "x"}}, {"prompts": {"own/judge_observation": "x"}}, {"agent": "other"}]
)
def test_what_changes_no_episode_refuses_nothing(fields):
    assert compare(side(ONE), side(ONE, **fields)).comparable


def test_lost_cases_are_told_and_the_rest_is_compared_when_asked():
    broken = card("b", None, outcome="error", blame="infrastructure")
    for sides, told in (
        ((side(ONE), side([card("a"), broken])), "lost cases: baseline 0, new 1 (b)"),
        ((side([card("a"), broken]), side(ONE)), "lost cases: baseline 1 (b), new 0"),
    ):
        reasons = refusal(*sides)
        assert reasons[0] == f"the runs cannot be compared: {told}"
        assert reasons[-1].startswith("--mapsat-resume plays what was lost; ")
        found = compare(*sides, common=True)
        assert (found.comparable, found.pairs) == (True, 1)


def lost_with(**fields):
    return side([card("a", None, **fields)]).lost_cases == {"a"}


def test_a_case_is_lost_where_its_verdict_is_missing_for_a_reason_that_is_not_the_agents():
    assert lost_with(outcome="error", blame="infrastructure")
    assert not lost_with(outcome="error", blame="agent")
    assert lost_with(outcome="unevaluated")
    assert not lost_with(outcome="failed", blame="agent", unknown=("z",))
    open_label = label("z", "unevaluated").model_copy(update={"blame": "undecided"})
    judges = label("y", "unevaluated").model_copy(update={"blame": "judge"})
    sandbox = label("x", "unevaluated").model_copy(update={"blame": "sandbox"})
    unknown = {"outcome": "unevaluated"}
    assert not lost_with(**unknown, unknown=("z",), labels=(open_label,))
    assert not lost_with(**unknown, unknown=("x",), labels=(sandbox,))
    assert lost_with(**unknown, unknown=("z", "y"), labels=(open_label, judges))
    assert lost_with(**unknown, unknown=("y", "z"), labels=(open_label, judges))
    assert lost_with(**unknown, unknown=("w",))


def test_cases_that_only_one_run_has_are_named_and_may_be_missing_where_a_part_was_asked_for():
    few, many = [card("a"), card("b")], [card("a"), card("b"), card("c")]
    assert "cases: baseline 3, of them only here c, new 2" in refusal(side(many), side(few))[0]
    assert "cases: baseline 2, new 3, of them only here c" in refusal(side(few), side(many))[0]
    assert compare(side(many), side(few, partial=True)).comparable
    assert not compare(side(few), side(many, partial=True)).comparable


def test_a_case_that_was_rewritten_is_told_and_one_without_a_stamp_is_not():
    def stamped(*stamps):
        return side([card(f"c{n}", stamp=stamp) for n, stamp in enumerate(stamps)])

    found = likeness(stamped("s", "s", "", "s"), stamped("s", "t", "t", ""))
    assert found.changed == {"c1"}
    assert [(one.what, one.baseline, one.new) for one in found.all] == [
        ("changed cases", "c1", "not the same as before")
    ]


def test_other_parameters_of_the_fixture_are_told():
    found = likeness(side([card("a", agent="x"), card("a", agent="")]), side([card("a", agent="y")]))
    assert [(one.what, one.baseline, one.new) for one in found.part] == [("parameters of mapsat_agent", "none, x", "y")]


def test_a_build_is_named_where_it_is_told_or_answered():
    answered = card("a").model_copy(update={"trajectory": Trajectory(case="a", turns=(), builds=("b2", ""))})
    told = RunRequest.model_validate({**REQUEST, "agent_build": "b1"})
    assert builds_named(told, [answered]) == ("", "b1", "b2")
    assert builds_named(RunRequest.model_validate(REQUEST), [card("a")]) == ()
    assert side([card("a")], agent_build="b1").build == "b1"
    assert side([answered], agent_build="b1").build == ""


def requirement(name, kind):
    return CardRequirement(id=name, kind=kind, text=name)


@pytest.mark.parametrize(
    ("outcomes", "asserted", "outcome", "blame", "unknown"),
    [
        (("failed", "passed"), ["hard"], "failed", "agent", ()),
        (("passed", "failed"), ["hard"], "passed", None, ()),
        (("unevaluated", "failed"), ["hard"], "unevaluated", None, ("z1",)),
        (("error", "passed"), ["hard"], "unevaluated", None, ("z1",)),
        (("failed", "unevaluated"), ["hard", "soft"], "failed", "agent", ("z2",)),
        (("passed", "passed"), ["hard", "soft"], "passed", None, ()),
    ],
)
def test_the_baseline_is_held_to_the_kinds_that_fail_an_item_now(outcomes, asserted, outcome, blame, unknown):
    names = (("z1", "hard"), ("z2", "soft"))
    judged = card(
        "a",
        labels=tuple(label(name, end) for (name, _), end in zip(names, outcomes, strict=True)),
        requirements=tuple(requirement(*name) for name in names),
        outcome="failed",
        blame="agent",
    )
    (held,) = side([judged]).asserting(frozenset(asserted)).cards
    assert (held.outcome, held.blame, held.unknown) == (outcome, blame, unknown)
    broke = judged.model_copy(update={"outcome": "error"})
    assert side([broke]).asserting(frozenset(asserted)).cards[0].outcome == "error"
    assert side([judged]).asserting(frozenset({"success", *asserted})).cards[0].outcome == "failed"


def test_of_a_card_that_was_read_only_what_is_compared_is_kept():
    turns = (Turn(role="user", text="Go."), Turn(role="agent", text="Done."))
    read = card(
        "a", 0.5, labels=(label("z", "passed", "quoted"),), warnings=("note",), requirements=(requirement("z", "hard"),)
    )
    read = read.model_copy(update={"trajectory": Trajectory(case="a", turns=turns)})
    kept = reduced_card(read)
    assert (kept.id, kept.metrics, kept.warnings, kept.trajectory.turns) == ("a", {"ar": 0.5}, (), ())
    assert kept.dialogue == without_turns(read).dialogue != ""
    assert [(one.requirement, one.outcome, one.quotes) for one in kept.labels] == [("z", "passed", ())]
    again = reduced_card(read.model_copy(update={"metrics": {"ar": 0.5}}))
    assert again.metrics == kept.metrics
    failed = card("a", 0.0, labels=(label("z", "failed", "no"),), **FAILED)
    (case,) = compared([read], [failed]).cases
    (slimmed,) = compare(Side(side([]).manifest, [kept]), Side(side([]).manifest, [reduced_card(failed)])).cases
    assert slimmed.requirements == case.requirements
    assert without_turns(failed) is failed


def test_a_run_is_described_by_its_episodes_and_not_by_their_order():
    said = [one.model_copy(update={"dialogue": one.id}) for one in (card("a"), card("a", trial=2), card("b"))]
    found = compare(side(said), side(said[::-1]))
    assert (found.baseline.cases, found.baseline.episodes) == (2, 3)
    assert found.baseline.digest == found.new.digest
    assert found.baseline.suites == ("s 1 f",)
    other = [said[0].model_copy(update={"dialogue": "x"}), *said[1:]]
    assert compare(side(said), side(other)).new.digest != found.new.digest
