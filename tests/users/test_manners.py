"""Manners of the scripted user: other words, the same facts; and what the user's audit, judges and a modelled user make of them."""

import json
import re
from importlib.resources import files
from typing import Any

import pytest
import yaml
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from suite_maker import make_suite

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.llm import Answer
from pytest_mapsat.model import MANNERS, Case, Check, Trajectory, Turn, Usage, UserScript
from pytest_mapsat.python_cases import Declaration
from pytest_mapsat.python_cases import User as PythonUser
from pytest_mapsat.reading import agrees
from pytest_mapsat.suite import lint, open_suite
from pytest_mapsat.users import User, UserBrokenError, UserMove, audit, make_user
from pytest_mapsat.users.user import PATTERNS, facts_of, read, stock_of

NOW = "2026-05-26T18:00"
#: By language: questions, each with the phrase that an answer goes by, some answers, and a wrong one.
ASKED = {
    "en": {
        "What time do you leave?": (
            "what time",
            ["At nine.", "I'd like to leave at 9:15, please.", "Around half past six, thank you."],
            "At eight.",
        ),
        "What is your budget?": (
            "budget",
            ["Under fifty yuan.", "It should be at most 120 yuan.", "I think 80 yuan would be fine."],
            "Under thirty yuan.",
        ),
        "How many of you are there?": (
            "how many",
            ["There are 4 of us.", "Six people, two of them children."],
            "There are 5 of us.",
        ),
        "Which surroundings do you like?": (
            "surroundings",
            ["Somewhere quiet, please.", "By the window, not near the door.", 'Next to "The Blue Door".'],
            "",
        ),
    },
    "zh": {
        "您几点出发？": ("几点", ["九点。", "希望上午9:15出发，谢谢。", "大概六点半吧。"], "八点。"),
        "您的预算是多少？": ("预算", ["五十元以内就行。", "最多120元。", "人均八十元左右。"], "三十元以内。"),
        "您一共几位？": ("几位", ["我们有4个人。", "六位，其中两个孩子。"], "我们有5个人。"),
        "您喜欢什么环境？": ("环境", ["想要安静的地方，谢谢。", "靠窗的座位，不要吵。", "在「蓝门咖啡」旁边。"], ""),
    },
}
GO_AHEAD = {"en": "Shall I book it for you?", "zh": "要我帮您预订吗？"}
DONE = {"en": "Here is what I have for you.", "zh": "这是为您安排的。"}


def script_of(language: str, picked: list[int], manner: list[Any], **rest: Any) -> dict[str, Any]:
    """Return a script with one of the answers to each question."""
    answers = [
        {"asked": [phrase], "say": says[at % len(says)], "first": first if "first" in rest.get("with", "first") else ""}
        for at, (phrase, says, first) in zip(picked, ASKED[language].values(), strict=True)
    ]
    return {
        "answers": answers,
        "confirms": "yes",
        "manner": manner,
        **{key: rest[key] for key in rest if key != "with"},
    }


def case_of(script: dict[str, Any], language: str = "en", case_id: str = "c") -> Case:
    """Return a case with a script."""
    query = "Take me out for dinner." if language == "en" else "带我去吃晚饭。"
    return Case.model_validate(
        {
            "id": case_id,
            "language": language,
            "visible": {"query": query, "context": {"now": NOW}},
            "truth": {"user": script, "requirements": [{"id": "e", "kind": "asked", "text": "dinner"}]},
        }
    )


def talk(case: Case, messages: list[str]) -> Trajectory:
    """Return the dialogue in which an agent says these messages, up to the user's last words."""
    user = make_user("scripted", case)
    turns = [Turn(role="user", text=case.visible.query)]
    ending = "max_turns"
    for message in messages:
        turns.append(Turn(role="agent", text=message))
        move = user.reply(tuple(turns))
        turns.append(Turn(role="user", text=move.text or "", agreed=move.agreed))
        if move.ending:
            ending = move.ending
            break
    return Trajectory(case=case.id, turns=tuple(turns), ending=ending)


def values(text: str, language: str) -> set[tuple[Any, ...]]:
    """Return the facts that a text states."""
    return {(fact.unit, fact.values) for fact in facts_of(text, language, NOW)}


@generated(200)
@given(
    st.sampled_from(["en", "zh"]),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.sampled_from(
        [
            *([name] for name in MANNERS),
            ["terse", "misspells"],
            ["rambling", "mixes", "misspells"],
            ["other_first", "changes_mind"],
        ]
    ),
    st.text("abcdef", min_size=1, max_size=4),
    st.permutations(range(4)),
)
def test_every_fact_of_the_script_is_said_the_go_ahead_is_exact_and_the_user_is_never_blamed(
    language, picked, manner, name, order
):
    questions = [list(ASKED[language])[at] for at in order]
    script = script_of(language, picked, [{"impatient": 100}] if manner == ["impatient"] else manner)
    wrong = [answer["first"] for answer in script["answers"] if answer["first"]]
    read_back = [("Is this right: " if language == "en" else "是不是") + first[:-1] + "？" for first in wrong]
    messages = [questions[0], *questions]
    case = case_of(script, language, name)
    trajectory = talk(case, [*messages, *read_back, GO_AHEAD[language], *[DONE[language]] * 3])
    said = "\n".join(turn.text for turn in trajectory.turns[1:] if turn.role == "user")
    for answer in script["answers"]:
        assert values(answer["say"], language) <= values(said, language)
        assert values(answer["say"], language) or set(manner) & {"terse", "misspells", "mixes"} or answer["say"] in said
    given_back = [turn for turn in trajectory.turns if turn.agreed is not None]
    assert [(turn.text, turn.agreed) for turn in given_back] == [(stock_of(language).agrees, True)]
    assert audit(case, trajectory) == ()
    assert talk(case, [*messages, *read_back, GO_AHEAD[language], *[DONE[language]] * 3]) == trajectory
    own = set() if set(manner) & {"changes_mind", "corrects", "wrong_figure"} else values(said, language)
    assert own <= {fact for answer in script["answers"] for fact in values(answer["say"], language)}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_word_of_a_manner_states_a_fact_asks_for_something_or_answers_a_go_ahead(language):
    data = yaml.safe_load((files("pytest_mapsat") / "languages" / language / "manners.yaml").read_text("utf-8"))
    phrases = [*data["rambling"]["before"], *data["rambling"]["after"], *data["impatient"], *data["mixes"]["after"]]
    phrases += [
        re.sub(r"\{\w+\}", "", text)
        for name in ("corrects", "changes_mind", "wrong_figure", "other_first", "left_over")
        for text in data[name]
    ]
    for phrase in phrases:
        assert values(phrase, language) == set(), phrase
        assert not read(phrase, language).asks, phrase
        assert agrees(phrase) is None, phrase
        assert not any(
            PATTERNS[name].search(phrase.lower()) for name in ("declines", "speaks_for_agent", "gives_up")
        ), phrase
    numerals = re.compile("[0-9一二三四五六七八九十百千万两半]")
    changed = {**data["misspells"]["words"], **data["mixes"]["words"]}
    assert not any(numerals.search(word + new) for word, new in changed.items())
    assert all(word != new for word, new in changed.items())
    assert set(MANNERS) | {"attempts", "first"} == data["instructions"].keys()


class TestEachManner:
    def user(self, manner: Any, **rest: Any) -> User:
        return make_user("scripted", case_of(script_of("en", [0, 0, 0, 0], manner, **rest)))

    def said(self, user: User, *messages: str) -> list[UserMove]:
        turns: list[Turn] = []
        moves = []
        for message in messages:
            turns.append(Turn(role="agent", text=message))
            moves.append(user.reply(turns))
            turns.append(Turn(role="user", text=moves[-1].text or ""))
        return moves

    def test_an_impatient_user_leaves_at_the_question_after_its_last_and_still_answers_a_go_ahead(self):
        moves = self.said(self.user("impatient"), "What time?", GO_AHEAD["en"], "Your budget?", "How many?")
        assert [move.text for move in moves[:3]] == ["At nine.", "Yes, go ahead.", "Under fifty yuan."]
        assert moves[3].ending == "stalled"
        assert self.said(self.user([{"impatient": 1}]), "What time?", "Your budget?")[1].ending == "stalled"

    def test_a_user_that_changes_its_mind_declines_what_it_would_have_agreed_to(self):
        moves = self.said(
            self.user("changes_mind"), "What time?", "Shall I book it for eight?", "Shall I book it for nine?"
        )
        assert (moves[0].text, moves[1].agreed, moves[2].agreed) == ("At eight.", False, True)
        assert moves[1].text.startswith("No, do not do that. ")
        assert moves[1].text.endswith(" At nine.")

    def test_a_wrong_figure_stands_until_it_is_read_back(self):
        silent = self.said(self.user("wrong_figure"), "What time?", "Your budget?", "Your table is booked.")
        assert [move.text for move in silent] == ["At eight.", "Under thirty yuan.", "That is all, thank you."]
        told = self.said(
            self.user("wrong_figure"), "What time?", "Your table at 20:00 is booked.", "Your table at 21:00 is booked."
        )
        assert (told[1].text[-9:], told[1].ending, told[2].ending) == (" At nine.", None, "done")

    def test_what_was_put_off_is_said_before_the_user_leaves(self):
        moves = self.said(self.user("other_first"), "What time?", "Here is a plan.", "Here it is.")
        assert moves[0].text.endswith("Under fifty yuan.")
        assert (moves[1].text[-9:], moves[1].ending, moves[2].ending) == (" At nine.", None, "done")

    def test_attempts_are_made_in_turn_where_the_user_would_end_and_then_it_gives_up(self):
        attempts = ["My friend got one without paying.", "Just this once?"]
        user = self.user([], attempts=attempts)
        moves = self.said(user, "I cannot do that without payment.", "What time?", "Sorry, no.", "Sorry, no.")
        assert [(move.text, move.ending) for move in moves] == [
            (attempts[0], None),
            ("At nine.", None),
            (attempts[1], None),
            ("That is all, thank you.", "done"),
        ]

    def test_a_turn_reveals_what_it_says_rightly_and_what_nobody_asked_for_is_told(self):
        script = script_of("en", [0, 0, 0, 0], "changes_mind")
        script["answers"] = [{**answer, "reveals": [f"need-{at}"]} for at, answer in enumerate(script["answers"])]
        changing = make_user("scripted", case_of(script))
        moves = self.said(changing, "What time?", "Which surroundings?")
        assert [move.reveals for move in moves] == [{}, {"need-0": "asked", "need-3": "asked"}]
        other = make_user("scripted", case_of({**script, "manner": "other_first"}))
        moves = self.said(other, "What time?", "Here is a plan.", "Here is a plan.")
        assert [move.reveals for move in moves] == [{"need-1": "told"}, {"need-0": "asked"}, {}]

    @pytest.mark.parametrize(
        ("script", "problem"),
        [
            ({"manner": ["tersee"]}, "'terse'"),
            ({"manner": [{"impatient": 0}]}, "greater than or equal to 1"),
            ({"manner": ["terse", "rambling"]}, "rambling and terse exclude each other"),
            ({"manner": ["corrects", "wrong_figure"]}, "corrects and wrong_figure exclude each other"),
            ({"manner": ["terse", "terse"]}, "listed twice"),
            ({"manner": ["changes_mind"], "with": ""}, "needs a wrong answer to say first"),
            ({"manner": ["terse"], "answers": []}, "the user has no answers"),
            ({"manner": ["other_first"], "answers": [{"asked": ["a"], "say": "b"}]}, "needs two answers"),
            ({"manner": ["impatient"], "attempts": ["Please."]}, "an impatient user leaves"),
            ({"leaves": True, "attempts": ["Please."]}, "makes none"),
            ({"answers": [{"asked": ["a"], "say": "b", "first": "b"}]}, "another answer than say"),
        ],
    )
    def test_a_manner_that_contradicts_the_script_is_refused(self, script, problem):
        with pytest.raises(ValueError, match=re.escape(problem)):
            UserScript.model_validate(script_of("en", [0, 0, 0, 0], **{"manner": [], **script}))


def test_a_user_that_keeps_the_right_answer_to_itself_is_blamed_in_no_manner_but_for_other_figures():
    case = case_of(script_of("en", [0, 0, 0, 0], ["misspells", "changes_mind"]))
    turns = [
        ("user", case.visible.query),
        ("agent", "What is your budget?"),
        ("user", "Under ninety yuan."),
        ("agent", "Done."),
    ]
    trajectory = Trajectory(case="c", turns=tuple(Turn(role=role, text=text) for role, text in turns))
    assert [label.blame for label in audit(case, trajectory)] == ["user"]


MINUTES = {
    "answers": [{"asked": ["how long"], "say": "At most 50 minutes.", "first": "At most 30 minutes."}],
    "manner": "changes_mind",
}


def grounded(reply: str, turns: list[tuple[str, str]], **user: Any) -> bool | None:
    """Judge whether the last reply of a dialogue is grounded."""
    case = case_of({**MINUTES, **user})
    every = [("user", case.visible.query), *turns, ("agent", reply)]
    trajectory = Trajectory(case="c", turns=tuple(Turn(role=role, text=text) for role, text in every))
    dialogue = JudgedDialogue(trajectory, {}, visible=case.visible, case=case)
    return evaluate(TypeAdapter(Check).validate_python({"kind": "grounded", "claims": ["duration"]}), dialogue).passed


def test_a_figure_that_the_user_took_back_is_no_evidence_and_fails_no_reply():
    first = [("agent", "How long may it take?"), ("user", "At most 30 minutes.")]
    both = [*first, ("agent", "Noted."), ("user", "I have reconsidered. At most 50 minutes.")]
    said, wrong, right = (f"The trip takes {minutes} minutes in total." for minutes in (30, 70, 50))
    assert grounded(said, first)
    assert grounded(right, both)
    assert grounded(said, both) is None
    assert grounded(said, both, manner=[])
    assert grounded(wrong, both) == grounded(wrong, both, manner=[])
    corrected = [first[0], ("user", "At most 30 minutes. Sorry, I meant: At most 50 minutes.")]
    assert (grounded(said, corrected, manner="corrects"), grounded(right, corrected, manner="corrects")) == (None, True)


class Model:
    """A way to a model whose replies lie ready."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self.replies, self.requests = list(replies), []

    def ask(self, request: Any, **_: object) -> Answer:
        self.requests.append(request)
        reply = self.replies.pop(0)
        return Answer(text=json.dumps(reply), data=reply, usage=Usage(input_tokens=1, output_tokens=1))


def modelled(
    script: dict[str, Any], turns: list[tuple[str, str]], message: str, end: str = "no", language: str = "en"
) -> tuple[UserMove, str]:
    """Return the move of a modelled user that says a message, and its instructions."""
    model = Model(*[{"asked": [], "message": message, "end": end}] * 2)
    user = make_user("llm:m", case_of(script, language), client=model)
    every = [("user", "Take me out for dinner."), *turns]
    move = user.reply(tuple(Turn(role=role, text=text) for role, text in every))
    return move, model.requests[0].messages[0]["content"]


QUESTION = [("agent", "What time do you leave?")]


class TestAModelWithAManner:
    def test_it_gets_the_manner_in_its_own_language_and_a_user_without_one_gets_what_it_got(self):
        plain, manner = (
            modelled(script_of("en", [0] * 4, names), QUESTION, "At nine.")[1]
            for names in ([], ["wrong_figure", {"impatient": 3}])
        )
        assert manner.startswith(plain)
        assert [part in manner[len(plain) :] for part in ("first 3 replies", "At eight. / At nine.")] == [True, True]
        chinese = modelled(
            script_of("zh", [0] * 4, ["corrects"]), [("agent", "您几点出发？")], "八点。说错了，九点。", language="zh"
        )[1]
        assert "先说：八点。 / 九点。" in chinese

    @pytest.mark.parametrize(
        ("manner", "turns", "message", "end"),
        [
            (["changes_mind"], QUESTION, "At eight.", "no"),
            (
                ["changes_mind"],
                [*QUESTION, ("user", "At eight."), ("agent", "Fine.")],
                "I have changed my mind. At nine.",
                "no",
            ),
            (["rambling"], QUESTION, "My day was long. " * 30 + "At nine.", "no"),
            (["other_first"], QUESTION, "First of all: Under fifty yuan.", "no"),
            (
                [{"impatient": 1}],
                [*QUESTION, ("user", "At nine."), ("agent", "Your budget?")],
                "This takes too long.",
                "stalled",
            ),
        ],
    )
    def test_its_checks_allow_what_the_manner_asks_for_and_refuse_it_to_others(self, manner, turns, message, end):
        script = script_of("en", [0] * 4, manner)
        assert modelled(script, turns, message, end)[0].text == message.strip()
        with pytest.raises(UserBrokenError):
            modelled({**script, "manner": []}, turns, message, end)

    def test_an_attempt_may_ask_for_something(self):
        script = script_of("en", [0] * 4, [], attempts=["Could you make an exception?"])
        turns = [("agent", "I cannot do that.")]
        assert modelled(script, turns, "Could you make an exception?")[0].ending is None
        with pytest.raises(UserBrokenError):
            modelled({**script, "attempts": []}, turns, "Could you make an exception?")


def test_a_case_in_python_says_the_same():
    script = script_of("en", [0] * 4, ["terse", {"impatient": 3}])
    user = PythonUser(answers=script["answers"], confirms="yes", manner=["terse", {"impatient": 3}])
    written = Declaration({"query": "A table, please.", "user": user}).written
    assert UserScript.model_validate(written["truth"]["user"]) == UserScript.model_validate(script)
    with_attempts = Declaration({"user": PythonUser(attempts=["Just this once?"])}).written
    assert UserScript.model_validate(with_attempts["truth"]["user"]).attempts == ("Just this once?",)


SUITE = {
    "suite.yaml": "name: demo\nversion: '1'\nschema_version: 1\nlanguage: en\n",
    "table.yaml": """\
        id: table
        visible:
          query: A table for tonight, please.
          output_schema: {type: object, properties: {people: {type: integer}}, required: [people]}
        truth:
          output: {people: 4}
          requirements:
            - {id: people, kind: asked, text: it is for four, check: {kind: output, path: people, equals: 4}}
          user:
            answers:
              - {asked: [how many], say: There are 4 of us., first: There are 5 of us.}
              - {asked: [where], say: Somewhere quiet.}
          oracle:
            - say: How many of you are there?
            - say: The table is booked.
        """,
    "mute.yaml": """\
        id: mute
        visible:
          query: Where can I sit?
          output_schema: {type: object, properties: {seat: {type: string}}}
        truth:
          output: {seat: sofa}
          requirements: [{id: e, kind: asked, text: a seat, check: {kind: output, path: seat, equals: sofa}}]
          oracle: [{say: Sit here.}]
        """,
    "manner_agents.py": """\
        import re

        from pytest_mapsat import Reply


        class Hasty:
            # Takes the first figure that it hears.

            def __init__(self):
                self.heard = []

            def reply(self, message, tools):
                self.heard += map(int, re.findall(r"\\d+", message))
                return self.booked(self.heard[0]) if self.heard else "How many of you are there?"

            def booked(self, people):
                return Reply("It is booked.", output={"people": people, "seat": "sofa"})


        class Careful(Hasty):
            # Reads back the last figure that it has heard, and books when the user has no other.

            asked = None

            def reply(self, message, tools):
                self.heard += map(int, re.findall(r"\\d+", message))
                if self.heard and self.asked != self.heard[-1]:
                    self.asked = self.heard[-1]
                    return f"Is it for {self.asked} people?"
                return super().reply(message, tools) if not self.heard else self.booked(self.asked)
        """,
}


def test_a_sweep_runs_each_case_in_each_manner_that_suits_it_and_shows_which_costs_most(pytester):
    make_suite(pytester.path, SUITE)
    options = ("--mapsat-manners=all", "--mapsat-save=run.json", "-p", "no:cacheprovider")
    # The table in nine manners; the user of the other case says nothing in any, and answers no question.
    pytester.runpytest("--mapsat-agent=baseline:oracle", *options).assert_outcomes(passed=11)
    pytester.runpytest("--mapsat-agent=baseline:silent", *options).assert_outcomes(failed=11)
    pytester.runpytest("--mapsat-agent=manner_agents:Careful", *options).assert_outcomes(passed=10, failed=1)
    shown = pytester.runpytest("--mapsat-agent=manner_agents:Hasty", *options)
    shown.assert_outcomes(passed=7, failed=4)
    shown.stdout.fnmatch_lines(
        ["recovery*manner  0.* of plain, 1 case*", "           manner changes_mind  0.000 of plain, 1 case*"]
    )
    assert "manner terse" not in shown.stdout.str()
    assert "--mapsat-manners=all" in shown.stdout.str()
    first = ("--mapsat-agent=baseline:oracle", "--mapsat-manners=mixes,corrects", "-k", "mute")
    pytester.runpytest(*first).stdout.fnmatch_lines(
        ["recovery   manner corrects, mixes: it suits the script of no case in this run"]
    )
    run = json.loads((pytester.path / "run.json").read_text(encoding="utf-8"))
    worst = {name for name, value in run["variants"].items() if value["mean"] == 0}
    assert worst == {"manner changes_mind", "manner corrects", "manner wrong_figure"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--mapsat-manners=ters"], "*found 'ters', expected terse, *did you mean 'terse'?*"),
        (["--mapsat-manners=terse", "--mapsat-user=silent"], "*the silent user says nothing in any manner*"),
        (["--mapsat-manners=terse", "--mapsat-agent=recorded:run.json"], "*recorded dialogues are as they are*"),
    ],
)
def test_a_sweep_without_sense_is_a_usage_error(pytester, options, problem):
    make_suite(pytester.path, SUITE)
    outcome = pytester.runpytest("--mapsat-agent=baseline:oracle", *options)
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    outcome.stderr.fnmatch_lines([problem])


def test_a_sweep_that_suits_no_case_is_refused_before_the_first_episode(pytester):
    make_suite(pytester.path, {**SUITE, "table.yaml": SUITE["table.yaml"].replace(", first: There are 5 of us.", "")})
    outcome = pytester.runpytest("--mapsat-agent=baseline:oracle", "--mapsat-manners=changes_mind,corrects")
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    outcome.stderr.fnmatch_lines(["*no case has variants: these manners suit no user's script"])


@pytest.mark.parametrize(
    ("manifest", "manner", "problem"),
    [
        ("episode: {user: silent}", "terse", "the suite's user is silent, and says nothing in any manner"),
        ("", "wrong_figure", "wrong_figure needs a first with a figure or time other than that of its say"),
        ("", "tersee", "found 'tersee', expected one of terse, "),
    ],
)
def test_a_case_whose_user_cannot_speak_so_is_refused_with_its_line(tmp_path, manifest, manner, problem):
    table = (
        SUITE["table.yaml"]
        .replace("There are 5 of us.", "All of us.")
        .replace("user:\n", f"user:\n            manner: {manner}\n")
    )
    suite = open_suite(
        make_suite(tmp_path, {**SUITE, "suite.yaml": SUITE["suite.yaml"] + manifest, "table.yaml": table})
    )
    problems = [str(finding.problem) for finding in lint(suite)]
    assert any(re.search(rf"table\.yaml:\d+: .*{re.escape(problem)}", shown) for shown in problems), problems
