"""The judges that ask a model: who is asked what, what of a reply counts, and what a majority makes of it."""

import pytest
from asked_models import FAULT, REPLY, entry, figure, judged, labels, requirements, small_case
from judging import TOOLS, call, case_of, dialogue, found_places

from pytest_mapsat.judges import make_judge
from pytest_mapsat.judges.asked.asking import has_levels
from pytest_mapsat.judges.asked.material import CALL_CHARACTERS, REPLY_CHARACTERS, USER_CHARACTERS
from pytest_mapsat.judges.asked.votes import majority
from pytest_mapsat.llm import ModelError
from pytest_mapsat.metrics import votes_agree
from pytest_mapsat.model import ImplicitFactor, Turn


def test_the_model_is_asked_for_what_the_checks_leave_open_one_request_a_dimension_and_vote():
    verdict, door = judged(lambda text, vote, again: entry("1" if "view" in text else "passed"), votes=3)
    found = labels(verdict)
    assert {name: label.by for name, label in found.items()} == {
        "place": "checks", "nice": "model", "quiet": "model", "view": "model", "phone": "checks",
    }  # fmt: skip
    asked = sorted((request.vote, sorted(requirements(request))) for request in door.requests)
    each = [["The answer is nice"], ["The cafe has a view", "The cafe is quiet"]]
    assert asked == [(vote, texts) for vote in (1, 2, 3) for texts in each]
    assert found["nice"].votes == ("passed",) * 3
    assert found["place"].votes == ()
    assert found["nice"].quotes[0].text == "Cafe Luna (Riverside)"
    assert found["nice"].quotes[0].start == REPLY.index("Cafe Luna")
    assert verdict.usage.input_tokens == 600
    assert verdict.judge == "llm:some/model"
    # A hard factor holds or not, a soft one without a check has levels.
    forms = {text: form for request in door.requests for text, (_, form) in requirements(request).items()}
    assert forms["The cafe has a view"] == "level"
    assert forms["The cafe is quiet"] == "yes-or-no"


def test_llm_all_asks_for_every_label():
    verdict, door = judged(lambda text, vote, again: entry("failed"), spec="llm-all:some/model")
    assert {label.by for label in verdict.labels} == {"model"}
    assert {label.value for label in verdict.labels} == {0.0}
    assert len(door.requests) == 3


def test_the_order_of_the_requirements_differs_by_vote_and_is_the_same_in_every_run():
    case = case_of(explicit=[{"id": f"e{number}", "text": f"Thing {number} is said"} for number in range(8)])

    def orders():
        _, door = judged(lambda text, vote, again: entry(), case=case, votes=3)
        return [list(requirements(one)) for one in sorted(door.requests, key=lambda one: one.vote)]

    first = orders()
    assert len({tuple(order) for order in first}) == 3
    assert first == orders()


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (entry(words="Cafe Nova"), "stands in no part"),
        (entry(words=""), "no quote is from a reply"),
        (entry(words="4.6", part="call-1"), "no quote is from a reply"),
        (entry(words="C"), "stands in no part"),
        (entry(verdict="certainly"), "expected one of passed, failed, cannot_say"),
        (entry(verdict="not_stated"), "expected one of passed, failed, cannot_say"),
        (entry(figures=[figure("25 minutes", "52", "25")]), "do not say 52"),
        (entry(figures=[figure("25 minutes", "25", "17")]), "17 stands nowhere"),
        (entry(figures=[figure("25 minutes", "25", "__import__('os')")]), "no number and no calculation"),
        (entry(figures=[figure("5 euros", "5", "5", "money")]), "another currency"),
        (entry(figures=[figure("35 minutes", "35", "35")]), "stand in no reply"),
        (entry(figures=[figure("25 minutes", "25", "4 + 4")]), "does not stand as it must"),
        (None, "there is no entry"),
    ],
)
def test_what_does_not_check_is_asked_again_once_and_then_undecided(bad, told):
    case = case_of(explicit=[{"id": "nice", "text": "The answer is nice"}])
    verdict, door = judged(lambda text, vote, again: bad, case=case)
    (label,) = verdict.labels
    assert (label.outcome, label.value, label.blame) == ("unevaluated", None, None)
    assert label.undecided
    assert told in label.why
    assert len(door.requests) == 2
    assert told in door.requests[1].messages[-1]["content"]

    verdict, _ = judged(lambda text, vote, again: entry("failed") if again else bad, case=case)
    assert verdict.labels[0].outcome == "failed"


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        (("25 minutes", "25", "24", "min", "equal"), True),
        (("about 25 minutes", "25", "22.5", "min", "equal"), True),
        (("25 minutes", "25", "30", "min", "equal"), False),
        (("25 minutes", "25", "30", "min", "at_most"), True),
        (("25 minutes", "25", "30", "min", "at_least"), False),
        (("1.4 km", "1.4", "1390", "km", "equal"), True),
        (("1.4 km", "1.4", "2.1", "km", "equal"), False),
        (("38 yuan", "38", "39", "money", "equal"), False),
        (("38 yuan", "38", "114 / 3", "money", "equal"), True),
        (("5:30 pm", "17:30", "17:00", "clock", "at_most"), False),
        (("5:30 pm", "17:30", "17:00 + 30", "clock", "equal"), True),
        (("555-0116", "555-0116", "555 0116", "text", "equal"), True),
        (("555-0116", "555-0116", "555-0117", "text", "equal"), False),
    ],
)
def test_figures_are_compared_by_rules_not_by_the_model(said, fits):
    words = said[0]
    known_data = "24 22.5 30 1390 2.1 km 39 114 3 at 17:00, call 555 0116 or 555-0117"
    case = case_of(facts=[{"id": "all", "text": "Every figure is right", "check": {"kind": "none"}}])
    trajectory = dialogue(f"It is {words}.", steps=[call(result={"text": known_data})])
    one = figure(*said)
    for verdict in ("passed", "failed"):
        given = entry(verdict, words=words, figures=[one])
        found, _ = judged(lambda *_, given=given: given, case=case, trajectory=trajectory, spec="llm-all:m")
        holds = (verdict == "passed") == fits
        assert (found.labels[0].outcome == verdict) == holds, found.labels[0].why
        assert (found.labels[0].value is None) != holds


SOFT = ImplicitFactor(id="s", text="t", severity="soft", weight=1)
HARD = ImplicitFactor(id="h", text="t", severity="hard", weight=1)


@pytest.mark.parametrize(
    ("votes", "factor", "said"),
    [
        (["passed", "passed", "failed"], HARD, "passed"),
        (["failed", "failed", "cannot_say"], HARD, "failed"),
        (["passed", "failed"], HARD, "cannot_say"),
        (["passed", "failed", "cannot_say"], HARD, "cannot_say"),
        (["passed", "no_vote", "no_vote"], HARD, "cannot_say"),
        (["not_stated", "not_stated", "passed"], HARD, "not_stated"),
        (["not_stated", "passed"], HARD, "passed"),
        (["0.5", "0.75", "0.75"], SOFT, "0.75"),
        (["0.5", "0.75"], SOFT, "0.5"),
        (["0", "0.5", "1"], SOFT, "0"),
        (["1", "cannot_say"], SOFT, "cannot_say"),
        (["1", "1", "cannot_say"], SOFT, "1"),
    ],
)
def test_the_majority_decides_and_a_tie_is_open_or_the_lower_level(votes, factor, said):
    assert has_levels(factor) == (factor is SOFT)
    assert majority(votes, factor) == said


def test_agreement_is_the_share_of_pairs_of_votes_that_say_the_same():
    assert votes_agree(["passed", "passed", "failed"]) == pytest.approx(1 / 3)
    assert votes_agree(["passed"]) is None


def test_votes_that_differ_leave_a_label_open_and_are_listed():
    said = {1: "passed", 2: "failed", 3: "cannot_say"}
    case = case_of(explicit=[{"id": "nice", "text": "The answer is nice"}])
    verdict, _ = judged(lambda text, vote, again: entry(said[vote]), case=case, votes=3)
    (label,) = verdict.labels
    assert label.votes == ("passed", "failed", "cannot_say")
    assert label.undecided
    assert "differ: passed, failed, cannot_say" in label.why


@pytest.mark.parametrize(
    ("fault", "calls"),
    [(FAULT, 1), (ModelError("refused", "it refuses", purpose="judge"), 2), (ModelError("too_long", "it is too long", purpose="judge"), 1)],
)  # fmt: skip
def test_a_model_that_gives_no_reply_turns_nothing_and_is_to_blame(fault, calls):
    verdict, door = judged(lambda *_: fault)
    found = labels(verdict)
    assert found["place"].outcome == "passed"
    assert found["place"].by == "checks"
    for name in ("nice", "quiet", "view"):
        assert (found[name].outcome, found[name].value, found[name].blame) == ("unevaluated", None, "judge")
        assert str(fault) in found[name].why
    assert len(door.requests) == 2 * calls
    assert verdict.usage is None


def test_a_majority_of_the_votes_counts_though_one_evaluation_broke():
    verdict, _ = judged(lambda text, vote, again: FAULT if vote == 2 else entry("passed"), votes=3)
    found = labels(verdict)
    assert found["nice"].value == 1
    assert found["nice"].votes == ("passed", "no_vote", "passed")


def test_a_fact_that_is_not_stated_holds_and_is_vacuous():
    case = case_of(facts=[{"id": "f", "text": "Every fee is right", "check": {"kind": "none"}}])
    verdict, _ = judged(lambda *_: entry("not_stated"), case=case, spec="llm-all:m")
    assert (verdict.labels[0].value, verdict.labels[0].vacuous) == (1.0, True)


def test_episodes_without_words_or_broken_by_others_are_not_asked_about():
    for trajectory in (dialogue(" \u200b "), dialogue(REPLY, ending="user_error")):
        verdict, door = judged(lambda *_: entry(), trajectory=trajectory, spec="llm-all:m")
        assert not door.requests
        assert all(label.value != 1 or label.vacuous for label in verdict.labels)


def test_a_call_without_a_record_stays_the_sandboxes_matter():
    fact = {"id": "t", "text": "Every time is right", "check": {"kind": "number", "unit": "min", "equals": {"op": "bound", "tool": "route", "path": "m"}}}  # fmt: skip
    trajectory = dialogue("It takes 25 minutes.", steps=[call("route", status="miss", to="x")])
    verdict, door = judged(lambda *_: entry(words="25 minutes"), case=case_of(facts=[fact]), trajectory=trajectory)
    assert verdict.labels[0].blame == "sandbox"
    assert not door.requests


def test_a_request_stays_within_its_size_and_keeps_what_matters():
    noise = {"pois": [{"name": f"Place {number}", "text": "x" * 400} for number in range(300)]}
    steps = [call(result=noise, query=f"noise {number}") for number in range(40)]
    long = f"{'first words ' * 3_000} {REPLY}"
    trajectory = dialogue(long, steps=[found_places(), *steps])
    trajectory = trajectory.model_copy(
        update={"turns": (*trajectory.turns, Turn(role="user", text="u" * 50_000), Turn(role="agent", text=REPLY))}
    )
    verdict, door = judged(lambda *_: entry(), trajectory=trajectory)
    for request in door.requests:
        size = sum(len(message["content"]) for message in request.messages)
        assert size < REPLY_CHARACTERS + USER_CHARACTERS + CALL_CHARACTERS + 10_000
        assert "further calls are not shown" in request.messages[1]["content"]
        assert "Cafe Luna (Riverside)" in request.messages[1]["content"].partition("# The candidate's calls")[2]
    assert labels(verdict)["nice"].quotes[0].turn == 1  # the words stand in the first reply, too, and were shown there


def test_words_that_were_not_shown_are_no_quote():
    hidden = f"{'a b ' * 5_000}the secret words{' c d' * 5_000}"
    case = case_of(explicit=[{"id": "nice", "text": "The answer is nice"}])
    verdict, _ = judged(lambda *_: entry(words="the secret words"), case=case, trajectory=dialogue(hidden))
    assert verdict.labels[0].undecided


def test_chinese_cases_are_asked_in_chinese():
    case = small_case().model_copy(update={"language": "zh-CN"})
    _, door = judged(lambda *_: None, case=case)
    assert "候选助手" in door.requests[0].messages[0]["content"]


def test_the_same_dialogue_makes_the_same_requests():
    keys = [sorted(request.key() for request in judged(lambda *_: entry(), votes=3)[1].requests) for _ in range(2)]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 6


@pytest.mark.parametrize(("spec", "words"), [("llm:", "names no model"), ("llm:m?heat=1", "no parameter 'heat'"), ("llm_all:m", "did you mean")])  # fmt: skip
def test_a_model_that_cannot_be_named_so_is_told(spec, words):
    with pytest.raises(Exception, match=words):
        make_judge(spec, TOOLS, root=None)
