"""``mapsat build city DEST --cases N``: cases whose needs hide behind their queries, and of which the first thing found fails one."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.judges import ChecksJudge
from pytest_mapsat.making import BuildRequest
from pytest_mapsat.making.city.places import meets, metres_between
from pytest_mapsat.making.city.plans import kinds, minutes_of, plan_data, schedule
from pytest_mapsat.making.city.suite import briefs_of, build_suite, fits, scenes_of, wordings
from pytest_mapsat.making.worlds import Draws
from pytest_mapsat.model import SuiteError, UsageError
from pytest_mapsat.proof.oracles import play_oracle
from pytest_mapsat.suite import lint, open_suite

BENCHMARK = Path(__file__).parents[2] / "benchmark_500"
#: Of each of 30 kinds of plans one case.
SMALL = BuildRequest(seed=3, cases=30)


@pytest.fixture(scope="module")
def scenes():
    return scenes_of(BuildRequest(seed=11, cases=250))[1]


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    """A file with a query for every third case."""
    path = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    goals = {scene.id: scene.goal.get("name", "") for scene in scenes_of(SMALL)[1]}
    written = [
        {"case": brief["case"], "query": f"Question {number} of mine {goals[brief['case']]}?"}
        for number, brief in enumerate(briefs_of(SMALL, 10))
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in written), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory, queries):
    dest = tmp_path_factory.mktemp("suites") / "fresh"
    assert main(["build", "city", str(dest), "--seed", "3", "--cases", "30", "--queries", str(queries)]) == 0
    return dest


@pytest.fixture(scope="module")
def cases(built):
    return cases_of(built)


def cases_of(suite):
    paths = [path for path in sorted(suite.glob("*/*.jsonl")) if path.parent.name != "state"]
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def telling(suite):
    """Return the queries that name what their case hides, by case; the names of places apart, such as that of the children's hospital."""
    names = [json.loads(line)["name"] for line in (suite / "state" / "places.jsonl").read_bytes().splitlines()]
    found = {}
    for case in cases_of(suite):
        query = case["visible"]["query"]
        for name in (name for name in names if name in query):
            query = query.replace(name, "")
        if words := named_in(query, case["language"], hidden_in(case)):
            found[case["id"]] = words
    return found


def hidden_in(case):
    """Return the keys of the needs that a case hides."""
    ids = [part["id"].replace("-", "_") for part in case["truth"]["requirements"] if part["kind"] in ("hard", "soft")]
    return [name for name in ids if name in plan_data()["needs"]]


def named_in(text, language, needs):
    """Return the words of needs that stand in a text."""
    words = [word for need in needs for word in plan_data()["needs"][need]["words"][language]]
    if language == "zh":
        return [word for word in words if word in text]
    return [word for word in words if re.search(rf"\b{re.escape(word)}", text.lower())]


def test_500_cases_are_in_the_papers_proportions_and_half_chinese():
    planned = list(schedule(500, ("zh", "en")))
    domains = Counter(domain for kind, _, _ in planned for domain in kind.domains)
    assert (len(planned), domains["search"], domains["navigation"], len(domains)) == (500, 388, 363, 6)
    assert Counter(language for _, _, language in planned) == {"zh": 250, "en": 250}
    assert len(kinds()) >= 20
    assert max(Counter(kind.name for kind, _, _ in planned).values()) <= 30
    assert all(len(list(schedule(count, ("zh", "en")))) == count for count in (1, 29, 100, 499))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_kind_has_eight_wordings_and_each_thing_asked_beside_has_some(language):
    told = wordings(language)
    texts = [text for kind in kinds() for name in ("queries", "ordered") for text in told[kind].get(name, ())]
    assert len({*texts}) == len(texts)
    assert all(len(told[kind]["queries"]) >= 8 for kind in kinds())
    assert all(len({*tails}) >= 4 for tails in told["tails"].values())


def test_no_set_of_hidden_needs_is_that_of_more_than_one_in_a_hundred_cases(scenes):
    sets = Counter(frozenset((*(need.name for need in scene.needs), scene.tell)) for scene in scenes)
    assert max(sets.values()) <= len(scenes) / 100
    assert {len(scene.needs) for scene in scenes} == {2, 3, 4}


def test_each_case_has_a_hard_need_and_is_known_from_the_profile_and_from_elsewhere(scenes):
    for scene in scenes:
        sources = {need.source for need in scene.needs}
        assert scene.needs[0].hard
        assert "profile" in sources
        assert sources & {"context", "environment"}
    hard = Counter(need.name for scene in scenes for need in scene.needs if need.hard)
    assert hard["step_free"] < len(scenes) / 5
    assert len(hard) >= 50


def test_every_other_option_fails_one_need_alone_and_the_first_the_weightiest(scenes):
    for scene in scenes:
        failed = [fails for _, fails in scene.options]
        assert failed.count(()) == 1
        assert failed[0][0] == scene.needs[0].name
        assert len(failed) >= 4
        assert {len(fails) for fails in failed[1:]} == {0, 1}
        assert {name for fails in failed for name in fails} == {need.name for need in scene.needs}
        for row, fails in scene.options:
            shown = {need.name for need in scene.needs if need.column in row}
            unmet = {need.name for need in scene.needs if need.column in row and not meets(row, need.where)}
            assert unmet == shown & {*fails}


def test_no_user_has_two_reasons_that_contradict_each_other(scenes):
    reasons = plan_data()["reasons"]
    assert all({*reason.get("not_with", ())} <= reasons.keys() for reason in reasons.values())
    for scene in scenes:
        whys = {why for why, reason in reasons.items() if any(need.reason is reason for need in scene.needs)}
        assert [why for why in whys if whys & {*reasons[why].get("not_with", ())}] == []


def test_a_bus_that_is_there_in_time_is_so_with_the_wait_and_any_other_is_clearly_late(scenes):
    lines = [(scene, need) for scene in scenes for need in scene.needs if need.name == "short_ride"]
    assert lines
    for scene, need in lines:
        left = (minutes_of(need.limit) - scene.minute) % (24 * 60)
        for row, fails in scene.options:
            times = [int(hour) * 60 + int(minute) for hour, at in row["times"].items() for minute in at]
            waits = [time - scene.minute for time in sorted(times) if time >= scene.minute]
            if "still_runs" in fails:
                assert waits == []
            elif "short_ride" in fails:
                assert waits[0] + row["ride_min"] > left + 5
            else:
                assert row["walk_to_stop_min"] < waits[0] <= left - row["ride_min"]


def test_no_place_has_a_queue_or_a_wait_of_days_except_where_that_is_the_need(scenes):
    for scene in scenes:
        about = {need.column for need in scene.needs}
        for row, _ in scene.options:
            assert "queue_min" in about or row.get("queue_min", 0) <= 10
            assert "wait_days" in about or row.get("wait_days", 0) == 0
            assert scene.kind.sort not in ("supermarket", "post_office", "pharmacy") or row.get("queue_min", 0) <= 25


def test_a_ride_is_called_by_what_it_holds(scenes):
    names = {name: size for sizes in plan_data()["vehicles"].values() for size, of in sizes.items() for name in of}
    rows = [row for scene in scenes if scene.kind.family == "ride" for row, _ in scene.options]
    assert {names[row["kind"]] for row in rows} == {"large", "long", "small"}
    for row in rows:
        assert (row["seats"] >= 6) == (names[row["kind"]] == "large")
        assert names[row["kind"]] != "small" or row["bags"] <= 3


def test_the_options_of_a_place_stand_nearer_than_what_else_there_is(scenes):
    for scene in scenes:
        if scene.kind.family != "place":
            continue
        kind = scene.options[0][0]["kind"]
        away = {
            row["id"]: metres_between(scene.here, (row["lon"], row["lat"]))
            for row in scene.world.tables["places"]
            if row["kind"] == kind and row["city"] == scene.town.name
        }
        assert min(away, key=away.__getitem__) == scene.options[0][0]["id"]
        at = [fails for _, fails in scene.options].index(())
        assert at >= 2
        assert all(row["rating"] > scene.right["rating"] for row, _ in scene.options[at + 1 :])


def test_a_fresh_suite_lints_without_a_word_and_its_oracle_meets_all(built):
    suite = open_suite(built)
    assert [
        f"{finding.problem.line}: {finding.problem.message}" for finding in lint(suite) if finding.severity != "note"
    ] == []


def test_each_case_hides_two_to_four_needs_and_checks_them_by_attributes(cases):
    assert len(cases) == 30
    assert len({case["attributes"]["kind"] for case in cases}) == 30
    assert {"search", "navigation", "itinerary", "realtime", "ride_hailing", "local_services"} == {
        domain for case in cases for domain in case["domains"]
    }
    for case in cases:
        hidden = [part for part in case["truth"]["requirements"] if part["kind"] in ("hard", "soft")]
        assert 2 <= len(hidden) <= 4
        assert hidden[0]["kind"] == "hard"
        assert all(part["check"] and part["evidence"] for part in hidden)
        assert not {"any_of", "none_of", "all_of"} & set(re.findall(r"\w+", json.dumps(hidden)))
    assert len({case["visible"]["query"] for case in cases}) == 30
    assert len({case["visible"]["context"]["uid"] for case in cases}) == 30


@pytest.mark.parametrize("suite", ["fresh", "benchmark_500"])
def test_a_soft_habit_is_kept_in_six_of_ten_choices_at_least(suite, built):
    folder = built if suite == "fresh" else BENCHMARK
    soft = [part for case in cases_of(folder) for part in case["truth"]["requirements"] if part["kind"] == "soft"]
    counts = [(proof["count"], proof["total"]) for part in soft for proof in part["evidence"] if "count" in proof]
    assert counts
    assert [pair for pair in counts if pair[0] < 0.6 * pair[1]] == []
    assert sum(part["id"].startswith("tells-") for part in soft) <= len(soft) / 5


@pytest.mark.parametrize("suite", ["fresh", "benchmark_500"])
def test_no_query_names_what_its_case_hides_or_is_anothers_twin(suite, built):
    folder = built if suite == "fresh" else BENCHMARK
    assert telling(folder) == {}
    queries = [re.sub(r"\W", "", case["visible"]["query"].lower()) for case in cases_of(folder)]
    assert [query for query, times in Counter(queries).items() if times > 1] == []


def test_queries_of_a_file_stand_in_their_cases_and_are_told_apart(cases):
    kept = [case for case in cases if case["attributes"]["query"] == "written"]
    assert len(kept) == 10
    assert all(re.fullmatch(r"Question \d of mine .*\?", case["visible"]["query"]) for case in kept)
    assert {case["attributes"]["query"] for case in cases} == {"written", "worded"}


def test_a_brief_tells_nothing_of_what_is_hidden(scenes):
    briefs = list(briefs_of(BuildRequest(seed=11, cases=250), 75))
    by_id = {scene.id: scene for scene in scenes}
    assert len(briefs) == 75
    assert {brief["language"] for brief in briefs} == {"en", "zh"}
    for brief in briefs:
        scene = by_id[brief["case"]]
        assert set(brief) == {"case", "language", "situation"}
        told = brief["situation"].replace(scene.spot, "").replace(scene.goal.get("name", scene.spot), "")
        assert [
            need.name
            for need in scene.needs
            if any(need.remark(Draws(at)) in told for at in range(3) if need.remark(Draws(at)))
        ] == []
        assert scene.spot in brief["situation"]
        assert scene.right.get("name", "none at all") not in brief["situation"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"case": "charger-01"', "queries.jsonl:2: "),
        ('{"case": "charger-01"}', "query: is missing"),
        ('{"case": "nowhere-01", "query": "Where else?"}', "case 'nowhere-01' is none of the suite"),
        ('{"case": "charger-01", "query": "Again?"}', "case 'charger-01' stands twice"),
        ('{"case": "car-park-01", "query": "Where?"}', "the query of case 'car-park-01' stands twice"),
    ],
)
def test_a_bad_line_of_queries_is_refused_with_its_place(tmp_path, line, message):
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"case": "charger-01", "query": "Where?"}}\n{line}\n', encoding="utf-8")
    (dest := tmp_path / "suite").mkdir()
    with pytest.raises((UsageError, SuiteError)) as refused:
        build_suite(BuildRequest(seed=3, cases=30, queries=path), dest)
    assert message in str(refused.value)
    assert list(dest.iterdir()) == []


@pytest.mark.parametrize("count", [0, 5000])
def test_an_impossible_number_of_cases_is_refused(tmp_path, count):
    with pytest.raises(UsageError, match="expected 1 to 1000"):
        build_suite(BuildRequest(cases=count), tmp_path)


@pytest.mark.long_proof
def test_the_suite_of_500_cases_is_what_its_seed_gives(tmp_path):
    kept = BENCHMARK
    build_suite(BuildRequest(seed=500, cases=500, queries=kept.parent / "benchmarks" / "queries_500.jsonl"), tmp_path)
    made = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    beside = {"README.md", "CARD.md", "data/readings.yaml"}
    files = {path.relative_to(kept).as_posix(): path for path in kept.rglob("*") if path.is_file()}
    assert files.keys() - beside == made.keys()
    assert [name for name, data in made.items() if files[name].read_bytes() != data] == []


def test_the_suite_of_500_cases_is_none_of_pytests_own_and_small():
    root = BENCHMARK.parent
    assert tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"][
        "testpaths"
    ] == ["tests"]
    files = [path for path in BENCHMARK.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 20_000_000
    suite = open_suite(BENCHMARK)
    entries = [entry for path in suite.files() for entry in suite.entries(path)]
    assert Counter(entry.language for entry in entries) == {"zh": 250, "en": 250}
    assert Counter(domain for entry in entries for domain in entry.domains)["search"] == 388
    assert suite.manifest.cluster == "kind"
    assert Counter(entry.attributes["query"] for entry in entries) == {"written": 330, "worded": 170}


def test_the_second_place_first_breaks_the_order_that_a_query_asks_for(tmp_path):
    build_suite(BuildRequest(seed=3, cases=120, language="en"), tmp_path)
    suite = open_suite(tmp_path)
    judge = ChecksJudge(suite.tools, suite.vocabulary, suite=suite)
    cases = [suite.load(entry) for entry in suite.accepted() if entry.attributes["kind"].startswith("outing")]
    ordered = [case for case in cases if any(part.id == "order" for part in case.truth.asked)]
    assert ordered
    for case in ordered:
        oracle = play_oracle(case, suite)
        first, second = re.match(r"First go to (.+?), .* Then go on to (.+);", oracle.turns[1].text).groups()
        turned = oracle.turns[1].model_copy(update={"text": f"First go to {second}. Then go on to {first}."})
        told = (oracle, oracle.model_copy(update={"turns": (oracle.turns[0], turned)}))
        labels = [{label.requirement: label.value for label in judge.judge(case, one).labels} for one in told]
        assert [values["order"] for values in labels] == [1, 0]


@pytest.mark.parametrize(("language", "second_leg"), [("en", r"(?:Then go on to|, and then).*$"), ("zh", "再.*$")])
def test_an_outing_is_answered_by_both_walks_and_not_by_one(tmp_path, language, second_leg):
    build_suite(BuildRequest(seed=3, cases=60, language=language), tmp_path)
    suite = open_suite(tmp_path)
    judge = ChecksJudge(suite.tools, suite.vocabulary, suite=suite)
    cases = [suite.load(entry) for entry in suite.accepted() if entry.attributes["kind"].startswith("outing")]
    assert any(any(part.id == "walks" for part in case.truth.asked) for case in cases)
    for case in (case for case in cases if any(part.id == "walks" for part in case.truth.asked)):
        oracle = play_oracle(case, suite)
        one = oracle.turns[1].model_copy(update={"text": re.sub(second_leg, ".", oracle.turns[1].text)})
        told = (oracle, oracle.model_copy(update={"turns": (oracle.turns[0], one)}))
        labels = [{label.requirement: label.value for label in judge.judge(case, run).labels} for run in told]
        assert [values["walks"] for values in labels] == [1, 0]


def test_a_written_query_that_tells_too_much_or_asks_for_more_gives_way_to_a_wording(tmp_path):
    scenes = [
        scene for scene in scenes_of(SMALL)[1] if (scene.language, scene.kind.family, scene.goal) == ("en", "place", {})
    ]
    written = {}
    for scene, more in zip(
        scenes, ("{words}, you know.", "First this, then a pub.", "Which road do I take?"), strict=False
    ):
        words = " ".join(plan_data()["needs"][name]["words"]["en"][0] for name in scene.kind.needs)
        kept = f"Anything you would pick near {scene.spot}?"
        assert fits(kept, scene)
        written[scene.id] = f"{kept} {more.format(words=words)}"
        assert not fits(written[scene.id], scene)
    assert len(written) == 3
    path = tmp_path / "queries.jsonl"
    lines = (json.dumps({"case": name, "query": query}) for name, query in written.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (dest := tmp_path / "suite").mkdir()
    build_suite(BuildRequest(seed=3, cases=30, queries=path), dest)
    cases = {case["id"]: case for case in cases_of(dest)}
    for name, query in written.items():
        assert (cases[name]["visible"]["query"] == query, cases[name]["attributes"]["query"]) == (False, "worded")


def test_a_written_query_that_goes_elsewhere_gives_way_too():
    scene = next(scene for scene in scenes_of(SMALL)[1] if scene.kind.name == "walk")
    assert fits(f"{scene.goal['name']} — which road do I take?", scene)
    assert not fits("Which road do I take?", scene)
