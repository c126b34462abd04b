"""The shipped suite is whole: it loads, covers what it says, and every requirement can be judged and weighed."""

from collections import Counter

import pytest
from shipped_runs import CASES, ERRANDS, ROOT, SUITE

from pytest_mapsat.metrics import weight_of
from pytest_mapsat.suite import lint

DOMAINS = ("search", "navigation", "itinerary", "realtime", "ride_hailing", "local_services")

#: What this judge can judge by itself.
CHECKS = set(
    "says number clock_time recommends calls asked grounded all any at_least travels output not".split()  # noqa: SIM905  a list of words
)
MATCHES = set("equal one_of contains similar between within_m open_at bound present absent".split())  # noqa: SIM905  a list of words


def every_case(function):
    return pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))(function)


def test_it_has_nothing_to_lint():
    assert lint(SUITE) == []


def test_it_has_its_domains_and_a_case_of_each_language_in_each():
    assert tuple(SUITE.manifest.domains) == (*DOMAINS, "errands")
    found = {(domain, case.language) for case in CASES.values() for domain in case.domains}
    assert found == {(domain, language) for domain in DOMAINS for language in ("en", "zh")}


def test_half_of_the_cases_are_english_and_half_are_chinese():
    counts = Counter(case.language for case in CASES.values())
    assert counts["en"] == counts["zh"] == len(CASES) / 2
    assert len(CASES) >= 36


def test_every_domain_has_six_cases_or_more_of_its_own_in_both_languages():
    counts = Counter((case.domains[0], case.language) for case in CASES.values())
    assert all(counts[domain, "en"] + counts[domain, "zh"] >= 6 for domain in DOMAINS)
    assert all(counts[domain, language] >= 2 for domain in DOMAINS for language in ("en", "zh"))


def test_every_kind_of_check_and_of_match_is_in_use():
    found = {"kind": set(), "op": set()}
    for case in CASES.values():
        _collect(case.truth.model_dump(by_alias=True), found)
    assert found["kind"] >= CHECKS
    assert found["op"] == MATCHES
    recommended = {name for case in CASES.values() for name in _fields(case.truth.model_dump(by_alias=True))}
    assert recommended >= {"any_of", "none_of", "all_of", "in_order", "turned_down", "where", "only", "tool"}


def _fields(value):
    """Yield the fields of ``recommends`` that say something, wherever such checks are."""
    if isinstance(value, dict):
        if value.get("kind") == "recommends":
            yield from (name for name, given in value.items() if given)
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _fields(item)


def _collect(value, found):
    """Note what stands under the keys of ``found``, wherever they are."""
    if isinstance(value, dict):
        for key, names in found.items():
            if isinstance(value.get(key), str):
                names.add(value[key])
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _collect(item, found)


def test_its_difficulties_are_three_and_all_are_used():
    assert {case.difficulty for case in CASES.values()} == {"L1", "L2", "L3"}


def test_at_least_five_cases_need_a_question():
    asking = [case for case in CASES.values() if len(case.truth.oracle) > 1]
    assert len(asking) >= 5
    assert all(case.truth.clarification.max_turns > 0 and case.truth.user.answers for case in asking)
    assert {case.id for case in asking} == {c.id for c in CASES.values() if c.attributes["turns"] == "multi"}


def test_hard_and_soft_requirements_come_from_context_profile_and_environment():
    found = {(requirement.kind, requirement.source) for case in CASES.values() for requirement in case.truth.implicit}
    assert {(kind, source) for kind in ("hard", "soft") for source in ("context", "profile", "environment")} <= found


@every_case
def test_every_case_stands_in_the_folder_of_its_first_domain(case):
    folder = ROOT / "benchmark_cases" / case.domains[0]
    assert any(f"id: {case.id}\n" in path.read_text("utf-8") for path in folder.glob("*.yaml"))


@every_case
def test_every_requirement_has_a_check(case):
    assert all((case.truth.asked, case.truth.implicit, case.truth.facts))
    assert [f.id for f in case.truth.requirements if not f.leaves] == []


@every_case
def test_every_case_has_a_hard_constraint(case):
    assert case.truth.hard


@every_case
def test_every_weight_is_computed_from_evidence(case):
    for requirement in case.truth.implicit:
        assert requirement.weight is None
        assert all(one.text for one in requirement.evidence)
        assert 0 < weight_of(requirement) <= 1.5


@every_case
def test_every_fact_is_conditional(case):
    # What an answer does not state it cannot get wrong; the constant answer keeps all facts.
    for fact in case.truth.facts:
        told = fact.model_dump_json()
        words = ("nothing_claimed", '"says"', "grounded", "travels", '"not"')
        assert any(word in told for word in words)


@every_case
def test_every_expected_tool_has_required_parameters(case):
    assert case.truth.tools
    assert all(tool.required for tool in case.truth.tools)


def test_machine_rules_stand_on_expected_tools_of_most_cases():
    assert sum(any(tool.match for tool in case.truth.tools) for case in CASES.values()) >= 12


def test_every_tool_is_expected_somewhere():
    expected = {tool.name for case in CASES.values() for tool in case.truth.tools}
    called = {call.tool for case in ERRANDS.values() for turn in case.truth.oracle for call in turn.calls}
    assert expected | called == set(SUITE.tools)


@every_case
def test_the_language_of_a_case_is_that_of_its_texts(case):
    texts = [case.visible.query, case.truth.intent, *(requirement.text for requirement in case.truth.requirements)]
    for text in texts:
        assert any("\u4e00" <= char <= "\u9fff" for char in text) == (case.language == "zh"), text
