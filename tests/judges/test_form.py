"""An agent's form on its own reply settles what the reading leaves open, and turns nothing green by a claim."""

import pytest
from judging import TOOLS, check_of, dialogue, found_places

from pytest_mapsat.agents import Reply, form_of
from pytest_mapsat.judges import Context, evaluate
from pytest_mapsat.model import Form, trajectory_digest

LUNA = {"any_of": ["Cafe Luna"], "tool": "any"}
OPEN = "Old Mill but the soup is cold, and Cafe Luna though the tea is not hot."


def thing(name, quote=""):
    return {"name": name, "quote": quote or name}


def figure(about, what, quote):
    return {"about": about, "what": what, "quote": quote}


def filled(text, **fields):
    form = Form.model_validate(fields) if fields else None
    return dialogue(text, steps=[found_places()], form=form)


def verdict(text, kind, form, **fields):
    return evaluate(check_of(kind, **fields), Context(filled(text, **form), TOOLS)).passed


@pytest.mark.parametrize("name", ["Cafe Luna (Riverside)", "Cafe Luna", "CAFE LUNA"])
def test_a_thing_that_the_words_leave_open_is_recommended_where_the_form_has_it(name):
    assert verdict(OPEN, "recommends", {}, **LUNA) is None
    assert verdict(OPEN, "recommends", {"recommended": [thing(name, "Cafe Luna")]}, **LUNA) is True


def test_an_entry_whose_quote_the_reply_does_not_say_counts_for_nothing():
    assert verdict(OPEN, "recommends", {"recommended": [thing("Cafe Luna", "go to Cafe Luna")]}, **LUNA) is None


def test_a_thing_that_the_reply_does_not_name_is_not_recommended_by_a_form():
    form = {"recommended": [thing("Cafe Luna", "Go to Old Mill")]}
    assert verdict("Go to Old Mill.", "recommends", form, **LUNA) is not True


@pytest.mark.parametrize("text", [OPEN, "Go to Old Mill.", "I recommend Cafe Luna, 5 minutes from here."])
def test_a_form_that_says_nothing_changes_nothing(text):
    for kind, fields in [("recommends", LUNA), ("recommends", {"none_of": ["Old Mill"]})]:
        assert verdict(text, kind, {"mode": "none"}, **fields) is verdict(text, kind, {}, **fields)


def test_what_the_words_turn_down_is_open_where_the_form_recommends_it():
    text = "Skip Cafe Luna, it is closed. Go to Old Mill."
    assert verdict(text, "recommends", {}, **LUNA) is False
    form = {"recommended": [thing("Cafe Luna")], "turned_down": [thing("Old Mill")]}
    assert verdict(text, "recommends", form, **LUNA) is None


ONLY_LUNA = {"any_of": ["Cafe Luna"], "only": True}


@pytest.mark.parametrize(
    "text",
    [
        "I recommend Cafe Luna. I also recommend Old Mill.",
        "1. Cafe Luna\n2. Old Mill",
        "Take Cafe Luna, and then go to Old Mill.",
        "I recommend Cafe Luna. If it is full, go to Old Mill.",
    ],
)
@pytest.mark.parametrize("also", [{}, {"turned_down": [thing("Old Mill")]}])
def test_a_form_that_lists_only_what_is_right_makes_nothing_green_that_the_reply_recommends_besides(text, also):
    form = {"recommended": [thing("Cafe Luna")], **also}
    assert verdict(text, "recommends", form, **ONLY_LUNA) is not True
    assert verdict(text, "recommends", form, none_of=["Old Mill"]) is not True
    assert verdict(text, "recommends", form, turned_down=["Old Mill"]) is not True


def test_a_thing_that_the_words_only_describe_is_not_proposed_where_neither_list_has_it():
    text = "I recommend Cafe Luna. Old Mill Garden has a terrace."
    alone = "Cafe Luna it could be. Old Mill Garden has a terrace."
    form = {"recommended": [thing("Cafe Luna")]}
    assert verdict(text, "recommends", form, none_of=["Old Mill Garden"]) is True
    assert verdict(alone, "recommends", {}, none_of=["Old Mill Garden"]) is None
    assert verdict(alone, "recommends", form, none_of=["Old Mill Garden"]) is True


WAIT = {"unit": "min", "role": "wait", "of": ["Old Mill"], "max": 15}


def test_a_figure_has_the_role_and_the_thing_of_the_entry_that_quotes_it():
    text = "Go to Old Mill. Count 12 minutes."
    assert verdict(text, "number", {}, **WAIT) is None
    assert verdict(text, "number", {"figures": [figure("Old Mill", "wait", "Count 12 minutes")]}, **WAIT) is True


def test_the_figure_that_is_compared_is_that_of_the_words():
    text = "Go to Old Mill. Count 25 minutes."
    form = {"figures": [figure("Old Mill", "wait", "Count 25 minutes")]}
    assert verdict(text, "number", form, **WAIT) is False


def test_the_shortest_quote_around_a_figure_counts_and_only_for_what_its_unit_can_be():
    text = "Go to Old Mill. Count 12 minutes, 800 m."
    form = {
        "figures": [figure("Cafe Luna", "wait", "Count 12 minutes, 800 m"), figure("Old Mill", "wait", "12 minutes")]
    }
    assert verdict(text, "number", form, **WAIT) is True
    distance = {"unit": "m", "role": "travel_distance", "of": ["Old Mill"], "max": 900}
    assert verdict(text, "number", {"figures": [figure("Old Mill", "wait", "800 m")]}, **distance) is verdict(
        text, "number", {}, **distance
    )


def test_a_claim_does_not_take_a_figure_from_the_thing_that_the_words_say_it_of():
    text = "The wait at Old Mill is 25 minutes. The wait at Cafe Luna is 10 minutes."
    assert verdict(text, "number", {}, **WAIT) is False
    swapped = [figure("Cafe Luna", "wait", "25 minutes"), figure("Old Mill", "wait", "10 minutes")]
    assert verdict(text, "number", {"figures": swapped}, **WAIT) is not True
    renamed = [figure("Old Mill", "travel time", "25 minutes")]
    assert verdict(text, "number", {"figures": renamed}, **WAIT) is False


def test_a_time_of_day_is_settled_in_the_same_way():
    fields = {"kind": "clock_time", "role": "closing", "of": ["Old Mill"], "before": "18:00"}
    kind = fields.pop("kind")
    text = "Go to Old Mill. 17:00, mind you."
    assert verdict(text, kind, {}, **fields) is None
    assert verdict(text, kind, {"figures": [figure("Old Mill", "closing", "17:00")]}, **fields) is True


def test_a_form_says_nothing_of_earlier_replies():
    earlier = dialogue(OPEN, "Shall I book it?", steps=[found_places()])
    form = Form.model_validate({"recommended": [thing("Cafe Luna")]})
    context = Context(earlier.model_copy(update={"form": form}), TOOLS)
    assert evaluate(check_of("recommends", **LUNA, turn=1), context).passed is None


def test_the_digest_of_a_dialogue_changes_only_by_a_form():
    without = filled(OPEN)
    assert trajectory_digest(without) == trajectory_digest(without.model_copy(update={"warnings": ("odd",)}))
    assert trajectory_digest(without) != trajectory_digest(filled(OPEN, mode="walking"))
    assert "form" not in without.to_json()


def test_the_chinese_form_works_alike():
    text = "青石茶馆也不是不行。"
    fields = {"any_of": ["青石茶馆"], "tool": "any"}
    assert verdict(text, "recommends", {"recommended": [thing("青石茶馆")]}, **fields) is True


SAID = "Go to Old Mill, 12 minutes."
GOOD = '{"recommended": [{"name": "Old Mill", "quote": "Go to Old Mill"}]}'


@pytest.mark.parametrize(
    "reply",
    [
        Reply(GOOD),
        Reply(f"Here it is:\n```json\n{GOOD}\n```\nAnything else?"),
        Reply("Done.", output={"recommended": [{"name": "Old Mill", "quote": "Go to Old Mill"}]}),
        Reply(GOOD, output={"text": GOOD}),
    ],
)
def test_a_form_is_data_or_text_with_one_object_in_it(reply):
    form, warning = form_of(reply, SAID)
    assert (form and form.recommended[0].name, warning) == ("Old Mill", "")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("I would rather not."), "found 'I would rather not.', expected one JSON object"),
        (Reply("{'recommended': []}"), "expected one JSON object"),
        (Reply('{"mode": NaN}'), "expected one JSON object"),
        (Reply('{"recommended": "Old Mill"}'), "'recommended'"),
        (Reply('{"recommended": [{"name": "Old Mill"}]}'), "'recommended.0.quote': Field required"),
        (Reply('{"proposes": []}'), "'proposes'"),
        (Reply('{"mode": "' + "x" * 10_000_000 + '"}'), "it has 10,000,012 characters; at most 64,000 are read"),
        (Reply("", output={"mode": "x" * 10_000_000}), "at most 64,000 are read"),
        (Reply('{"mode":' + "[" * 30_000 + "]" * 30_000 + "}"), "expected one JSON object"),
        (Reply('{"turned_down": [' + ",".join(['{"name":"a","quote":"b"}'] * 300) + "]}"), "'turned_down'"),
    ],
)
def test_what_is_no_form_is_ignored_whole_with_a_warning(reply, words):
    form, warning = form_of(reply, SAID)
    assert form is None
    assert warning.startswith("form: ignored: ")
    assert words in warning
    assert len(warning) < 400


def test_entries_that_quote_what_was_never_said_are_dropped_and_named():
    output = {
        "recommended": [thing("Old Mill", "go to old mill"), thing("Old Mill", "Go to Old Mill")],
        "figures": [figure("Old Mill", "wait", "13 minutes")],
    }
    form, warning = form_of(Reply("", output=output), SAID)
    assert [len(form.recommended), len(form.figures)] == [1, 0]
    assert warning == "form: 2 entries quote what the reply does not say: 'go to old mill', '13 minutes'"
    assert "form: 1 entry quotes what" in form_of(Reply("", output={"figures": output["figures"]}), SAID)[1]
