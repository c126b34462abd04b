"""The HTML report as text: what it holds, how large it is, and that equal runs give equal pages."""

import json
import re
from html import unescape

import pytest
from report_runs import BROKEN, COMPARED, FINE, PLACES, REPLY, RUN, quote, told
from runs_made import run_of

from pytest_mapsat.model import Aggregate, Label, Quote, Step, Trajectory, Turn
from pytest_mapsat.reports import html as html_page
from pytest_mapsat.reports.html import drawing_of, html_report, opening, pieces
from pytest_mapsat.reports.html.earlier import EarlierRun, before_of, trend_of, word_changes

MIB = 1024 * 1024


def label(outcome, *quotes, requirement="f", kind="fact", **fields):
    return Label(requirement=requirement, kind=kind, outcome=outcome, quotes=quotes, **fields)


def drawn(*calls):
    steps = tuple(Step(kind="call", tool="t", arguments=arguments, result=result) for arguments, result in calls)
    return drawing_of(told("a", steps=steps).trajectory)


@pytest.mark.parametrize(
    ("cases", "most"), [(200, 6.5 * MIB), pytest.param(300, 10 * MIB, marks=pytest.mark.long_proof)]
)
def test_a_page_of_hundreds_of_cases_is_small(cases, most):
    noise = {"places": [{"name": f"Place {number}", "lon": 13 + number / 1e4, "lat": 52.5} for number in range(400)]}
    step = Step(kind="call", tool="search", arguments={"query": "x" * 500}, result=noise)
    labels = [label("failed", quote("Old Mill"), requirement=f"requirement-{number}") for number in range(12)]
    cards = [told(f"case-{number}", *labels, steps=(step, step, step), outcome="failed") for number in range(cases)]
    page = html_report(run_of(*cards)).encode()
    assert len(page) < most
    assert page.count(b'<article class="case"') == cases


@pytest.mark.parametrize("told_whole", [100, pytest.param(1_000, marks=pytest.mark.long_proof)])
def test_a_page_of_many_cases_lists_all_and_has_the_dialogues_of_those_that_need_a_look(monkeypatch, told_whole):
    if told_whole < html_page.TOLD:
        monkeypatch.setattr(html_page, "TOLD", told_whole)
    every = told_whole + 103
    fine = [told(f"fine-{number}", label("passed")) for number in range(every - 3)]
    failed = [told(f"wrong-{number}", label("failed"), outcome="failed") for number in range(3)]
    page = html_report(run_of(*fine, *failed))
    assert page.count("<tr data-outcome=") == every
    articles = re.findall(r'<article class="case" id="case-([^"]+)"', page)
    assert (len(articles), articles[:3]) == (told_whole, ["wrong-0", "wrong-1", "wrong-2"])
    assert {link.removeprefix("#case-") for link in re.findall(r'<th scope="row"[^>]*><a href="([^"]+)"', page)} == {
        *articles
    }
    assert f"The dialogues of the first {told_whole} of {every} cases are on this page" in page
    assert "cases are on this page" not in html_report(run_of(*fine[:told_whole]))


def test_a_page_made_from_openings_is_that_made_from_whole_dialogues():
    asked = []

    def dialogues(numbers):
        asked.extend(numbers)
        return [COMPARED.cases[number] for number in numbers]

    brief = COMPARED.model_copy(update={"cases": tuple(map(opening, COMPARED.cases))})
    assert all(len(card.trajectory.turns) <= 1 for card in brief.cases)
    assert html_report(brief, dialogues) == html_report(COMPARED)
    assert asked == [*range(len(COMPARED.cases))]


def test_equal_runs_give_equal_pages_and_a_page_asks_for_nothing():
    page = html_report(COMPARED)
    assert page == html_report(COMPARED)
    assert "default-src 'none'" in unescape(page)
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "@import" not in page
    assert "url(" not in page


def test_a_page_without_a_comparison_has_no_changes():
    assert 'id="changes"' not in html_report(RUN)
    assert 'id="changes"' in html_report(COMPARED)


def test_the_kinds_of_checks_that_cases_fail_by_stand_first_and_lead_to_their_cases():
    by_check = [
        label("failed", requirement=requirement, kind="hard", check=check, value=0, why="no")
        for requirement, check in (("open", "says"), ("near", "located"))
    ]
    cards = [told(f"case-{number}", *by_check[: 1 + number % 2], outcome="failed") for number in range(3)]
    page = html_report(run_of(*cards))
    reasons = re.findall(r'<span class="times">(\d+)</span>.*?<b>(.*?)</b>', page)
    assert reasons == [("3", "something that must, or must not, be said"), ("1", "a place too far away")]
    assert 'href="#cases?why=a+place+too+far+away"' in page
    assert page.index("Why cases failed") < page.index('id="cases"')


def test_a_timeline_has_times_tokens_and_errors_of_each_turn():
    steps = (Step(kind="call", tool="find"), Step(kind="call", tool="go", status="error", result="no"))
    turns = (
        Turn(role="user", text="Go"),
        Turn(role="agent", text="Where?", steps=steps, timing={"seconds": 1.5}),
        Turn(role="user", text="There"),
        Turn(role="agent", text="Done", timing={"seconds": 0.5}, usage={"input_tokens": 1200, "output_tokens": 30}),
    )
    (row,) = html_page.row_views(run_of(told("a", trajectory=Trajectory(case="a", turns=turns))))
    lines = row.told.timeline
    assert [(line.number, line.start, line.width, line.time) for line in lines] == [
        (1, 0.0, 75.0, "1.5 s"),
        (3, 75.0, 25.0, "500 ms"),
    ]
    assert lines[0].calls == (("find", "ok"), ("go", "error"))
    assert lines[1].tokens == "1,200 in / 30 out"


def test_texts_in_chinese_say_so():
    turns = (Turn(role="user", text="附近有充电站吗？"), Turn(role="agent", text="Old Mill has a charger (充电)."))
    page = html_report(run_of(told("a", trajectory=Trajectory(case="a", turns=turns))))
    assert '<p class="said" lang=zh>附近有充电站吗？' in page
    assert '<p class="said">Old Mill' in page


def test_an_attribute_with_the_name_of_a_field_has_a_filter_of_its_own():
    cards = [told(f"case-{value}", attributes={"outcome": value, "why": value}) for value in ("a", "b")]
    names = re.findall(r'<select data-tag="([^"]+)" name="([^"]+)"', html_report(run_of(*cards)))
    assert names[1:] == [("attribute outcome", "attribute outcome"), ("attribute why", "attribute why")]


def test_a_difference_is_of_words_and_of_chinese_characters():
    assert word_changes("It is 400 m away.", "It is 4 km away.") == (
        [("", "It is "), ("del", "400 m"), ("", " away.")],
        [("", "It is "), ("ins", "4 km"), ("", " away.")],
    )
    assert word_changes("去老磨坊", "去蓝湾")[1] == [("", "去"), ("ins", "蓝湾")]
    long = "word " * 5_000
    assert word_changes(long, f"{long}\nmore") == ([("del", long)], [("ins", f"{long}\nmore")])


def test_an_earlier_run_without_dialogues_says_so_and_shows_how_labels_changed():
    kept = BROKEN.model_copy(update={"trajectory": Trajectory(case=BROKEN.id, turns=()), "outcome": "passed"})
    before = before_of(kept.model_copy(update={"labels": (label("passed", requirement="open-now"),)}), BROKEN)
    assert (before.labels, before.replies, before.calls) == ((("open-now", "passed → failed"),), (), ())
    page = html_report(run_of(BROKEN), None, [EarlierRun("anchor", run_of(kept))])
    assert "The earlier run was saved without its dialogues." in page
    assert "<del>" not in page


def test_a_trend_draws_bounds_as_a_band_and_leaves_out_runs_without_a_value():
    means = [{"mean": 0.0, "bounds": (0, 0)}, None, {"mean": None, "bounds": (0.5, 1)}]
    runs = [
        RUN.model_copy(update={"summary": {} if mean is None else {"ar": Aggregate(n=1, **mean)}}) for mean in means
    ]
    trend = trend_of("ar", runs, share=True)
    assert trend.dots == ((4.0, 32.0), (156.0, 11.0))
    assert trend.band == "4,32 156,18 156,4 4,32"


def test_a_long_result_is_cut_and_says_so():
    page = html_report(run_of(told("a", steps=(Step(kind="call", tool="t", result="x" * 100_000),))))
    assert len(page) < 120_000
    assert re.search(r"and \d+ more characters, which the run file has", page)


def test_cases_that_need_a_look_stand_first_a_row_each_with_their_trials():
    second = {"trial": 2, "trajectory": BROKEN.trajectory.model_copy(update={"trial": 2}), "outcome": "passed"}
    page = html_report(run_of(FINE, BROKEN, BROKEN.model_copy(update=second)))
    articles = re.findall(r'<article class="case" id="([^"]+)"', page)
    assert articles == ["case-charge-now", "case-charge-now-t2", "case-sleep"]
    rows = re.findall(r"<tr data-outcome.*?</tr>", page, re.DOTALL)
    assert [re.search(r'href="#([^"]+)"', row)[1] for row in rows] == ["case-charge-now", "case-sleep"]
    assert "1 of 2, flaky" in rows[0]
    assert page.count('aria-current="true"') == 2


def test_marks_are_cut_where_quotes_meet_and_the_gravest_colours_them():
    text = "abcdefgh"
    quotes = [Quote(turn=1, start=start, end=end, text="") for start, end in ((0, 4), (2, 6))]
    found = pieces(
        text, 1, [label("passed", quotes[0], requirement="p"), label("failed", quotes[1], requirement="q")], most=7
    )
    assert [(one.text, one.state, one.requirements) for one in found] == [
        ("ab", "passed", ("p",)),
        ("cd", "failed", ("p", "q")),
        ("ef", "failed", ("q",)),
        ("g", "", ()),
    ]


def test_a_quote_that_lies_outside_the_text_marks_nothing():
    wild = [Quote(turn=1, start=start, end=end, text="") for start, end in ((90, 99), (5, 2), (3, 10**9))]
    found = pieces("abcd", 1, [label("failed", one) for one in wild], most=100)
    assert "".join(one.text for one in found) == "abcd"
    assert [one.text for one in found if one.state] == ["d"]


def test_a_drawing_has_places_and_ways():
    drawing = drawn(
        ({"center": "13.402,52.501", "radius": 800}, PLACES),
        (
            {"origin": "13.402,52.501", "destination": "13.41,52.505"},
            {"polyline": "13.402,52.501;13.405,52.503;13.41,52.505"},
        ),
    )
    assert [(marker.name, marker.said) for marker in drawing.markers] == [
        ("Old Mill", True),
        ("Blue Bay", False),
        ("center", False),
    ]
    assert sorted(len(way.split()) for way in drawing.ways) == [2, 3]
    old_mill, blue_bay, _ = drawing.markers
    assert old_mill.x < blue_bay.x  # it lies further west
    assert old_mill.y > blue_bay.y  # and further south
    # 0.008 degrees of longitude at this latitude are 542 m, and 200 m are as long as the scale says.
    assert drawing.scale_text == "200 m"
    assert abs((blue_bay.x - old_mill.x) / drawing.scale_x * 200 - 677.6) < 10


def test_nothing_is_drawn_where_there_is_nothing_to_see():
    assert drawn(({"query": "x"}, {"count": 3})) is None
    assert drawing_of(Trajectory(case="a", turns=())) is None
    assert drawn(({"center": "13.4,52.5"}, {})) is None


def test_a_drawing_copes_with_wild_values():
    wild = {"lon": float(10**9), "lat": 2, "name": ["x"], "location": "999.0,999.0", "path": "a;b;;", "deep": {}}
    here = wild["deep"]
    for _ in range(50):
        here["deep"] = {"lon": 13.4, "lat": 52.5}
        here = here["deep"]
    many = [{"name": f"p{number}", "lon": -179.0 + number * 0.3, "lat": 84.9} for number in range(1000)]
    drawing = drawn(({"origin": True, "radius": float("1e300"), "destination": None}, [wild, many]))
    assert len(drawing.markers) == 24
    assert drawing.more > 0
    assert all(0 <= marker.x <= 640 and 0 <= marker.y <= 400 for marker in drawing.markers)


def test_the_words_of_a_reply_are_all_there():
    page = html_report(run_of(BROKEN))
    said = "".join(re.findall(r'<p class="said">(.*?)</p>', page))
    assert REPLY in re.sub("<[^>]+>", "", said)
    tags = json.loads(unescape(re.search(r'data-tags="([^"]*)"', page)[1]))
    assert (tags["domain"], tags["tool"], tags["difficulty"]) == (
        ["navigation"],
        ["get_route", "search_nearby"],
        ["L1"],
    )
