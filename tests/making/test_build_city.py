"""``mapsat build city``: a suite of the starter suite's tools over a made-up city, and the log of what people did there."""

import errno
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.making import city
from pytest_mapsat.making.city import people_of
from pytest_mapsat.making.city.places import world_of
from pytest_mapsat.model import Case
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import lint, open_suite

#: Which Python, which machine and which locale builds a city has no part in its bytes: this is what all of them write.
DIGEST = "2929c44180b5bd6055d2639bf28bc8b1e9968d8e1ce90c73b5d98af9fac7ff86"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    dest = tmp_path_factory.mktemp("worlds") / "city"
    assert main(["build", "city", str(dest), "--seed", "7", "--each", "2"]) == 0
    return dest


@pytest.fixture(scope="module")
def sandboxes(built, world):
    """The sandbox of a case in each town, at its second centre, by language."""
    suite = open_suite(built)

    def sandbox(town):
        centre = town.centres[1]
        location = {"lon": centre.lon, "lat": centre.lat, "name": centre.name}
        uid = next(person.uid for person in people_of(world, 1) if person.events[0]["city"] == town.name)
        context = {"now": "2026-05-09T18:10:00+08:00", "city": town.name, "uid": uid, "location": location}
        return make_sandbox(
            Case.model_validate({"id": "c", "visible": {"query": "?", "context": context}, "truth": {}}), suite
        )

    return {town.language: sandbox(town) for town in world.towns}


def rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def ways_of(world, origin, destination, mode):
    """Return the ways between two places, the quickest first."""
    ends = {f"{row['lon']},{row['lat']}" for row in map(world.place, (origin, destination))}
    rows = [row for row in world.tables["ways"] if row["mode"] == mode and {row["from"], row["to"]} == ends]
    return sorted(rows, key=lambda row: row["duration_min"])


def lines_of(world, origin, destination):
    stops = {row["alias"][0]: [row["id"]] for row in world.tables["stops"]}
    ends = stops[origin], stops[destination]
    return [row for row in world.tables["lines"] if (row["from"], row["to"]) == ends]


def digest(folder):
    """Return the digest of all but what comes from the starter suite, whose tools and words may change."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.parent.name != "tools" and path.stem not in {"words", "road_words"}:
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def test_the_city_is_a_suite_of_twelve_tools_that_lacks_nothing_but_cases(built):
    suite = open_suite(built)
    assert len(suite.tools) == 12
    assert [finding.rule for finding in lint(suite)] == ["empty"]


def test_a_seed_gives_the_same_bytes_under_any_hash_seed_and_locale(built, tmp_path):
    environment = {**os.environ, "PYTHONHASHSEED": "3", "LC_ALL": "C", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "pytest_mapsat", "build", "city", "again", "--seed", "7", "--each", "2"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert digest(tmp_path / "again") == digest(built) == DIGEST


def test_a_wheel_has_the_tools_and_words_that_a_checkout_reads_from_the_starter_suite():
    root = Path(city.__file__).parents[3]
    built = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    home = Path(city.__file__).relative_to(root).parent / "starter"
    assert {Path(source): Path(dest) for source, dest in built["force-include"].items()} == {
        Path("examples", "starts"): Path("pytest_mapsat", "starts"),
        **{
            Path("benchmark_cases", *parts): home.joinpath(*parts)
            for parts in (("tools",), ("state", "words.jsonl"), ("state", "road_words.jsonl"))
        },
    }


def test_another_seed_gives_another_city(world):
    other = world_of(8, towns=1, language="en")
    assert other.towns[0].language == "en"
    assert not {row["id"] for row in other.tables["places"]} & {row["id"] for row in world.tables["places"]}


def test_the_plain_words_for_a_sort_find_all_of_its_places_near_a_centre_and_no_others(world, sandboxes):
    for town in world.towns:
        centre = town.centres[1]
        for sort in town.sorts.values():
            for query in (
                sort.kind,
                sort.dimension,
                {"en": f"nearest {sort.kind}", "zh": f"附近的{sort.kind}"}[town.language],
            ):
                found = sandboxes[town.language].call(
                    "search_nearby", {"query": query, "lon": centre.lon, "lat": centre.lat, "radius_m": 2050}
                )
                found = found.result["places"]
                assert {row["kind"] for row in found} == {sort.kind}, query
                assert set(world.group(centre, sort.name).ids) <= {row["id"] for row in found}, query


def test_every_trait_of_a_place_is_shown_by_its_details(world, sandboxes):
    for town in world.towns:
        for sort in town.sorts:
            group = world.group(town.centres[1], sort)
            for place in group.ids[:1]:
                details = sandboxes[town.language].call("place_details", {"place_id": place}).result
                for trait in group.traits.values():
                    assert trait.holds(details) == trait.holds(world.place(place))


def test_ways_with_tolls_and_steps_lead_to_the_landmarks_as_the_tables_say(world, sandboxes):
    for town in world.towns:
        for landmark in town.landmarks.values():
            ways = ways_of(world, town.centres[1].id, landmark, "driving")
            ends = {"origin": town.centres[1].id, "destination": landmark, "mode": "driving"}
            routes = sandboxes[town.language].call("get_route", ends).result["routes"]
            assert [route["via"] for route in routes[: len(ways)]] == [way["via"] for way in ways]
            assert routes[0]["toll_yuan"] > 0 == routes[1]["toll_yuan"] == routes[2]["toll_yuan"]
            free = sandboxes[town.language].call("get_route", {**ends, "avoid_tolls": True}).result["routes"]
            assert free[0]["via"] == routes[1]["via"]
            traffic = sandboxes[town.language].call("get_traffic", {"road": routes[0]["via"]}).result
            assert traffic["status"] in {"clear", "slow", "closed", "畅通", "缓行", "封闭"}
            assert (
                len(
                    sandboxes[town.language]
                    .call("get_ride_estimate", {"origin": ends["origin"], "destination": landmark})
                    .result["options"]
                )
                == 8
            )
        steep = world.group(town.centres[1], "viewpoint").ids
        walks = [ways_of(world, town.centres[1].id, place, "walking") for place in steep]
        assert all(len(ways) in (0, 3) for ways in walks)
        for ways in filter(None, walks):
            assert ways[0]["steps"] > 0 == ways[1]["steps"]


def test_lines_run_from_a_centre_to_every_landmark_and_tell_their_last_departure(world, sandboxes):
    for town in world.towns:
        for landmark in town.landmarks.values():
            told = sandboxes[town.language].call(
                "get_transit_lines", {"origin": town.centres[1].name, "destination": landmark}
            )
            lines = told.result["lines"]
            assert [line["line"] for line in lines] == [
                row["line"] for row in lines_of(world, town.centres[1].id, landmark)
            ]
            assert len(lines) == 3
            assert all(line["next"] for line in lines[:2])


def test_every_day_of_the_year_has_its_weather_and_every_third_some_rain(world, sandboxes):
    rain = Counter(any(part["rain"] for part in row["hours"]) for row in world.tables["weather"])
    assert rain.total() == 2 * 365
    assert 200 < rain[True] < 450
    assert sandboxes["zh"].call("get_weather", {"date": "2026-12-31"}).result["city"] == world.towns[0].name


def test_the_log_is_what_the_profile_and_the_activities_say(built, world):
    events, people = rows(built / "data" / "logs" / "events.jsonl"), list(people_of(world, 2))
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert Counter(event["user"] for event in events) == {person.uid: len(person.events) for person in people}
    assert rows(built / "state" / "activities.jsonl") == [person.activity for person in people]
    assert rows(built / "data" / "logs" / "users.jsonl") == [person.profile for person in people]
    for person in people:
        drifted = person.activity["habits"][:2]
        assert drifted[0]["early"] > drifted[0]["late"], "one habit has given way to another"
        assert drifted[1]["early"] < drifted[1]["late"]


def test_a_catalogue_has_no_telephone_numbers_or_addresses(built):
    listed = rows(built / "data" / "logs" / "places.jsonl")
    assert not {"phone", "address"} & {name for row in listed for name in row}
    assert len(listed) == len(rows(built / "state" / "places.jsonl"))


def test_the_first_people_are_the_same_however_many_there_are(world):
    few, more = list(people_of(world, 1)), list(people_of(world, 2))
    assert few == [more[0], more[2]]


def test_a_suite_keeps_its_tools_and_no_table_is_overwritten(tmp_path, capsys):
    (tmp_path / "suite.yaml").write_text("name: mine\n")
    (tmp_path / "tools.yaml").write_text("[]\n")
    command = ["build", "city", str(tmp_path), "--cities", "1", "--each", "1", "--language", "en"]
    assert main(command) == 0
    assert not (tmp_path / "tools").exists()
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err


def test_a_full_disk_leaves_no_half_of_a_city(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "places.jsonl")

    (tmp_path / "suite.yaml").write_text("name: mine\n")
    with monkeypatch.context() as patched:
        patched.setattr("pytest_mapsat.formats.files.replacing", full)
        assert main(["build", "city", str(tmp_path), "--cities", "1", "--each", "1"]) == 2
    assert "cannot be written: No space left" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["suite.yaml"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--cities", "31"], "--cities: found 31, expected 1 to 30"),
        (["--each", "0"], "--each: found 0, expected 1 to 500"),
    ],
)
def test_what_cannot_be_built_is_told_and_leaves_nothing(arguments, told, tmp_path, capsys):
    assert main(["build", "city", str(tmp_path / "dest"), *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
