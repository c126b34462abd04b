import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import ScriptedAnswer, Turn, UserScript
from pytest_mapsat.users import ScriptedUser, UserMove

MODE = ScriptedAnswer(asked=("how would you like to travel", "transport", "出行方式"), say="By subway.")
TIME = ScriptedAnswer(asked=("what time", "departure time", "几点", "出发时间"), say="At nine.")
BUDGET = ScriptedAnswer(asked=("budget", "预算"), say="Under fifty.")
SCRIPT = UserScript(answers=(MODE, TIME, BUDGET))
NO_PREFERENCE = "No preference."
CANNOT_ACT = "I cannot do that myself."
GOODBYE = "That is all, thank you."
SAID_ALREADY = "I have already said that."


def turn(text: str) -> Turn:
    return Turn(role="agent", text=text)


def user(script: UserScript = SCRIPT, language: str = "en") -> ScriptedUser:
    return ScriptedUser(script, language=language)


def says(message: str, script: UserScript = SCRIPT, language: str = "en") -> UserMove:
    return user(script, language).reply([turn(message)])


class TestSpeaksOnlyWhenAsked:
    @pytest.mark.parametrize(
        "message",
        [
            "What time do you leave?",
            "Please tell me your departure time.",
            "I still need your departure time",
            "Please provide:\n- departure time",
            "Let me know your departure time.",
            "What time do you leave？",
            '"What time do you leave?"',
            "**What time** do you leave? 🙂",
            "**What time do you leave?**",
            "If you need a table, at what time?",
            "请告诉我出发时间。",
            "您几点走呢",
            "请问您打算几点出发",
            "麻烦提供一下出发时间",
            "我还缺一个信息：出发时间",
        ],
    )
    def test_a_question_or_a_request_in_english_or_chinese_is_answered(self, message):
        assert says(message) == UserMove("At nine.")

    @pytest.mark.parametrize(
        "message",
        [
            "The bus leaves at nine. The departure time may change.",
            "I assumed a budget of ten and the departure time eight.",
            "See https://maps.example/route?departure time=9 for the map.",
            "## What time to go?\nNine is quiet.",
            "As the sign says, “what time is it?”, so nine it is.",
            "路线已经规划好，出发时间是九点。",
            "If you like, I can also look at other transport.",
            "如果你愿意，我可以再帮你看看其他出行方式。",
        ],
    )
    def test_what_asks_nothing_ends_the_dialogue(self, message):
        assert says(message) == UserMove(GOODBYE, "done")

    def test_a_phrase_outside_the_asking_sentence_is_not_answered(self):
        assert says("Transport is by bus. What time do you leave?") == UserMove("At nine.")

    def test_it_does_not_correct_an_agent_that_is_wrong(self):
        assert says("You said you go by car, so here is the motorway.") == UserMove(GOODBYE, "done")


class TestAnswersAllThatWasAskedAndNoMore:
    def test_several_things_asked_are_answered_together_in_the_order_of_the_script(self):
        assert says("What time do you leave, and how would you like to travel?") == UserMove("By subway. At nine.")

    def test_the_list_after_a_request_belongs_to_it(self):
        assert says("Please tell me:\n1. Departure time\n2. Your budget") == UserMove("At nine. Under fifty.")

    def test_choices_listed_after_a_question_belong_to_it(self):
        assert says("Which one?\n- your transport\n- something else") == UserMove("By subway.")

    def test_an_answer_is_given_once(self):
        one = user()
        assert one.reply([turn("What time?")]) == UserMove("At nine.")
        assert one.reply([turn("Here is a plan. Again, what time?")]) == UserMove(SAID_ALREADY)

    def test_equal_words_in_two_answers_are_said_once(self):
        script = UserScript(answers=(TIME, ScriptedAnswer(asked=("when",), say="At nine.")))
        one = user(script)
        assert one.reply([turn("What time? And when?")]) == UserMove("At nine.")

    def test_a_word_inside_another_word_does_not_count(self):
        script = UserScript(answers=(ScriptedAnswer(asked=("bus",), say="By bus."),))
        assert says("Is it for business?", script) == UserMove(NO_PREFERENCE)
        assert says("Which of the buses?", script) == UserMove("By bus.")

    def test_case_width_and_punctuation_do_not_count(self):
        script = UserScript(answers=(ScriptedAnswer(asked=("Drop-Off  Point",), say="Gate 2."),))
        assert says("Which ＤＲＯＰ off-point?", script) == UserMove("Gate 2.")

    def test_a_phrase_of_a_question_mark_only_catches_every_question(self):
        script = UserScript(answers=(ScriptedAnswer(asked=("?",), say="Whatever is near."),))
        assert says("Which colour？", script) == UserMove("Whatever is near.")


class TestHasNoPreferenceBeyondItsScript:
    def test_a_question_that_the_script_does_not_know(self):
        assert says("Which colour do you want?") == UserMove(NO_PREFERENCE)

    @pytest.mark.parametrize("message", ["Shall I cancel order A1?", "May I go ahead with refund_order(id=7)?"])
    def test_asked_for_a_go_ahead_without_confirms_it_says_neither_yes_nor_no_and_notes_why(self, message):
        move = says(message, UserScript())
        assert (move.text, move.agreed) == (NO_PREFERENCE, None)
        assert move.notes == (
            "it is asked for a go-ahead, and the case has no truth.user.confirms: it gives no yes and no no",
        )

    def test_the_language_gives_the_words(self):
        assert says("您喜欢什么颜色？", language="zh-Hans") == UserMove("都可以。")

    def test_the_script_gives_the_words(self):
        assert says("Which colour?", UserScript(no_preference="You choose.")) == UserMove("You choose.")

    def test_an_offer_asked_as_a_question_wants_an_answer(self):
        assert says("Shall I book a table for you?") == UserMove(NO_PREFERENCE)
        assert says("要不要我帮你预订？", language="zh") == UserMove("都可以。")


class TestCannotAct:
    @pytest.mark.parametrize(
        "message",
        [
            "Please click the link below to pay.",
            "You need to call the restaurant.",
            "Could you book it?",
            "Tap the button to continue.",
            "Go ahead and pay now.",
            "请点击下方链接完成支付。",
            "麻烦您自己拨打电话预订。",
            "请您先登录。",
            "您可以自行下单。",
        ],
    )
    def test_asked_to_act_it_says_so_and_ends(self, message):
        assert says(message) == UserMove(CANNOT_ACT, "done")

    def test_what_is_asked_besides_is_answered_and_the_dialogue_goes_on(self):
        assert says("Please click the link. What time do you leave?") == UserMove("At nine. I cannot do that myself.")

    @pytest.mark.parametrize(
        "message",
        [
            "Order A1 is cancelled.",
            "Book 3 is in stock.",
            "Order 12 has shipped.",
            "Pay on arrival is possible.",
            "Call the waiter is what I did.",
            "Book 2 of the list costs 9 euros.",
        ],
    )
    def test_words_that_tell_of_something_want_nothing(self, message):
        assert says(message) == UserMove(GOODBYE, "done")

    def test_words_of_the_script_that_ask_for_something_cannot_end_a_dialogue(self):
        script = UserScript(cannot_act="I cannot click. Please give me the address.", goodbye="Can you send it?")
        assert says("Please click the link.", script) == UserMove(CANNOT_ACT, "done")
        assert says("Here it is.", script) == UserMove(GOODBYE, "done")

    def test_choosing_and_confirming_is_not_acting(self):
        assert says("Please confirm your departure time.") == UserMove("At nine.")
        assert says("Do you want to call a taxi or walk?") == UserMove(NO_PREFERENCE)


class TestEnds:
    @pytest.mark.parametrize(
        "message",
        [
            "Here are three cafes. Anything else?",
            "Is there anything else I can help you with?",
            "Let me know if you need anything else.",
            "Do you have any other requirements?",
            "还有其他需要吗？",
            "还需要别的吗？",
            "如有其他问题，随时告诉我。",
        ],
    )
    def test_a_polite_closer_is_declined(self, message):
        assert says(message) == UserMove(GOODBYE, "done")

    def test_an_open_question_gets_what_the_script_has_for_it(self):
        script = UserScript(answers=(ScriptedAnswer(asked=("anything else",), say="A quiet place."),))
        one = user(script)
        assert one.reply([turn("A list. Anything else?")]) == UserMove("A quiet place.")
        assert one.reply([turn("A new list. Anything else?")]) == UserMove(GOODBYE, "done")

    @pytest.mark.parametrize(
        "message",
        [
            "",
            "  \n ",
            "Please wait.",
            "Planning...",
            "OK, hold on a moment.",
            "Let me check that for you.",
            "Sure! One moment please.",
            "正在规划路线…",
            "请稍等。",
            "好的，请您稍等片刻！",
            "好的。正在为您查询，请稍候。",
        ],
    )
    def test_an_agent_that_puts_it_off_has_stalled(self, message):
        assert says(message) == UserMove(GOODBYE, "stalled")

    @pytest.mark.parametrize(
        "message", ["The wait is ten minutes.", "It is a minute away.", "有超市、银行等等。", "Hello!"]
    )
    def test_words_of_waiting_in_an_answer_are_no_stall(self, message):
        assert says(message).ending == "done"

    def test_waiting_with_a_question_is_answered(self):
        assert says("Please wait. What time do you leave?") == UserMove("At nine.")

    @pytest.mark.parametrize(
        "message", ["Sorry, I am unable to help with that.", "I can't do that.", "抱歉，我无法完成这个任务。"]
    )
    def test_an_agent_that_gives_up_has_stalled(self, message):
        assert says(message) == UserMove(GOODBYE, "stalled")

    def test_two_replies_in_a_row_that_bring_nothing_new_end_it(self):
        one = user()
        moves = [one.reply([turn("Which colour do you want?")]) for _ in range(3)]
        assert moves == [UserMove(NO_PREFERENCE), UserMove(NO_PREFERENCE), UserMove(GOODBYE, "stalled")]

    def test_asking_twice_for_what_was_answered_ends_it(self):
        one = user()
        texts = ["What time do you leave?", "Sorry, at what time?", "And what time was it?"]
        moves = [one.reply([turn(text)]) for text in texts]
        assert moves == [UserMove("At nine."), UserMove(SAID_ALREADY), UserMove(GOODBYE, "stalled")]

    def test_one_repetition_between_new_things_is_no_loop(self):
        one = user()
        texts = ["Which colour?", "Which colour?", "Which size?", "Which size?", "Which shape?"]
        assert [one.reply([turn(text)]).ending for text in texts] == [None] * 5

    def test_the_closing_words_of_the_script_and_of_the_language(self):
        assert says("Here.", UserScript(goodbye="Bye.")) == UserMove("Bye.", "done")
        assert says("到了。", language="zh_CN") == UserMove("没有了，谢谢。", "done")


MESSAGES = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            [
                "What time?",
                "Budget?",
                "Please tell me the transport.",
                "Fine.",
                "请稍等。",
                "几点？",
                "Anything else?",
                "\n- budget",
                " ",
            ]
        ),
        max_size=6,
    ).map(" ".join),
)


@given(st.lists(MESSAGES, max_size=8), st.sampled_from(["en", "zh", "xx", ""]))
def test_it_never_crashes_and_gives_each_answer_at_most_once(messages, language):
    one = user(language=language)
    spoken = "".join(one.reply([turn(message)]).text or "" for message in messages)
    assert all(spoken.count(answer.say) <= 1 for answer in SCRIPT.answers)


@given(
    st.lists(
        st.sampled_from(["The budget is ten.", "At nine by bus.", "出发时间是九点。", "Transport: bus.", "\n"])
    ).map(" ".join)
)
def test_it_never_speaks_unasked(message):
    move = says(message)
    assert move.ending is not None
    assert move.text == GOODBYE


@given(MESSAGES, st.text(max_size=40), st.text(max_size=40))
def test_it_never_ends_in_words_that_ask_for_something(message, goodbye, cannot_act):
    move = says(message, UserScript(goodbye=goodbye + "?", cannot_act=cannot_act + " Please help?"))
    assert move.ending is None or "?" not in (move.text or "")


def test_two_users_of_one_script_behave_the_same():
    texts = ["What time?", "Budget and transport?", "Anything else?"]
    one, other = user(), user()
    assert [one.reply([turn(t)]) for t in texts] == [other.reply([turn(t)]) for t in texts]


def test_nothing_said_by_an_agent_is_nothing_asked():
    assert user().reply([Turn(role="user", text="What time?")]).ending == "stalled"
