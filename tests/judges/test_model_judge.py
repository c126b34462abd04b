"""The judges that ask a model: who is asked what, what of a reply counts, and what a majority makes of it."""

import re
from types import SimpleNamespace

import pytest
from asked_models import FAULT, REPLY, ScriptedDoor, entry, figure, judged, labels, requirements, small_case
from judging import TOOLS, call, case_of, dialogue, found_places

from pytest_mapsat.judges import BESIDE_PROMPTS, PROMPTS, make_judge
from pytest_mapsat.judges.llm_judge import has_levels, majority
from pytest_mapsat.judges.llm_material import CALL_CHARACTERS, REPLY_CHARACTERS, USER_CHARACTERS
from pytest_mapsat.llm import ModelError, prompt
from pytest_mapsat.metrics import votes_agree
from pytest_mapsat.model import JudgeTerms, Requirement, Turn


def asked_of(door):
    return sorted((request.vote, sorted(requirements(request))) for request in door.requests)


def test_the_model_labels_everything_that_has_to_be_read_one_request_a_dimension_and_vote():
    verdict, door = judged(lambda text, vote, again: entry("1" if "view" in text else "passed"), votes=3)
    found = labels(verdict)
    assert {label.by for label in found.values()} == {"model"}
    each = [
        ["A cafe is recommended", "The answer is nice"],
        ["Every phone number that is stated is that of its place"],
        ["The cafe has a view", "The cafe is quiet"],
    ]
    assert asked_of(door) == [(vote, texts) for vote in (1, 2, 3) for texts in each]
    assert found["nice"].votes == ("passed",) * 3
    assert found["nice"].quotes[0].text == "Cafe Luna (Riverside)"
    assert found["nice"].quotes[0].start == REPLY.index("Cafe Luna")
    assert verdict.usage.input_tokens == 900
    assert verdict.judge == "llm:some/model"
    # A hard requirement holds or not, a soft one without a check has levels.
    forms = {text: form for request in door.requests for text, (_, form) in requirements(request).items()}
    assert forms["The cafe has a view"] == "level"
    assert forms["The cafe is quiet"] == "yes-or-no"


SURE = {
    "called": {"kind": "calls", "tool": "search_poi"},
    "never": {"kind": "calls", "at_most": 0, "tool": "route"},
    "pattern": {"kind": "matches", "pattern": "Cafe Luna"},
    "both": [{"kind": "calls", "tool": "search_poi"}, {"kind": "matches", "pattern": "Cafe"}],
    "not-once": {"kind": "not", "check": {"kind": "any", "checks": [{"kind": "calls", "tool": "route"}]}},
}
READ = {
    "names": {"kind": "says", "any": ["Cafe Luna"]},
    "mixed": [SURE["called"], {"kind": "says", "any": ["Cafe"]}],
}


@pytest.mark.parametrize("spec", ["llm:m", "llm-lean:m"])
def test_what_a_machine_decides_without_reading_is_never_asked_of_a_model(spec):
    requirements = [{"id": name, "text": f"It is {name}", "check": check} for name, check in (SURE | READ).items()]
    case = case_of(explicit=[*requirements, {"id": "nice", "text": "It is nice"}])
    verdict, door = judged(lambda *_: entry("failed"), case=case, spec=spec)
    assert [texts for _, texts in asked_of(door)] == [["It is mixed", "It is names", "It is nice"]]
    values = {name: (label.by, label.value) for name, label in labels(verdict).items()}
    assert values == dict.fromkeys(SURE, ("checks", 1.0)) | dict.fromkeys((*READ, "nice"), ("model", 0.0))


def test_levels_that_a_machine_decides_are_not_asked_of_a_model():
    levels = [{"level": 1, "check": SURE["called"]}, {"level": 0.5, "check": SURE["pattern"]}]
    soft = {"id": "looks", "text": "It looks", "kind": "soft", "weight": 1, "levels": levels}
    verdict, door = judged(lambda *_: entry("0"), case=case_of(implicit=[soft]))
    assert not door.requests
    assert labels(verdict)["looks"].by == "checks"


def passed(name):
    return {"id": name, "text": f"It is {name}", "check": READ["names"]}


def test_lean_asks_for_facts_always_and_for_all_of_a_dimension_in_which_a_label_is_not_passed():
    case = case_of(
        explicit=[passed("said"), passed("named")],
        implicit=[
            passed("kept") | {"kind": "hard", "weight": 1},
            {"id": "quiet", "text": "It is quiet", "kind": "hard", "weight": 1},
        ],
        facts=[{"id": "phone", "text": "Every phone number that is stated is that of its place"}],
        policies=[passed("polite")],
    )
    verdict, door = judged(lambda *_: entry("passed"), case=case, spec="llm-lean:m")
    facts = ["Every phone number that is stated is that of its place"]
    assert asked_of(door) == [(1, facts), (1, ["It is kept", "It is quiet"])]
    assert {name: label.by for name, label in labels(verdict).items()} == {
        "said": "checks", "named": "checks", "kept": "model", "quiet": "model", "phone": "model", "polite": "checks",
    }  # fmt: skip
    _, door = judged(lambda *_: entry("passed"), case=case, spec="llm:m")
    assert len(door.requests) == 4


def test_lean_asks_again_for_what_passed_beside_a_failure_that_a_machine_is_sure_of():
    failed = {"id": "called", "text": "It was called", "check": {"kind": "calls", "tool": "route"}}
    verdict, door = judged(
        lambda *_: entry("failed"), case=case_of(explicit=[failed, passed("said")]), spec="llm-lean:m"
    )
    assert asked_of(door) == [(1, ["It is said"])]
    assert {name: label.by for name, label in labels(verdict).items()} == {"called": "checks", "said": "model"}


def test_a_request_carries_instructions_policies_and_the_suites_own_sentence_as_data():
    case = case_of(
        explicit=[{"id": "nice", "text": "The answer is nice"}], policies=[{"id": "ask", "text": "Ask before you book"}]
    )
    case = case.model_copy(update={"visible": case.visible.model_copy(update={"instructions": "Never name a price."})})
    door = ScriptedDoor(lambda *_: entry())
    suite = SimpleNamespace(manifest=SimpleNamespace(judge=JudgeTerms(about="A cafe guide; evening means after six.")))
    judge = make_judge("llm:m", TOOLS, root=None, client=door, votes=1, suite=suite)
    judge.judge(case, dialogue(REPLY, steps=[found_places()]))
    shown = {tuple(requirements(request)): request.messages[1]["content"] for request in door.requests}
    text = shown[("The answer is nice",)]
    for part, words in (("suite", "A cafe guide"), ("instructions", "Never name"), ("policies", "Ask before you book")):
        assert re.search(rf"^<<<DATA-\w+ {part}\n{words}", text, re.MULTILINE)
    # Where policies are what is judged, they are the requirements, and not data besides.
    assert " policies\n" not in shown[("Ask before you book",)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_prompts_are_neutral_of_domain(language):
    words = r"\b(?:travel|road|bus|bridge|route|ride|restaurant|hotel|drive)|地点|出行|公交|路线|车型|线路|指路"
    for name in (*PROMPTS, *BESIDE_PROMPTS.values()):
        assert not re.search(words, prompt(name, language).text), name


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
        (entry(words="Cafe Nova"), "occurs in no part"),
        (entry(words=""), "no quote is from a reply"),
        (entry(words="4.6", part="call-1"), "no quote is from a reply"),
        (entry(words="C"), "occurs in no part"),
        (entry(verdict="certainly"), "expected one of passed, failed, cannot_say"),
        (entry(verdict="not_stated"), "expected one of passed, failed, cannot_say"),
        (entry(figures=[figure("25 minutes", "52", "25")]), "do not say 52"),
        (entry(figures=[figure("25 minutes", "25", "17")]), "17 occurs nowhere"),
        (entry(figures=[figure("25 minutes", "25", "__import__('os')")]), "neither a number nor a calculation"),
        (entry(figures=[figure("25 minutes", "25", "9**9**9")]), "cannot be worked out"),
        (entry(figures=[figure("25 minutes", "25", "(" * 150 + "4")]), "cannot be worked out"),
        (entry(figures=[figure("25 minutes", "25", "4 / (4 - 4)")]), "cannot be worked out"),
        (entry(figures=[figure("25 minutes", "25", "4(4)")]), "cannot be worked out"),
        (entry(figures=[figure("25 minutes", "25", "1" * 1999 + "x")]), "neither a number nor a calculation"),
        (entry(figures=[figure("5 euros", "5", "5", "money")]), "another currency"),
        (entry(figures=[figure("35 minutes", "35", "35")]), "occur in no reply"),
        (entry(figures=[figure("25 minutes", "25", "4 + 4")]), "is not as it must be"),
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
    case = case_of(facts=[{"id": "all", "text": "Every figure is right"}])
    trajectory = dialogue(f"It is {words}.", steps=[call(result={"text": known_data})])
    one = figure(*said)
    for verdict in ("passed", "failed"):
        given = entry(verdict, words=words, figures=[one])
        found, _ = judged(lambda *_, given=given: given, case=case, trajectory=trajectory, spec="llm:m")
        holds = (verdict == "passed") == fits
        assert (found.labels[0].outcome == verdict) == holds, found.labels[0].why
        assert (found.labels[0].value is None) != holds


SOFT = Requirement(id="s", text="t", kind="soft", weight=1)
HARD = Requirement(id="h", text="t", kind="hard", weight=1)


@pytest.mark.parametrize(
    ("votes", "requirement", "said"),
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
def test_the_majority_decides_and_a_tie_is_open_or_the_lower_level(votes, requirement, said):
    assert has_levels(requirement) == (requirement is SOFT)
    assert majority(votes, requirement) == said


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
    for name in ("place", "nice", "quiet", "view", "phone"):
        assert (found[name].outcome, found[name].value, found[name].blame) == ("unevaluated", None, "judge")
        assert str(fault) in found[name].why
    assert len(door.requests) == 3 * calls
    assert verdict.usage is None


def test_a_majority_of_the_votes_counts_though_one_evaluation_broke():
    verdict, _ = judged(lambda text, vote, again: FAULT if vote == 2 else entry("passed"), votes=3)
    found = labels(verdict)
    assert found["nice"].value == 1
    assert found["nice"].votes == ("passed", "no_vote", "passed")


def test_a_fact_that_is_not_stated_holds_with_nothing_claimed():
    case = case_of(facts=[{"id": "f", "text": "Every fee is right"}])
    verdict, _ = judged(lambda *_: entry("not_stated"), case=case, spec="llm:m")
    assert (verdict.labels[0].value, verdict.labels[0].nothing_claimed) == (1.0, True)


def test_episodes_without_words_or_broken_by_others_are_not_asked_about():
    for trajectory in (dialogue(" \u200b "), dialogue(REPLY, ending="user_error")):
        verdict, door = judged(lambda *_: entry(), trajectory=trajectory, spec="llm:m")
        assert not door.requests
        assert all(label.value != 1 or label.nothing_claimed for label in verdict.labels)


def test_a_call_without_a_recording_stays_the_sandboxes_matter():
    fact = {"id": "t", "text": "Every time is right", "check": {"kind": "number", "unit": "min", "equals": {"op": "bound", "tool": "route", "path": "m"}}}  # fmt: skip
    trajectory = dialogue("It takes 25 minutes.", steps=[call("route", status="miss", to="x")])
    verdict, door = judged(lambda *_: entry(words="25 minutes"), case=case_of(facts=[fact]), trajectory=trajectory)
    assert verdict.labels[0].blame == "sandbox"
    assert not door.requests


def test_a_request_stays_within_its_size_and_keeps_what_matters():
    noise = {"pois": [{"name": f"Place {number}", "text": "x" * 400} for number in range(15)]}
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
    assert len(set(keys[0])) == 9


@pytest.mark.parametrize(("spec", "words"), [("llm:", "names no model"), ("llm:m?heat=1", "no parameter 'heat'"), ("llm_all:m", "did you mean")])  # fmt: skip
def test_a_model_that_cannot_be_named_so_is_told(spec, words):
    with pytest.raises(Exception, match=words):
        make_judge(spec, TOOLS, root=None)
