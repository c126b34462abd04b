"""The order of cases of which every sample is the beginning: equal over one attribute, in proportion over the others, nested."""

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import Membership
from pytest_mapsat.runs.request import ordered
from pytest_mapsat.suite import CaseEntry

PATH = Path("cases.jsonl")


def entry(number: int, scenario: str = "", city: str = "", slot: str = "") -> CaseEntry:
    attributes = {"scenario": scenario, "city": city, "slot": slot}
    return CaseEntry(
        f"case-{number}", PATH, number, attributes={name: text for name, text in attributes.items() if text}
    )


#: Some cases: of each, which scenario, city and time slot; an empty one is not said.
suites = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from(["x", "y", "z", "w", ""]), st.sampled_from(["", "noon"])),
    min_size=1,
    max_size=80,
).map(lambda cells: [entry(number, *cell) for number, cell in enumerate(cells)])


def counts(entries: list[CaseEntry], *names: str) -> Counter[tuple[str, ...]]:
    return Counter(tuple(one.attributes.get(name, "") for name in names) for one in entries)


@given(suites)
def test_a_sample_of_any_size_is_equal_over_the_first_attribute(entries: list[CaseEntry]) -> None:
    there, order = counts(entries, "scenario"), ordered(entries, ("scenario", "city"))
    assert sorted(one.id for one in order) == sorted(one.id for one in entries)
    for size in range(1, len(order) + 1):
        drawn = counts(order[:size], "scenario")
        most = max(drawn.values())
        assert all(drawn[name] >= min(most - 1, there[name]) for name in there), (size, drawn, there)


@given(suites)
def test_a_sample_of_any_size_holds_the_share_of_each_city_rounded_up_or_down(entries: list[CaseEntry]) -> None:
    order = ordered(entries, ("scenario", "city", "slot"))
    for scenario in "ABC":
        of_one = [one for one in order if one.attributes["scenario"] == scenario]
        there = counts(of_one, "city", "slot")
        for size in range(len(of_one) + 1):
            drawn = counts(of_one[:size], "city", "slot")
            assert all(abs(drawn[cell] - Fraction(size * there[cell], len(of_one))) < 1 for cell in there)


@given(suites, st.integers(0, 3), st.randoms())
def test_the_order_depends_on_ids_and_seed_alone(entries: list[CaseEntry], seed: int, chance: random.Random) -> None:
    shuffled = list(entries)
    chance.shuffle(shuffled)
    for by in ((), ("scenario",), ("city", "scenario")):
        assert ordered(shuffled, by, seed) == ordered(entries, by, seed)


def test_other_seeds_draw_other_cases_and_every_case_alike() -> None:
    entries = [entry(number, "A", "xy"[number % 2]) for number in range(40)]
    drawn = Counter(one.id for seed in range(400) for one in ordered(entries, ("scenario", "city"), seed)[:10])
    assert set(drawn) == {one.id for one in entries}
    assert 60 < min(drawn.values()) <= max(drawn.values()) < 145  # 100 expected, of which 8.7 is one deviation
    assert ordered(entries, (), 1)[:10] != ordered(entries, (), 2)[:10]


def test_domains_difficulty_language_and_group_are_attributes_too() -> None:
    week = Membership(name="week", order=0)
    entries = [
        CaseEntry(
            f"c{number}", PATH, number, ("b", "a") if number else ("a",), "L1", "en", group=week if number else None
        )
        for number in range(9)
    ]
    for name in ("domain", "group"):
        assert "c0" in [one.id for one in ordered(entries, (name,))[:2]], f"one of each {name} comes first"
    own = CaseEntry("own", PATH, 9, difficulty="L1", attributes={"difficulty": "steep"})
    assert own in ordered([*entries, own], ("difficulty",))[:2], "an attribute of that name comes before the field"
