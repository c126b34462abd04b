"""A call that the user must agree to first: from the script of the user to the failure text, and judged again from the saved run."""

import pytest
import shop
from saved_runs import saved

from pytest_mapsat.cli import main

AGENTS = """\
class Asks:
    def __init__(self):
        self.order = ""

    def __call__(self, message, tools):
        if not self.order:
            self.order = tools.find_order(number="o1")["id"]
            return "Shall I cancel order o1?"
        if not message.lower().startswith("yes"):
            return "All right, I leave it as it is."
        tools.cancel_order(number=self.order, reason="changed mind")
        return "Order o1 is cancelled."


class Rash(Asks):
    def __call__(self, message, tools):
        if not self.order:
            tools.cancel_order(number="o1", reason="too late")
        return super().__call__(message, tools) if not self.order else "Done already."


class Stubborn(Asks):
    def __call__(self, message, tools):
        if self.order:
            tools.cancel_order(number="o1", reason="too late")
        return super().__call__("no", tools)


class Hasty(Asks):
    def __call__(self, message, tools):
        return super().__call__("yes", tools)


class Nagging(Asks):
    def __call__(self, message, tools):
        return "Shall I cancel order o1?"
"""


def play(pytester: pytest.Pytester, agent: str, confirms: object, *options: str) -> pytest.RunResult:
    agreed = {"kind": "calls", "tool": "cancel_order", "at_least": 0, "agreed": True}
    truth = {"requirements": [{"id": "agreed", "kind": "asked", "text": "The user agrees first", "check": agreed}]}
    if confirms is not None:
        truth["user"] = {"confirms": confirms}
    pytester.makeconftest(shop.CONFTEST)
    pytester.makepyfile(mine=AGENTS)
    shop.write_shop(pytester.path / "benchmark_cases", {**shop.case("cancel"), "truth": truth})
    return pytester.runpytest(
        f"--mapsat-agent=mine:{agent}", "--mapsat-save=run.json", "--mapsat-fail-on=all", *options
    )


def card(pytester: pytest.Pytester, name: str = "run.json") -> dict:
    (scorecard,) = saved(pytester, name)["cases"]
    return scorecard


def cancelled(pytester: pytest.Pytester) -> bool:
    return any(
        step.get("tool") == "cancel_order"
        for turn in card(pytester)["trajectory"]["turns"]
        for step in turn.get("steps", ())
    )


@pytest.mark.parametrize(
    ("agent", "confirms", "outcome", "acts"),
    [
        ("Asks", "yes", "passed", True),
        ("Asks", True, "passed", True),
        ("Asks", "no", "passed", False),
        ("Asks", {"say": "Yes, that one.", "when": ["o1"], "else": "No, another."}, "passed", True),
        ("Asks", {"say": "Yes, that one.", "when": ["o3"], "else": "No, another."}, "passed", False),
        ("Rash", "yes", "failed", True),
        ("Stubborn", "no", "failed", True),
        ("Nagging", "no", "passed", False),
        ("Nagging", "yes", "passed", False),
    ],
)
def test_an_agent_asks_before_it_acts_and_keeps_to_the_answer(pytester, agent, confirms, outcome, acts, capsys) -> None:  # noqa: PLR0917  a table
    play(pytester, agent, confirms).assert_outcomes(**{outcome: 1})
    assert cancelled(pytester) is acts
    before = card(pytester)["labels"]
    main(["regrade", "run.json", "--save=again.json"])
    capsys.readouterr()
    assert card(pytester, "again.json")["labels"] == before


def test_the_turn_that_answers_is_marked(pytester) -> None:
    play(pytester, "Asks", "yes")
    turns = card(pytester)["trajectory"]["turns"]
    assert [(turn["text"], turn.get("agreed")) for turn in turns if turn["role"] == "user"][1] == (
        "Yes, go ahead.",
        True,
    )


def test_the_failure_says_which_call_came_too_early(pytester, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    play(pytester, "Rash", "yes").stdout.fnmatch_lines(
        [
            '*why*cancel_order(number="o1", reason="too late") came before the user*',
            "*wanted*the user agrees to each call of cancel_order before it is made*",
        ]
    )


def test_the_failure_of_a_case_without_confirms_says_so(pytester, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = play(pytester, "Hasty", None)
    result.assert_outcomes(skipped=1)
    told = "it is asked for a go-ahead, and the case has no truth.user.confirms"
    (label,) = card(pytester)["labels"]
    assert label["why"].startswith("undecided: turn 2 does not plainly agree or decline: 'No preference.'; " + told)


def test_a_user_that_keeps_agreeing_ends_with_an_agent_that_keeps_asking(pytester) -> None:
    play(pytester, "Nagging", "yes")
    assert card(pytester)["trajectory"]["ending"] in ("stalled", "max_turns")


def test_confirmations_are_no_slips_of_the_user(pytester) -> None:
    play(pytester, "Asks", {"say": "Yes, that one.", "when": ["o1"], "else": "No."})
    assert [label["requirement"] for label in card(pytester)["labels"]] == ["agreed"]


@pytest.mark.parametrize(
    ("confirms", "message"),
    [
        ("maybe", "truth.user.confirms: found 'maybe', expected one of yes, no"),
        (
            {"say": "No, thanks.", "when": ["o1"]},
            "found 'No, thanks.', which declines: say is what the user agrees with",
        ),
        ({"say": "Yes.", "wenn": ["o1"]}, "truth.user.confirms.wenn: is not a known field (did you mean 'when'?)"),
        ({"say": "Yes.", "when": "o1"}, "truth.user.confirms.when: found 'o1', expected a list"),
        (3, "truth.user.confirms: found 3, expected one of yes, no"),
    ],
)
def test_what_no_user_could_answer_is_an_error_of_the_case_file(pytester, confirms, message) -> None:
    result = play(pytester, "Asks", confirms)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert message in " ".join(result.stdout.str().split())
