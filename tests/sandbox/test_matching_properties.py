"""What must hold for matching whatever the recordings are."""

from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from sandbox_samples import LAT, LON, around, east, farthest_m, north, places, recording, sandbox

from pytest_mapsat.model import distance_m

WORDS = ["咖啡", "奶茶", "特来电", "充电站", "海边", "Shell", "LNG", "24"]
METRES = st.lists(st.integers(1, 3000), max_size=8, unique=True).map(sorted)


@st.composite
def sandboxes(draw):
    """Recordings of a sandbox that tells the truth: lists sorted by distance, cut to their radius."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        metres, radius = draw(METRES), draw(st.sampled_from([500, 1000, 3000]))
        lon, lat = east(draw(st.integers(-400, 400))), north(draw(st.integers(-400, 400)))
        result = places(*(m for m in metres if m <= radius), lon=lon, lat=lat)
        query = "".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True)))
        found.append(around(query, radius, result, x=lon, y=lat, sort=draw(st.sampled_from([None, "weight", "1"]))))
    return found


@st.composite
def situations(draw):
    """Some recordings, and a call that is like one of them more often than not."""
    recordings = draw(sandboxes())
    like = draw(st.sampled_from(recordings)).arguments
    words = draw(st.lists(st.sampled_from([*WORDS, "店"]), min_size=1, max_size=2, unique=True))
    lon, lat = like["x"], like["y"]
    metres = st.sampled_from([0, 0, 1, 30, -90, 120, -190, 260])
    return recordings, {
        "query": draw(st.sampled_from([like["query"], like["query"], like["query"] + "店", " ".join(words)])),
        "x": draw(metres.map(lambda off: east(off, lon, lat))),
        "y": draw(metres.map(lambda off: north(off, lat))),
        "range": draw(st.sampled_from([300, 500, 1000, like["range"], like["range"]])),
    }


@generated(300)
@given(situations())
def test_nothing_that_is_served_lies_outside_the_circle_asked_for(situation):
    recordings, call = situation
    answer = sandbox(*recordings).call("around", call)
    if answer.status == "ok":
        assert farthest_m(answer, call["x"], call["y"]) <= call["range"] + 1.6
        assert answer.result["count"] == str(len(answer.result["found"]["pois"]))


@generated(200)
@given(situations())
def test_an_answer_comes_from_a_recording_with_every_word_and_within_the_tolerance(situation):
    recordings, call = situation
    answer = sandbox(*recordings).call("around", call)
    if answer.status != "ok":
        return
    moved = [difference for difference in answer.provenance.differences if difference.parameter == "x"]
    centre = moved[0].recorded if moved else [call["x"], call["y"]]
    assert distance_m(*centre, call["x"], call["y"]) <= 200
    worded = [difference for difference in answer.provenance.differences if difference.parameter == "query"]
    text = worded[0].recorded if worded else call["query"]
    # Two words without a space between them are asked for in either order.
    wanted = [word for word in WORDS if word in call["query"]]
    assert all(word.casefold() in text.casefold() for word in wanted)


@generated(150)
@given(situations(), st.randoms(use_true_random=False))
def test_the_order_of_recordings_never_changes_an_answer(situation, random):
    recordings, call = situation
    shuffled = random.sample(recordings, len(recordings))
    assert sandbox(*recordings).call("around", call) == sandbox(*shuffled).call("around", call)


@generated(150)
@given(situations())
def test_another_spelling_of_a_call_has_the_same_answer(situation):
    recordings, call = situation
    spelled = {name: f" {value} " for name, value in reversed(call.items())} | {"label": "x", "sort": "DISTANCE"}
    one, other = (sandbox(*recordings).call("around", arguments) for arguments in (call, spelled))
    assert (one.result, one.status, one.provenance.kind) == (other.result, other.status, other.provenance.kind)


@generated(150)
@given(sandboxes(), st.integers(0, 5), st.integers(201, 5000), st.floats(0, 6.28))
def test_a_centre_moved_beyond_the_tolerance_is_never_answered_by_that_recording(recordings, which, metres, angle):
    from math import cos, sin

    (asked,) = [recordings[which % len(recordings)]]
    moved = {
        "x": east(metres * cos(angle) * 1.01, asked.arguments["x"], asked.arguments["y"]),
        "y": north(metres * sin(angle) * 1.01, asked.arguments["y"]),
    }
    assert distance_m(moved["x"], moved["y"], asked.arguments["x"], asked.arguments["y"]) > 200
    assert sandbox(asked).call("around", asked.arguments | moved).status == "miss"


@generated(150)
@given(sandboxes(), st.sampled_from(["Tesla", "星巴克", "98", "北门"]))
def test_one_more_word_asked_for_is_never_answered_by_recordings_without_it(recordings, word):
    for asked in recordings:
        call = asked.arguments | {"query": f"{word} {asked.arguments['query']}"}
        assert sandbox(*recordings).call("around", call).status == "miss"


def test_every_recording_answers_its_own_call():
    recordings = [around(word, radius) for word in WORDS for radius in (500, 1000)]
    box = sandbox(*recordings, recording("route", {"a": f"{LON},{LAT}", "b": "11,50"}, ["CAR: 1", "WALK: 2"]))
    for asked in recordings:
        answer = box.call("around", asked.arguments)
        assert answer.provenance.kind == "exact"
        assert answer.result == asked.result
