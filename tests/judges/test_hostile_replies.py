"""Whatever a reply holds, every check ends with a finding, soon."""

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from judging import call, found_places, judge_reply
from step_count import steps_of

CHECKS = [
    ("says", {"any": ["bus", "公交"]}),
    ("says", {"none": ["toll"]}),
    ("number", {"unit": "km", "max": 5, "near": ["bus"], "equals": {"op": "bound", "tool": "route", "path": "d"}}),
    ("clock_time", {"after": "10:00"}),
    ("recommends", {"only": True, "where": {"rating": {"op": "between", "min": 4.5}}}),
    ("recommends", {"none_of": ["Old Mill"]}),
    ("recommends", {"in_order": [["bus"], ["metro"]]}),
    ("recommends", {"all_of": [["bus"], ["metro"]]}),
    ("recommends", {"any_of": ["bus"], "none_of": ["metro"]}),
    ("asked", {"about": ["bus"], "at_most": 2}),
]
PIECES = [
    "9",
    "1,234,",
    ":",
    ".",
    "not ",
    "不",
    "bus ",
    "Old Mill ",
    "半",
    "三点",
    "个半",
    "(",
    "\u0301",
    "\u202e",
    "\x00",
    "?",
    "an hour ",
    "\n",
    "½",
    "百分之",
    "-",
    " km",
]
#: What lists, denials, numerals and figures near phrases are read from.
LISTS = [
    "Old Mill, ",
    "Old Mill and ",
    "no bus, metro or ",
    "bus 5 km ",
    "5 km, bus, ",
    "twenty-",
    "a hundred and ",
    "not about ",
    "is not ",
    "太",
    "而步",
]
hostile = st.lists(st.one_of(st.sampled_from([*PIECES, *LISTS]), st.text(max_size=5)), max_size=40).map("".join)


@generated(60)
@given(hostile)
def test_no_check_breaks_and_every_quotation_is_true(reply):
    for kind, fields in CHECKS:
        finding = judge_reply(reply, kind, steps=[found_places(), call("route", {"d": reply})], **fields)
        assert finding.passed in (True, False, None)
        assert finding.why
        assert all(quote.text == reply[quote.start : quote.end] for quote in finding.quotes)


@pytest.mark.parametrize(
    "piece",
    [
        *(pytest.param(piece, marks=pytest.mark.long_proof(in_turn=True)) for piece in PIECES),
        "Old Mill is closed. ",
        "Take bus 5, 1.2 km at 6:30 pm, not Old Mill. ",
        *LISTS,
    ],
)
def test_work_grows_with_the_length_of_the_reply_and_not_faster(piece):
    def all_checks(size):
        for kind, fields in CHECKS:
            steps = [found_places(), call("route", {"d": 1})]
            judge_reply(piece * (size // len(piece)), kind, steps=steps, **fields)

    short, long = (steps_of(lambda size=size: all_checks(size)) for size in (600, 2_400))
    assert long < 5 * short
