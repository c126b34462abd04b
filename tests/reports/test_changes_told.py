"""What a comparison says in the terminal: changes before everything else, at any width, in colour and without."""

import pytest
from report_runs import BROKEN, COMPARED, RUN

from pytest_mapsat.model.run import Unlike
from pytest_mapsat.reports import cell_width, change_lines, dialogue_lines, summary_lines

GOLDEN = {
    60: """\
baseline old:agent, town 1 abc
cases    3 cases in both runs: 1 worse
rule     ar:0.02 failed: AR is down by 0.30 to 0.40, more
         than 0.02
metrics  satisfied 0.900 → 0.50 to 0.60, −0.400 to −0.300:
         worse (p = 0.012)
         domain navigation satisfied 1.000 → 0.250, −0.750:
         worse (p < 0.001)
flipped  charge-now  passed → failed
           open-now (hard): passed → failed
             before  “Blue Bay”
             now     “Old Mill”""",
    120: """\
baseline old:agent, town 1 abc
cases    3 cases in both runs: 1 worse
rule     ar:0.02 failed: AR is down by 0.30 to 0.40, more than 0.02
metrics  satisfied 0.900 → 0.50 to 0.60, −0.400 to −0.300: worse (p = 0.012)
         domain navigation satisfied 1.000 → 0.250, −0.750: worse (p < 0.001)
flipped  charge-now  passed → failed
           open-now (hard): passed → failed
             before  “Blue Bay”
             now     “Old Mill”""",
}
GOLDEN[80] = GOLDEN[120]


def text(lines):
    return "\n".join(line.text for line in lines)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_changes_read_the_same_at_any_width_and_fit(width):
    lines = change_lines(COMPARED.comparison, width)
    assert text(lines) == GOLDEN[width]
    assert max(cell_width(line.text) for line in lines) <= width


def test_what_is_worse_is_red_and_without_colours_nothing_is():
    styles = {line.text.split()[0]: line.style for line in change_lines(COMPARED.comparison, 80)}
    assert (styles["rule"], styles["metrics"], styles["flipped"], styles["baseline"]) == ("red", "red", "red", "")
    assert {line.style for line in summary_lines(COMPARED, width=80, colour=False)} == {""}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_summary_says_in_two_lines_what_changed_and_a_loud_one_begins_with_it(width):
    lines = text(summary_lines(COMPARED, width=width, colour=False)).split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("baseline "))
    said = " ".join(" ".join(lines[first : first + 2]).split())
    assert said.startswith("baseline old:agent: 3 cases in both runs: 1 worse; satisfied 0.900 → 0.50 to 0.60")
    full = text(summary_lines(COMPARED, width=width, colour=False, full=True)).split("\n")
    assert full[3] == "baseline old:agent, town 1 abc"
    assert "baseline" not in text(summary_lines(RUN, width=width, colour=False))


def test_only_a_loud_run_names_every_change():
    many = COMPARED.comparison.model_copy(update={"cases": COMPARED.comparison.cases * 15})
    run = COMPARED.model_copy(update={"comparison": many})
    usual = text(summary_lines(run, width=80, colour=False))
    full = text(summary_lines(run, width=80, colour=False, full=True))
    assert "flipped" not in usual
    assert full.count("flipped") == 15
    assert "tools 0.900 → 0.900, 0.000: unclear (p = 0.800)" in full


def test_unlike_runs_are_named_and_not_compared():
    unlike = (
        Unlike(what="judge", baseline="checks", new="recorded:x"),
        Unlike(what="suite", baseline="", new="town 2"),
    )
    lines = change_lines(COMPARED.comparison.model_copy(update={"unlike": unlike}), 80)
    assert text(lines).split("\n")[1:] == [
        "unlike   judge: was checks, is recorded:x",
        "unlike   suite: was nothing, is town 2",
        "         nothing is compared: these are runs of different things",
    ]
    assert "flipped" not in text(lines)


DIALOGUE = """\
charge-now: failed
          hard open-now failed
          satisfied 0.00   efficiency 0.00   requests 0.00
          unspoken 0.00   tools 0.00   facts 0.00
          brevity 0.00

user      Where can I charge my car now?

thought   The first one will do.
call      search_nearby(center="13.402,52.501", radius=1500,
          query="charger") [near]
          {"places": [{"name": "Old Mill", "lon": 13.4,
          "lat": 52.5, "open": false}, {"name": "Blue Bay",
          "location": "13.41,52.505", "open": true}]}
call      get_route(origin="13.402,52.501",
          destination="13.4,52.5") [error]
          "no such mode"
agent     Go to Old Mill, 2 Mill Lane. It is 400 m from you.

user      Thank you.

broken    open-now (hard constraint): The place is open at
          18:20
          said    “Old Mill”
          why     turn 1 says 'Old Mill', which is closed
          wanted  a place that is open
undecided near (preference): It is near
          said    “400 m”
          why     undecided: near what?
met       named (asked): A charger is named"""


def test_a_dialogue_is_shown_with_calls_and_labels():
    assert text(dialogue_lines(RUN, BROKEN, 60)) == DIALOGUE
    full = text(dialogue_lines(RUN, BROKEN, 60, full=True))
    assert "quoted    “Old Mill”, “400 m”" in full
    assert full.count("said ") == 3
