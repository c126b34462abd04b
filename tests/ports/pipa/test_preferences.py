"""The paired preference study of PIPA, 5.1 and D: counts, the exact binomial test, reasons."""

import json
import os
import subprocess
import sys

import pytest

from pytest_mapsat.model import SuiteError
from pytest_mapsat.ports.pipa.preferences import Choice, binomial_p, read_choices, study

PAIR = ("gpt-4o-mini", "mistral-large")


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (5, 1), (30, 12), (12, 30), (24, 24), (48, 0), (600, 500)])
def test_the_binomial_test_is_that_of_scipy(counts):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(counts[0], sum(counts)).pvalue if sum(counts) else 1.0
    assert binomial_p(*counts) == pytest.approx(expected)


def test_five_to_one_is_worked_out_by_hand():
    assert binomial_p(5, 1) == 2 * (1 + 6) / 64


def choices(*preferred, **more):
    return [Choice(between=PAIR, prefers=agent, by="p1, a person", **more) for agent in preferred]


def test_no_preference_is_left_out_of_the_test_and_reasons_are_counted():
    lines = list(study([*choices(*[PAIR[0]] * 5, "none", "none", why=("concise",)), *choices(PAIR[1])]))
    assert lines == [
        "gpt-4o-mini 5, mistral-large 1, none 2; p = 0.219",
        "  by: p1, a person 8",
        "  concise: 7",
    ]


def test_the_order_of_two_agents_does_not_matter():
    swapped = Choice(between=PAIR[::-1], prefers=PAIR[0], by="m, a large language model")
    assert next(study([swapped, *choices(PAIR[0])])).startswith("gpt-4o-mini 2, mistral-large 0")


def test_a_line_that_is_no_choice_is_refused_with_its_place(tmp_path):
    path = tmp_path / "choices.jsonl"
    good = {"between": PAIR, "prefers": "none", "by": "p1"}
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | {"prefers": "gpt-5"}) + "\n")
    with pytest.raises(
        SuiteError, match=r"choices\.jsonl:2: .*prefers is 'gpt-5', expected gpt-4o-mini or mistral-large, or none"
    ):
        list(read_choices(path))


def test_the_study_is_printed_by_the_module(tmp_path):
    path = tmp_path / "choices.jsonl"
    path.write_text(json.dumps({"between": PAIR, "prefers": PAIR[1], "by": "p1"}) + "\n")
    command = [sys.executable, "-m", "pytest_mapsat.ports.pipa.preferences"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.splitlines()[0] == "gpt-4o-mini 0, mistral-large 1, none 0; p = 1"
    assert subprocess.run(command, capture_output=True, env=os.environ, check=False).returncode == 1
