"""The comparison that documents are checked with can fail."""

import pytest
from shown_output import differs, refreshed, settled

REAL = "one\ntwo 2\nthree\nfour in 0.12s\n"


@pytest.mark.parametrize("shown", [REAL, "…\nthree\n…\n", "one\n…\nfour in …s\n", "…\ntwo …\nthree\nfour in 0.12s\n"])
def test_what_is_shown_as_it_is_passes(shown):
    assert differs(shown, REAL) == ""


@pytest.mark.parametrize(
    "shown",
    ["one\ntwo 3\n…\n", "…\nthree\ntwo 2\n…\n", "one\ntwo 2\n", "two 2\n…\n", "…\none\nthree\n…\n", "…\nfive\n"],
)
def test_what_is_not_there_in_this_order_is_told(shown):
    assert differs(shown, REAL)


@pytest.mark.parametrize("took", ["0.12s", "65.40s (0:01:05)"])
def test_how_long_a_run_took_does_not_matter(took):
    assert settled(f"==== 2 failed, 1 passed in {took} ======\n") == "=== 2 failed, 1 passed in …s ===\n"
    assert settled(f"2 passed in {took}\n") == "2 passed in …s\n"


@pytest.mark.parametrize("took", ["49 ms", "3.1 s", "12 min 5 s"])
def test_how_long_the_cases_took_does_not_matter(took):
    assert (
        settled(f"mapsat     PASSED   2 passed    {' ' * len(took)}2 cases, {took}\n")
        == "mapsat     PASSED   2 passed   2 cases, … s\n"
    )


def test_lines_are_refreshed_by_their_first_word():
    assert refreshed("…\ntwo 3\n…\nfour in …s\n", REAL.replace("2", "7")) == "…\ntwo 7\n…\nfour in 0.17s\n"
