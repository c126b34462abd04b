"""Which requirements a change makes false, told from the checks and plain readings alone."""

from typing import get_args

import pytest
from oracle_runs import CHINESE, ENGLISH, oracle_run, requirement

from pytest_mapsat.model.checks import Unit
from pytest_mapsat.proof.plain import Mutant, violated
from pytest_mapsat.proof.plain_texts import UNITS

BOUND = {"op": "bound", "tool": "route"}
WALK = {"kind": "number", "unit": "min", "near": ["walk", "步行"], "equals": {**BOUND, "path": "minutes"}}
LENGTH = {"kind": "number", "unit": "m", "equals": {**BOUND, "path": "metres"}}
RATED = {"kind": "recommends", "only": True, "where": {"rating": {"op": "between", "min": 4}}}


def broken(check, old, new, *, say=ENGLISH, **fields):
    """The requirements that replacing words breaks."""
    run = oracle_run(requirement(check), say=say, **fields)
    assert run.labels["z"].outcome == "passed", run.labels["z"].why
    return violated(run, Mutant("", run.saying(say.replace(old, new))))


def test_figures_of_every_unit_that_a_check_may_have_are_read():
    assert set(get_args(Unit)) <= set(UNITS)


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        ({"kind": "says", "any": ["quiet room"]}, "a quiet room", "a terrace"),
        ({"kind": "says", "all": ["Cafe Luna", "quiet"]}, "quiet", "loud"),
        ({"kind": "says", "none": ["terrace"]}, "quiet room", "terrace"),
        ({"kind": "recommends", "all_of": [["Cafe Luna"]]}, "Cafe Luna", "Old Mill"),
        (RATED, "Cafe Luna", "Old Mill"),
        ({"kind": "recommends", "none_of": ["Red Door"]}, "Cafe Luna", "Red Door"),
        (WALK, "10 min", "12 min"),
        (LENGTH, "1.5 km", "1.8 km"),
        ({"kind": "clock_time", "before": "11:00"}, "10:30", "11:30"),
        ({"kind": "clock_time", "equals": {**BOUND, "path": "leaves.*"}}, "10:30", "09:30"),
        ({"kind": "asked", "at_most": 0}, "It has", "Is that fine? It has"),
        ({"kind": "all", "checks": [WALK, RATED]}, "10 min", "8 min"),
        ({"kind": "any", "checks": [WALK, {"kind": "says", "any": ["bus"], "about": ["bus"]}]}, "10 min", "8 min"),
        ({"kind": "not", "check": {"kind": "says", "any": ["terrace"], "about": ["terrace"]}}, "quiet room", "terrace"),
    ],
)
def test_a_change_that_breaks_the_check_is_wrong(check, old, new):
    assert broken(check, old, new) == ("z",)


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        ({"kind": "says", "any": ["quiet room"]}, "10 min", "12 min"),
        ({"kind": "says", "any": ["quiet", "loud"]}, "quiet", "loud"),
        (WALK, "1.5 km", "1.8 km"),
        (LENGTH, "1.5 km", "1500 m"),
        ({"kind": "clock_time", "before": "12:00"}, "10:30", "11:30"),
        (RATED, "It has", "Happily it has"),
        ({"kind": "any", "checks": [WALK, RATED]}, "10 min", "12 min"),
        ({"kind": "calls", "tool": "route"}, "Cafe Luna", "Old Mill"),
    ],
)
def test_a_change_that_no_check_speaks_of_is_not(check, old, new):
    assert broken(check, old, new) == ()


def test_chinese_is_read_too():
    assert broken(WALK, "10分钟", "12分钟", say=CHINESE) == ("z",)
    assert broken({"kind": "says", "any": ["安静"]}, "安静", "热闹", say="这家店很安静。") == ("z",)


def test_what_the_oracle_does_not_hold_cannot_be_broken():
    run = oracle_run(requirement({"kind": "says", "any": ["bus"]}))
    assert violated(run, Mutant("", run.saying("Nothing."))) == ()


def test_a_level_that_falls_is_broken_and_one_that_stays_is_not():
    levels = [{"level": 1, "check": {"kind": "says", "any": ["quiet room"]}}, {"level": 0.5, "check": WALK}]
    run = oracle_run({"id": "z", "text": "z", "kind": "soft", "weight": 1, "levels": levels})
    assert violated(run, Mutant("", run.saying(ENGLISH.replace("quiet", "loud")))) == ("z",)
    assert violated(run, Mutant("", run.saying(f"{ENGLISH} Enjoy."))) == ()


def test_a_fact_breaks_where_one_of_its_figures_strays_though_another_agrees():
    say = "It is a 10 min walk. The walk back takes 10 min."
    fact = {"id": "f", "text": "f", "check": {**WALK, "quantifier": "any"}}
    run = oracle_run(requirement({**WALK, "quantifier": "any"}), facts=[fact], say=say)
    assert violated(run, Mutant("", run.saying(say.replace("takes 10", "takes 12")))) == ("f",)


def test_nothing_is_concluded_where_the_plain_reading_differs_from_the_judge_on_the_oracle():
    # The judge hears the denial, the plain reading does not.
    run = oracle_run(requirement({"kind": "says", "none": ["stairs"]}), say="Cafe Luna has no stairs.")
    assert violated(run, Mutant("", run.saying("Cafe Luna has stairs, and stairs again."))) == ()


def test_what_was_never_known_breaks_groundedness_only_where_the_judge_can_tell():
    run = oracle_run(requirement({"kind": "grounded", "claims": ["phone"]}))
    mutant = Mutant("", run.saying(f"{ENGLISH} Ring 555-9768."))
    assert violated(run, mutant) == (("z",) if run.labels["z"].outcome == "passed" else ())
