"""Manners of the scripted user: other words, the same facts; and what the user's audit, judges and a modelled user make of them."""

import re
from importlib.resources import files
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mapsat.model import MANNERS, Case, Trajectory, Turn, UserScript
from pytest_mapsat.reading import agrees
from pytest_mapsat.users import ScriptedUser, UserMove, audit, make_user
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


@settings(max_examples=60, deadline=None)
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
    def user(self, manner: Any, **rest: Any) -> ScriptedUser:
        return ScriptedUser(UserScript.model_validate(script_of("en", [0, 0, 0, 0], manner, **rest)), seed="c")

    def said(self, user: ScriptedUser, *messages: str) -> list[UserMove]:
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
