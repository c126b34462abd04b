"""The terminal summary: what it tells, and that it fits, whatever the width."""

import re

import pytest
from runs_made import UNDECIDED, card, run_of

from pytest_mapsat.model import Label
from pytest_mapsat.reports import cell_width, summary_lines
from pytest_mapsat.reports.view import group_order

OPEN_ITEM = {
    "outcome": "unevaluated",
    "unknown": ("z1",),
    "reason": "hard z1 is undecided: 'the mill' may be Old Mill or New Mill",
}
RUN = run_of(
    card("nav-1", 1.0),
    card("nav-2", 0.5, outcome="failed", blame="agent", reason="hard z2 failed: Old Mill is closed at that hour"),
    card("nav-3", 0.25, most=1.0, **OPEN_ITEM),
    card("find-1", 1.0, domains=("search",)),
    card("find-2", 0.2, most=0.5, domains=("search", "餐饮与美食推荐"), missed=1),
    thresholds=["ar=0.65"],
    allowed=1,
)

GOLDEN = {
    60: """\
mapsat     FAILED   1 failed · 3 passed · 1 undecided
           5 cases
satisfied  0.59–0.80 (undecided labels)      95 %: 0.21–1.00
           requests 0.59–0.80 · unspoken 0.59–0.80
           facts 0.59–0.80
domain          cases  failed  undecided  satisfied
餐饮与美食推荐      1       0          0  0.20–0.50
search              2       0          0  0.60–0.75
navigation          3       1          1  0.58–0.83
a case counts in each of its domains
why        1× the measure of success is below 1  nav-2
gate       FAILED: 1 of 5 cases failed: nav-2
           ar 0.6750 >= 0.65 without 1 undecided case, which
           --mapsat-allow-undecided lets pass
""",
    80: """\
mapsat     FAILED   1 failed · 3 passed · 1 undecided                    5 cases
satisfied  0.59–0.80 (undecided labels)                          95 %: 0.21–1.00
           requests 0.59–0.80 · unspoken 0.59–0.80 · facts 0.59–0.80
domain          cases  failed  undecided  satisfied
餐饮与美食推荐      1       0          0  0.20–0.50 ██░░░
search              2       0          0  0.60–0.75 ██████░░
navigation          3       1          1  0.58–0.83 ██████░░
a case counts in each of its domains
why        1× the measure of success is below 1  nav-2
gate       FAILED: 1 of 5 cases failed: nav-2
           ar 0.6750 >= 0.65 without 1 undecided case, which
           --mapsat-allow-undecided lets pass
""",
}


def text_of(run, width=80, **options):
    return "\n".join(line.text for line in summary_lines(run, width=width, colour=False, **options))


@pytest.mark.parametrize("width", GOLDEN)
def test_the_summary_of_a_run_with_undecided_cases(width):
    assert text_of(RUN, width) + "\n" == GOLDEN[width]


@pytest.mark.parametrize("width", range(40, 121, 4))
def test_no_line_is_wider_than_the_terminal(width):
    assert [line.text for line in summary_lines(RUN, width=width, colour=False) if cell_width(line.text) > width] == []


@pytest.mark.parametrize("width", [40, 50, 60, 70, 77, 78, 90, 120])
def test_a_narrow_table_drops_columns_and_never_a_digit(width):
    heads = re.compile(r"efficiency|[a-z]+")
    table, whole = (text_of(RUN, columns, full=True).split("\n")[3:9] for columns in (width, 200))
    shown, every = (heads.findall(re.sub(r"\([A-Z]+\)", "", rows[0].partition("cases")[2])) for rows in (table, whole))
    places = [every.index(head) for head in shown]
    for row, full in zip(table[2:], whole[2:], strict=True):
        cells = full.split()[1:]
        assert row.split()[-len(shown) :] == [cells[place] for place in places]
    dropped = [head for head in every if head not in shown]
    told = f"the terminal is too narrow to show {', '.join(dropped)}" in " ".join(
        text_of(RUN, width, full=True).split()
    )
    assert told == bool(dropped)


def test_a_narrow_table_drops_first_what_it_knows_nothing_of():
    nothing = dict.fromkeys(("ecr", "iisr", "ses"), (0.0, 1.0))
    run = run_of(card("nav-1", 0.5, most=1.0, bounds={**card("x", 0.5, most=1.0).bounds, **nothing}))
    table = text_of(run, 60, full=True)
    assert "tools" in table.split("\n")[3]
    dropped = table.partition("too narrow to show ")[2].partition("\n")[0]
    assert "requests" in dropped
    assert "tools" not in dropped


def test_columns_stand_below_each_other_though_chinese_names_are_wide():
    rows = text_of(RUN, 100, full=True).split("\n")[3:9]
    assert len({cell_width(row) for row in rows}) == 1
    short = text_of(RUN, 60, full=False).split("\n")
    assert len({cell_width(line) for line in short if re.match("domain|search|餐饮", line)}) <= 1


def test_a_decided_run_says_nothing_of_bounds():
    text = text_of(run_of(card("a", 0.5), card("b", 1.0), thresholds=["ar=0.7"]))
    assert "decided" not in text
    assert " to " not in text
    assert "0.75" in text
    assert "gate       PASSED: ar 0.7500 >= 0.7" in text


def test_bounds_are_shown_with_the_digits_that_tell_them_apart():
    assert "satisfied  0.712–0.713" in text_of(run_of(card("a", 0.7121, most=0.7129)))


def test_two_digits_never_make_a_mean_whole():
    cards = [card(f"c-{number}", 1.0) for number in range(299)] + [card("last", 0.5)]
    assert "satisfied  0.998" in text_of(run_of(*cards))


def test_everything_that_was_measured_is_shown_when_more_is_asked_for():
    assert "brevity" not in text_of(RUN, 120)
    assert "brevity" in text_of(RUN, 140, full=True).split("\n")[3]


def test_without_thresholds_there_is_no_gate_to_pass():
    lines = summary_lines(run_of(card("a")), width=80, colour=True)
    assert lines[-1] == ("gate       none: no threshold set, the cases alone decide", "")


def test_lost_items_are_listed_three_at_most_and_ten_of_a_loud_run():
    lost = [(f"nav-{number}", 1, "not started") for number in range(10, 23)]
    run = run_of(card("a"), lost=lost)
    for full, most in ((False, 3), (True, 10)):
        lines = text_of(run, full=full).split("\n")
        first = lines.index("lost       nav-10 trial 1: not started")
        assert lines[first + most - 1 : first + most + 2] == [
            f"lost       nav-{9 + most} trial 1: not started",
            f"           and {13 - most} more",
            "gate       INVALID: 13 cases lost (lost 13: nav-10, nav-11, nav-12 and 10 more)",
        ]


def test_brief_is_the_gates_line_and_the_lost_items():
    run = run_of(card("a", 0.5), thresholds=["ar=0.9", "ses=0.9"], lost=[("b", 2, "skipped by conftest.py")])
    assert text_of(run, brief=True).split("\n") == [
        "lost       b trial 2: skipped by conftest.py",
        "gate       INVALID: 1 case lost (lost 1: b)",
    ]
    passed = text_of(run_of(card("a", 0.5), thresholds=["ar=0.5"]), brief=True)
    assert passed.startswith("gate       PASSED: ar 0.5000")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_quiet_run_is_told_in_three_lines_and_a_green_one_in_one(width):
    heads = [line.split()[0] for line in text_of(RUN, width, quiet=True).split("\n")]
    assert heads == ["mapsat", "why", "gate"]
    lost = run_of(card("a"), lost=[("b", 1, "not started"), ("c", 1, "not started")])
    assert [line.split()[0] for line in text_of(lost, width, quiet=True).split("\n")] == ["mapsat", "lost", "gate"]
    assert text_of(run_of(card("a")), width, quiet=True).split()[:4] == ["mapsat", "PASSED", "1", "passed"]
    assert "\n" not in text_of(run_of(card("a")), width, quiet=True)


def failing(case, *checks, **fields):
    labels = tuple(
        Label(requirement=f"r{n}", kind="hard", outcome="failed", value=0.0, check=check)
        for n, check in enumerate(checks)
    )
    return card(case, 0.0, outcome="failed", blame="agent", labels=labels, **fields)


MANY = [
    failing(f"case-number-{n}", *kinds, domains=(f"domain {n % 9}",))
    for n in range(40)
    for kinds in [("travels", "grounded", "calls", "state", "output")[: 1 + n % 5]]
]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_red_run_takes_sixteen_lines_and_a_green_one_twelve(width):
    hints = ["--mapsat-save=run.json keeps the dialogues", "-v: all metrics"]
    beside = 1  # where the run is saved
    red = text_of(run_of(*MANY, thresholds=["ar=0.9", "ses=0.5"]), width, hints=hints, saved="run.json").split("\n")
    assert len(red) + beside <= 16
    green = [card(f"c-{n}", 0.5, most=0.9, domains=(f"domain {n}", "all")) for n in range(20)]
    assert len(text_of(run_of(*green), width, hints=hints).split("\n")) + beside <= 12
    assert max(map(cell_width, red)) <= width


def test_why_says_how_many_cases_failed_by_each_kind_of_check_and_names_another_case_for_each():
    lines = text_of(run_of(*MANY), 100).split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("why"))
    assert [" ".join(line.split()) for line in lines[first : first + 4]] == [
        "why 40× another way of travelling case-number-14 +39",
        "32× a claim that no tool result supports case-number-19 +31",
        "24× tool calls other than wanted case-number-24 +23",
        "and 2 more kinds of failure",
    ]
    assert text_of(run_of(*MANY), 100, full=True).count("×") == 5


def test_the_worst_domains_stand_first_with_a_bar_and_the_others_are_counted():
    cards = [card(f"c-{n}", n / 10, most=n / 10 + 0.1, domains=(f"domain {n}",)) for n in range(9)]
    lines = text_of(run_of(*cards), 80).split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("domain "))
    assert lines[first + 1 : first + 3] == [
        "domain 0       1       0          0  0.00–0.10 ░",
        "domain 1       1       0          0  0.10–0.20 █░",
    ]
    assert re.fullmatch(r"and \d more", next(line for line in lines if line.startswith("and ")))
    assert not any(line.startswith("domain") for line in text_of(run_of(card("a"), card("b"))).split("\n"))


def test_an_undecided_label_that_changes_nothing_asks_for_nothing():
    failed = [failing(f"f-{n}", "travels") for n in range(9)]
    text = text_of(run_of(*failed, card("open", 0.0, most=1.0, **OPEN_ITEM)), saved="run.json")
    assert text.startswith("mapsat     FAILED   9 failed · 1 undecided")
    assert "gate       FAILED: 9 of 10 cases failed (no threshold set)" in text
    assert "review" not in text
    assert "no verdict" not in text


def test_an_undecided_run_says_how_to_decide_it():
    text = text_of(run_of(card("a"), card("open", 0.0, most=1.0, **OPEN_ITEM)), saved="my run.json")
    assert text.startswith("mapsat     INCONCLUSIVE   1 passed · 1 undecided")
    assert "mapsat review 'my run.json'" in text
    assert "to decide it, let a model judge" in text


@pytest.mark.parametrize(("missed", "told"), [(1, False), (2, True)])
def test_more_than_a_tenth_of_calls_missed_is_a_warning_that_says_what_to_do(missed, told):
    text = " ".join(text_of(run_of(card("a", calls=10, missed=missed))).split())
    warning = f"warning {missed} of 10 calls missed ({missed}0%)"
    assert (warning in text, "mapsat lint SUITE --misses RUN offers" in " ".join(text.split())) == (told, told)


def test_a_case_that_passes_only_on_a_rerun_is_named_as_flaky():
    failed = {"outcome": "failed", "blame": "agent"}
    run = run_of(
        card("a", **failed),
        card("a", attempt=2),
        card("b"),
        card("b", attempt=2, **failed),
        card("c", **failed),
        card("c", attempt=2, **failed),
        card("d", trial=2, agent="big", **failed),
        card("d", trial=2, agent="big", attempt=2),
    )
    flaky = next(line for line in text_of(run).split("\n") if line.startswith("flaky"))
    assert flaky == "flaky      a (passed at attempt 2 of 2), d [big] (passed at attempt 2 of 2)"


def test_how_probably_any_or_all_of_several_trials_pass_is_told_beside_flaky_cases():
    failed = {"outcome": "failed", "blame": "agent"}
    cards = [card("a"), card("a", trial=2), card("b"), card("b", trial=2, **failed)]
    lines = text_of(run_of(*cards), full=True).split("\n")
    assert "trials     any of 2 passes (pass@2) 1.000; all 2 pass (pass^2) 0.500" in lines
    assert "flaky      b (1 of 2 trials passed)" in lines
    assert not any(line.startswith("trials") for line in text_of(run_of(card("a")), full=True).split("\n"))


def test_what_an_agent_says_never_steers_the_terminal():
    rude = UNDECIDED.model_copy(update={"why": "undecided: \x1b[2J\u202e"})
    text = text_of(run_of(card("a", 0.1, most=0.5, labels=(rude,), domains=("na\x1bv",))))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_lines_have_a_style_only_where_the_terminal_has_colours():
    assert {line.style for line in summary_lines(RUN, width=80, colour=False)} == {""}
    assert {line.style for line in summary_lines(RUN, width=80, colour=True)} == {"", "red"}


def test_groups_that_are_numbers_stand_by_their_size():
    assert group_order(["10", "kept", "2", "1", "changed"]) == ["1", "2", "10", "changed", "kept"]
