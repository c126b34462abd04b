"""The importer against the published snapshot: every figure of it, a round trip, and the same bytes twice."""

from collections import Counter

import pytest
from tests_data import data_dir

from pytest_mapsat.ports.mapsatisfybench import import_mapsatisfybench
from pytest_mapsat.suite import lint, open_suite

RECORDINGS = {
    "fuel_payment": 4,
    "get_navigation": 706,
    "get_rgeo": 34,
    "get_route_traffic_info": 1,
    "get_sequential_navigation": 28,
    "get_taxi_route_plan": 2,
    "get_weather": 19,
    "optimize_visit_order": 25,
    "restaurant_group_buy": 1,
    "restaurant_reservation": 11,
    "route_station_info": 12,
    "search_around_poi": 273,
    "search_poi_along_route": 28,
    "search_poi_around_multipoints": 9,
    "search_products_by_poiid": 4,
    "search_train_or_flights_tickets": 14,
    "search_user_action_summary": 10,
    "search_user_profile": 10,
}
#: case: explicit, implicit, of these hard, clarification turns, expected tools, facts
CASES = {
    "44cc53": (3, 7, 3, 5, 4, 8),
    "601630": (2, 2, 0, 2, 3, 4),
    "715981": (2, 3, 0, 3, 3, 3),
    "f61d2f": (4, 3, 0, 5, 3, 3),
    "d3238e": (3, 3, 0, 3, 4, 3),
    "f5464f": (2, 1, 0, 1, 2, 3),
    "980f3e": (4, 2, 0, 2, 2, 2),
    "ed3470": (2, 6, 3, 5, 3, 4),
    "37f457": (2, 7, 6, 6, 2, 2),
    "63698b": (1, 7, 0, 5, 4, 3),
}


@pytest.fixture(scope="module")
def source():
    return data_dir() / "mapsatisfybench" / "upstream"


@pytest.fixture(scope="module")
def imported(source, tmp_path_factory):
    dest = tmp_path_factory.mktemp("published") / "suite"
    report = import_mapsatisfybench(source / "data", dest)
    return report, open_suite(dest)


@pytest.fixture(scope="module")
def cases(imported):
    _, suite = imported
    return [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]


def test_the_report_counts_everything(imported):
    report, _ = imported
    assert (report.cases, report.tools, report.recordings, report.orphans) == (10, 22, 1191, 1)
    assert report.recordings_by_tool == RECORDINGS
    assert report.not_carried == {"output files": 2, "vectors": 132}


def test_the_report_notes_what_is_odd(imported):
    report, _ = imported
    places = {
        kind: [note.place for note in report.notes if note.kind == kind]
        for kind in {note.kind for note in report.notes}
    }
    assert places.pop("orphan") == ["restaurant_group_buy"]
    assert len(places.pop("vectors")) == 4
    assert len(places.pop("history")) == 1
    assert places.pop("assumption") == ["time", "domains"]
    assert places.pop("outputs") == ["outputs"]
    assert places == {}, "nothing else is odd"


def test_lint_tells_what_is_odd_between_cases_tools_and_recordings(imported):
    _, suite = imported
    findings = lint(suite)
    rules = Counter(finding.rule for finding in findings)
    unanswered = sorted(
        finding.problem.message.split()[2] for finding in findings if finding.rule in {"no-recordings", "unused-tool"}
    )
    assert unanswered == ["ainative_kuake_search", "scenic_ticket_transaction", "search_poi", "transaction_service"]
    assert (rules["unknown-parameter"], rules["conflict"], rules["duplicate-recording"]) == (2, 198, 34)


def test_every_case_has_its_parts(cases):
    found = {
        case.id[:6]: (
            len(case.truth.asked),
            len(case.truth.implicit),
            len(case.truth.hard),
            case.truth.clarification.max_turns,
            len(case.truth.tools),
            len(case.truth.facts),
        )
        for case in cases
    }
    assert found == CASES
    assert [sum(column) for column in zip(*found.values(), strict=True)] == [25, 41, 12, 37, 30, 35]


def test_weights_and_evidence_are_kept(cases):
    weights = [requirement.weight for case in cases for requirement in case.truth.implicit]
    assert (min(weights), max(weights)) == (0.384, 1.2)
    assert sum(weight > 1 for weight in weights) == 17
    assert all(requirement.evidence[0].text for case in cases for requirement in case.truth.implicit)


def test_every_context_is_whole(cases):
    assert [
        len(case.visible.context.history)
        for case in sorted(cases, key=lambda case: case.id)
        if case.id.startswith("44cc53")
    ] == [42]
    for case in cases:
        seen = case.visible.context
        assert seen.now.endswith("+08:00")
        assert seen.location.name
        assert seen.history
        assert not any("\\" in sentence for sentence in seen.history), "unescaped"
        assert case.id not in case.visible.model_dump_json()
        assert case.language == "zh"


def test_recordings_are_served_to_their_cases_only(imported, cases):
    _, suite = imported
    served = Counter(recording.tool for case in cases for recording in suite.recordings(case.id))
    assert served == Counter(RECORDINGS) - Counter({"restaurant_group_buy": 1})
    for case in cases:
        users = [recording for recording in suite.recordings(case.id) if recording.tool.startswith("search_user")]
        assert [recording.arguments for recording in users] == [{"uid": case.visible.context.uid}] * 2
        assert all(recording.synonyms == {"uid": (case.id,)} for recording in users)
        assert all(isinstance(recording.result, str) for recording in users)


def test_all_results_but_those_of_the_user_tools_are_json(imported, cases):
    _, suite = imported
    texts = {
        recording.tool for case in cases for recording in suite.recordings(case.id) if isinstance(recording.result, str)
    }
    assert texts == {"search_user_action_summary", "search_user_profile"}


def test_the_suite_has_no_errors_and_says_its_licence(imported):
    _, suite = imported
    assert not [finding for finding in lint(suite) if finding.severity == "error"]
    manifest = suite.manifest
    assert (manifest.license, manifest.coordinates, manifest.language) == ("MIT", "gcj02", "zh")


def test_importing_twice_gives_the_same_bytes(source, imported, tmp_path):
    _, suite = imported
    import_mapsatisfybench(source, tmp_path / "again")
    for path in sorted(suite.root.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(suite.root)).read_bytes()
    assert open_suite(tmp_path / "again").fingerprint() == suite.fingerprint()
