"""The look-up of ids: what the structured output names must be a row that the tool returned in this dialogue, and that fits."""

import time

import pytest
from judging import call, check_of
from pydantic import ValidationError

from pytest_mapsat.judges import JudgedDialogue, evaluate
from pytest_mapsat.model import Tool, Trajectory, Turn

ENTITIES = [{"items": "merchants", "name": "name", "id": "poi_id"}]
SEARCH, NEARBY = (
    Tool.model_validate({"name": name, "description": "Finds.", "parameters": {"type": "object"}, "entities": ENTITIES})
    for name in ("search_merchants", "nearby")
)
TOOLS = {tool.name: tool for tool in (SEARCH, NEARBY)}
BITE = {"poi_id": "P7", "name": "Amber Bowl", "category": "noodle bar", "rating": 4.6, "hours": "10:00-02:00"}
RIVAL = {"poi_id": "P8", "name": "Golden Noodle House", "category": "noodle bar", "rating": 4.1, "hours": "all day?"}
NUMBERED = {"poi_id": 107, "name": "Blue Door", "category": "noodle bar", "rating": 4.9}
FOUND = call("search_merchants", {"merchants": [BITE, RIVAL, NUMBERED]}, query="noodle bar")
WHERE = {"category": "noodle bar", "rating": {"op": "between", "min": 4.5}}
LOOK_UP = {"path": "merchants", "entry": {"hop": "bite"}, "id": "poi_id", "tool": "search_merchants", "where": WHERE}


def entries(*given):
    return {"merchants": [{"hop": hop, "poi_id": poi_id} for hop, poi_id in given]}


def judge(output, *steps, later=(), text="Go to Golden Noodle House.", **changes):
    turns = [
        Turn(role="user", text="A late bite?"),
        Turn(role="agent", text=text, steps=steps or (FOUND,), output=output),
    ]
    if later:
        turns += [Turn(role="user", text="Sure?"), Turn(role="agent", text="Yes.", steps=later, output={})]
    check = check_of("output", **{**LOOK_UP, **({"turn": "first"} if later else {}), **changes})
    return evaluate(check, JudgedDialogue(Trajectory(case="c1", turns=tuple(turns)), TOOLS))


@pytest.mark.parametrize("poi_id", ["P7", 107, "107", " P7 "])
def test_any_returned_row_that_fits_is_right_whatever_the_words_say(poi_id):
    finding = judge(entries(("play", "P1"), ("bite", poi_id)))
    assert finding.passed is True
    assert not finding.reading


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (None, "no reply has a structured output"),
        ({"shops": []}, "the structured output has no merchants (there are: shops)"),
        ({"merchants": "P7"}, "merchants is 'P7', expected a list of objects with poi_id"),
        (entries(("play", "P7")), "no entry of merchants has hop equal to 'bite'; there is 'play'"),
        (entries(("bite", "P7"), ("bite", "P7")), "2 entries of merchants have hop equal to 'bite', expected one"),
        ({"merchants": ["P7"]}, "no entry of merchants has hop equal to 'bite'"),
        ({"merchants": [{"hop": "bite", "poi": "P7"}]}, "an entry of merchants has no poi_id (did you mean 'poi'?)"),
        (entries(("bite", None)), "an entry of merchants has no poi_id"),
        (entries(("bite", ["P7"])), "poi_id is ['P7'], expected one text or whole number"),
        (entries(("bite", True)), "poi_id is True, expected one text or whole number"),
        (entries(("bite", 107.0)), "poi_id is 107.0, expected one text or whole number"),
        (entries(("bite", "p7")), "search_merchants never returned the poi_id 'p7'"),
        (entries(("bite", "0107")), "search_merchants never returned the poi_id '0107' (did you mean '107'?)"),
        (entries(("bite", "Amber Bowl")), "never returned the poi_id 'Amber Bowl' (it returned P7, P8, 107)"),
        (entries(("bite", "P8")), "the row with the poi_id 'P8' does not fit: rating is 4.1"),
        (entries(("bite", 10**5000)), "poi_id is a int too long to show, expected one text or whole number"),
    ],
)
def test_what_is_wrong_is_said_plainly(output, why):
    finding = judge(output)
    assert finding.passed is False
    assert why in finding.why
    assert finding.wanted == (
        "in the entry of merchants with hop equal to 'bite', poi_id of a row with category equal to 'noodle bar' and "
        "rating at least 4.5 that search_merchants returned, in the last reply"
    )


def test_an_element_without_the_entries_is_wrong_unless_one_entry_is_meant():
    days = {"days": [{"hotel": {"hop": "bite", "poi_id": "P7"}}, {"museum": "M1"}]}
    plain = {"path": "days.*.hotel", "entry": {}}
    finding = judge(days, **plain)
    assert (finding.passed, finding.why) == (False, "days.*.hotel is missing in an element")
    assert judge(days, path="days.*.hotel").passed is True
    assert judge({"days": days["days"][:1]}, **plain).passed is True
    assert (
        judge({"days": [{"hotels": []}, {"hotels": [{"poi_id": "P7"}]}]}, path="days.*.hotels", entry={}).passed is True
    )


def test_the_id_of_a_row_of_another_tool_is_wrong():
    other = call("nearby", {"merchants": [{**BITE, "poi_id": "N1"}]})
    finding = judge(entries(("bite", "N1")), FOUND, other)
    assert (finding.passed, finding.why) == (False, "search_merchants never returned the poi_id 'N1'; nearby did")


def test_an_id_that_came_after_the_reply_is_wrong():
    new = call("search_merchants", {"merchants": [{**BITE, "poi_id": "P9"}]})
    finding = judge(entries(("bite", "P9")), later=(new,))
    assert (finding.passed, finding.why) == (False, "search_merchants returned the poi_id 'P9' only after this reply")


@pytest.mark.parametrize("status", ["error", "refused", "over_limit", "miss"])
def test_a_call_without_an_answer_returned_nothing(status):
    finding = judge(entries(("bite", "P7")), FOUND.model_copy(update={"status": status}))
    assert finding.passed is False
    assert finding.missed == (("search_merchants",) if status == "miss" else ())


def test_the_last_result_of_a_row_counts():
    worse = call("search_merchants", {"merchants": [{**BITE, "rating": 4.0}]})
    assert judge(entries(("bite", "P7")), FOUND, worse).passed is False
    assert judge(entries(("bite", "P7")), worse, FOUND).passed is True


def test_an_id_that_stands_twice_in_a_result_is_right_only_where_both_rows_fit():
    twice = call("search_merchants", {"merchants": [BITE, {**BITE, "rating": 4.0}]})
    assert judge(entries(("bite", "P7")), twice).passed is None
    assert judge(entries(("bite", "P7")), call("search_merchants", {"merchants": [BITE, BITE]})).passed is True
    worse = call("search_merchants", {"merchants": [{**BITE, "rating": 4.0}, {**BITE, "rating": 3.0}]})
    assert judge(entries(("bite", "P7")), worse).why.endswith(" does not fit: rating is 4.0")


def test_hours_that_cannot_be_read_are_undecided_and_never_fulfilled():
    late = {"hours": {"op": "open_at", "time": "23:00"}}
    assert judge(entries(("bite", "P7")), where=late).passed is True
    assert judge(entries(("bite", "P8")), where=late).passed is None


def test_what_a_record_does_not_tell_is_undecided():
    untold = call("search_merchants", None, status="unknown")
    assert judge(entries(("bite", "P1")), FOUND, untold).passed is None
    assert judge(entries(("bite", "P7")), FOUND, untold).passed is True


@pytest.mark.parametrize(
    ("ids", "passed"),
    [(("P7", 107), True), (("P7", "P8"), False), (("P8", "P7"), False), (("P1",), False), ((), False)],
)
def test_without_entry_all_are_looked_up(ids, passed):
    assert judge({"merchants": [{"poi_id": poi_id} for poi_id in ids]}, entry={}).passed is passed


def test_a_single_object_and_the_output_itself_are_entries():
    assert judge({"bite": {"poi_id": "P7"}}, path="bite", entry={}).passed is True
    assert judge({"poi_id": "P8"}, path="", entry={}).passed is False


@pytest.mark.parametrize("places", [{"a": [{"hop": "bite", "poi_id": "P7"}], "b": 5}, {"b": 5, "a": [{"hop": "bite", "poi_id": "P7"}]}])  # fmt: skip
def test_the_order_of_the_places_of_entries_decides_nothing(places):
    assert judge({"merchants": places}, path="merchants.*").passed is True
    assert judge({"merchants": places}, path="merchants.*", entry={}).passed is False


def test_without_where_a_returned_id_is_enough():
    assert judge(entries(("bite", "P8")), where={}).passed is True


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "a look-up needs id and tool"),
        ({"tool": None}, "a look-up needs id and tool"),
        ({"equals": 1}, "give equals, or id and tool"),
    ],
)
def test_a_look_up_is_refused_with_the_reason(changes, message):
    with pytest.raises(ValidationError, match=message):
        check_of("output", **{**LOOK_UP, **changes})


def test_thousands_of_entries_hold_nothing_up():
    steps = [
        call("search_merchants", {"merchants": [{**BITE, "poi_id": f"P{page}-{row}"} for row in range(100)]})
        for page in range(200)
    ]
    output = {"merchants": [{"poi_id": f"P{number % 200}-7"} for number in range(5_000)]}
    began = time.perf_counter()
    assert judge(output, *steps, entry={}).passed is True
    assert judge({"merchants": [*output["merchants"], {"poi_id": "P7"}]}, *steps, entry={}).passed is False
    assert time.perf_counter() - began < 20  # a second


UNTOLD_HOURS = {"op": "open_at", "time": "23:00"}


@pytest.mark.parametrize("ids", [("P7", "P8"), ("P8", "P7"), ("P7", "P8", "P7"), ("P8",)])
def test_of_several_entries_an_unclear_one_leaves_the_check_undecided_wherever_it_stands(ids):
    finding = judge({"merchants": [{"poi_id": poi_id} for poi_id in ids]}, entry={}, where={"hours": UNTOLD_HOURS})
    assert (finding.passed, finding.why) == (None, "it is unclear whether the row with the poi_id 'P8' fits")


def test_an_entry_that_may_be_the_one_that_is_meant_leaves_the_check_undecided():
    output = {"merchants": [{"poi_id": "P7", "hours": "all day?"}]}
    finding = judge(output, entry={"hours": UNTOLD_HOURS})
    assert finding.passed is None
    assert finding.why.startswith("it is unclear which entry of merchants has hours ")
    assert finding.wanted.startswith("in the entry of merchants with hours ")


def test_what_passes_and_what_is_wanted_are_said_plainly():
    every = judge({"merchants": [{"poi_id": "P7"}]}, entry={})
    assert every.why == "search_merchants returned the poi_id 'P7', and its row fits"
    assert every.wanted == (
        "in merchants, each poi_id of a row with category equal to 'noodle bar' and rating at least 4.5 that "
        "search_merchants returned, in the last reply"
    )
    bare = judge({"poi_id": "P8"}, path="", entry={}, where={})
    assert bare.why == "search_merchants returned the poi_id 'P8'"
    assert (
        bare.wanted
        == "in the structured output, each poi_id of a row that search_merchants returned, in the last reply"
    )
    assert judge({"merchants": []}, entry={}).why == "merchants is empty"


def test_an_id_is_read_under_its_name_or_at_its_path_and_is_one():
    nested = {"merchants": [{"shop": {"poi_id": "P7"}}]}
    assert judge(nested, entry={}, id="shop.poi_id").passed is True
    assert judge({"merchants": [{"shop.poi_id": "P7"}]}, entry={}, id="shop.poi_id").passed is True
    several = judge({"merchants": [{"shops": [{"poi_id": "P7"}, {"poi_id": "P7"}]}]}, entry={}, id="shops.*.poi_id")
    assert (several.passed, several.why) == (False, "shops.*.poi_id is 'P7', 'P7', expected one text or whole number")
    bare = judge({"merchants": [["P7"]]}, entry={})
    assert (bare.passed, bare.why) == (False, "an entry of merchants has no poi_id (found ['P7'])")


def test_a_row_that_lacks_what_it_must_have_is_told_with_each_thing_that_is_wrong():
    where = {"category": "tea house", "terrace": True, "rating": {"op": "between", "min": 4.5}}
    finding = judge(entries(("bite", "P7")), where=where)
    assert finding.passed is False
    assert finding.why.endswith(" does not fit: category is 'noodle bar'; terrace is None")


def test_only_results_that_the_record_lacks_of_the_tool_itself_may_hold_the_id():
    lacking = FOUND.model_copy(update={"result": None, "unknown": ("result",)})
    assert judge(entries(("bite", "P9")), lacking).passed is None
    assert judge(entries(("bite", "P9")), FOUND, lacking).why == (
        "the record lacks results of search_merchants, and poi_id 'P9' may be in one of them"
    )
    other = call("nearby", None, status="unknown")
    assert judge(entries(("bite", "P9")), FOUND, other).passed is False
    assert judge(entries(("bite", "P9")), FOUND.model_copy(update={"unknown": ("changed",)})).passed is False


def test_ids_that_were_returned_are_told_or_that_there_were_none():
    none = judge(entries(("bite", "P7")), call("search_merchants", {"merchants": []}))
    assert none.why == "search_merchants never returned the poi_id 'P7' (it returned no ids)"
    nothing = judge(entries(("bite", "P7")), call("nearby", {"merchants": []}))
    assert nothing.why == "search_merchants returned nothing that could have the poi_id 'P7'"
    many = [{**BITE, "poi_id": f"P{number:04}-{number * 7919 % 1_000_003}"} for number in range(1_001)]
    listed = call("search_merchants", {"merchants": many})
    close = judge(entries(("bite", many[999]["poi_id"][:-1])), listed)
    assert close.why.endswith(f"(did you mean {many[999]['poi_id']!r}?)")
    far = judge(entries(("bite", many[1_000]["poi_id"][:-1])), listed)
    assert f"did you mean {many[1_000]['poi_id']!r}" not in far.why


def test_a_reply_of_several_with_a_right_entry_is_enough_and_else_the_last_is_told():
    right, wrong = {"merchants": [{"hop": "bite", "poi_id": "P7"}]}, {"merchants": [{"hop": "bite", "poi_id": "P1"}]}

    def of(*outputs):
        turns = [Turn(role="user", text="A late bite?")]
        for output in outputs:
            turns += [Turn(role="agent", text="There.", output=output, steps=(FOUND,)), Turn(role="user", text="And?")]
        check = check_of("output", **{**LOOK_UP, "turn": "any"})
        return evaluate(check, JudgedDialogue(Trajectory(case="c1", turns=tuple(turns[:-1])), TOOLS))

    assert [of(right, wrong).passed, of(wrong, right).passed, of(None, right).passed] == [True] * 3
    both = of(wrong, {"merchants": []})
    assert (both.passed, both.why) == (False, "no entry of merchants has hop equal to 'bite'")
    assert both.wanted.endswith(", in any reply")
