"""``mapsat draft`` on small chats: what becomes of profiles, refusals, times and names that a log tells in its own way."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from chats import agent, result, user, write
from suite_maker import case_yaml, make_suite

from pytest_mapsat.cli import main
from pytest_mapsat.suite import lint, open_suite

PROFILE = {"name": "Mara Voss", "pets": "a dog named Rex", "budget": "Never pays more than 100 EUR a night"}
HOTELS = {
    "hotels": [
        {"id": "h1", "name": "Lakeview Lodge", "price_eur": 129, "dogsAllowed": False, "stars": 4, "guest_rating": 9.1},
        {"id": "h2", "name": "Pine Cabin", "price_eur": 92, "dogsAllowed": True, "stars": 3, "guest_rating": 8.2},
    ]
}
SYSTEM = "You book hotels. Today is Friday 2026-06-12, 10:15 (Europe/Berlin)"


def hotel_chat(refusal: str = "No dogs there, and it is too expensive.", system: str = SYSTEM) -> list[dict[str, Any]]:
    """Return a chat of a user whose profile tells of a dog and a budget that the first reply does not regard."""
    return [
        {"role": "system", "content": system},
        user("Find me a hotel in Konstanz."),
        agent(None, ("c1", "get_traveller", {"user_id": "u-1"}), ("c2", "find_hotels", {"city": "Konstanz"})),
        result("c1", PROFILE),
        result("c2", HOTELS),
        agent("I recommend Lakeview Lodge at 129 EUR a night."),
        user(refusal),
        agent("Then take Pine Cabin: dogs are welcome, 92 EUR a night."),
        user("Great, thanks!"),
    ]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(chat: list[dict[str, Any]], root: str = "suite") -> dict[str, Any]:
    """Return the case, as data, that ``mapsat draft`` makes of a chat."""
    write(Path("chat.json"), chat)
    assert main(["draft", root, "--from", "chat.json"]) == 0
    case: dict[str, Any] = yaml.safe_load(Path(root, "cases/chat.yaml").read_text("utf-8"))
    return case


def tool(name: str) -> dict[str, Any]:
    text = Path("suite/tools", f"{name}.yaml").read_text("utf-8")
    spec: dict[str, Any] = yaml.safe_load(text)
    return spec


def test_a_record_of_the_user_is_a_profile_and_evidence() -> None:
    needs = made(hotel_chat())["truth"]["requirements"]
    assert {need["source"] for need in needs} == {"profile"}
    assert [need["kind"] for need in needs] == ["hard", "hard"]
    traveller = tool("get_traveller")
    assert (traveller["profile"], traveller.get("entities")) == (True, None)


def test_the_needs_are_the_same_where_the_suite_has_the_tools() -> None:
    fresh = made(hotel_chat())["truth"]["requirements"]
    specs = {path.name: path.read_text("utf-8") for path in Path("suite/tools").iterdir()}
    files = {f"tools/{name}": text for name, text in specs.items()}
    files["tools/get_traveller.yaml"] = files["tools/get_traveller.yaml"].replace("profile: true\n", "")
    make_suite(Path("old"), {"cases/a.yaml": case_yaml("a"), **files})
    assert made(hotel_chat(), "old")["truth"]["requirements"] == fresh


def test_one_record_that_the_agent_recommends_is_no_profile() -> None:
    chat = [
        user("Where shall I eat?"),
        agent(None, ("c1", "suggest", {"user_id": "u-1"})),
        result("c1", {"name": "The Anchor", "terrace": False}),
        agent("I recommend The Anchor."),
        user("It has no terrace."),
    ]
    made(chat)
    assert "profile" not in tool("suggest")
    assert tool("suggest")["entities"]


def test_the_figure_of_the_evidence_is_the_bound() -> None:
    (price,) = (
        need for need in made(hotel_chat())["truth"]["requirements"] if "price_eur" in need["check"].get("where", {})
    )
    assert price["check"]["where"]["price_eur"]["max"] == 100


def test_a_new_tool_invents_no_word_and_lint_misses_no_field() -> None:
    chat = hotel_chat()
    chat[5:5] = [
        agent(None, ("c3", "find_hotels", {"city": "Dermatology"})),
        result("c3", {"error": "unavailable", "retry": {"after_s": 3}}),
    ]
    made(chat)
    assert "synonyms" not in tool("find_hotels")["match"]["city"]
    assert [str(finding) for finding in lint(open_suite(Path("suite"))) if finding.severity == "warning"] == []


def test_a_rating_of_ten_counts_no_stars() -> None:
    made(hotel_chat())
    fields = tool("find_hotels")["entities"][0]["fields"]
    assert fields["stars"] == "rating" or fields["stars"]["unit"] == "star"
    assert fields["guest_rating"]["unit"] == "count"


def test_the_zone_behind_a_time_gives_its_offset(capsys: pytest.CaptureFixture[str]) -> None:
    assert made(hotel_chat())["visible"]["context"]["now"] == "2026-06-12T10:15:00+02:00"
    told = made(hotel_chat(system="Now: 2026-01-12 10:15 (Middle-earth time)"), "other")
    assert told["visible"]["context"]["now"] == "2026-01-12T10:15:00"
    assert "the time zone 'Middle-earth time' is not known" in capsys.readouterr().err


def test_evidence_of_the_time_cites_the_line_that_tells_it() -> None:
    places = {"places": [
        {"name": "The Anchor", "hours": "18:00-23:00"},
        {"name": "Lighthouse", "hours": "08:00-20:00"},
    ]}  # fmt: skip
    chat = [
        {"role": "system", "content": SYSTEM},
        user("Where can we have coffee?"),
        agent(None, ("c1", "search", {"query": "coffee"})),
        result("c1", places),
        agent("I recommend The Anchor."),
        user("It is closed now."),
        agent("Then take the Lighthouse."),
        user("Great, thanks!"),
    ]
    (need,) = made(chat)["truth"]["requirements"]
    line = Path("chat.json").read_text("utf-8").splitlines().index('  "role": "system",')
    assert [part["at"] for part in need["evidence"]] == [[f"chat.json:{line}"]]


@pytest.mark.parametrize("refusal", ["No, they only take private patients.", "They do not take my insurance."])
def test_a_refusal_is_no_answer_of_the_user_that_counts(refusal: str) -> None:
    clinics = [
        {"practice": "Praxis am Markt", "takes": "private"},
        {"practice": "Praxis am See", "takes": "all"},
    ]
    chat = [
        user("I need a dermatologist in Konstanz."),
        agent("For which day?"),
        user("Monday"),
        agent(None, ("c1", "find_clinics", {"city": "Konstanz"})),
        result("c1", clinics),
        agent("Praxis am Markt has a slot on Monday. Shall I book it?"),
        user(refusal),
        agent("Praxis am See has one, too. Shall I book that one? Anything else I can help with?"),
        user("Yes, please."),
    ]
    answers = made(chat)["truth"]["user"]["answers"]
    assert [answer["say"] for answer in answers if not answer.get("draft")] == ["Monday"]


def test_a_phrase_of_closing_asks_for_nothing() -> None:
    chat = [
        user("Where shall I eat?"),
        agent("The harbour has many places. Anything else I can help with?"),
        user("Yes, I would like fish."),
        agent("Then go to the fish market."),
        user("Thanks!"),
    ]
    assert "user" not in made(chat)["truth"] or not made(chat, "again")["truth"]["user"].get("answers")


def clinic_chat(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a chat about two practices whose records are the given rows."""
    return [
        user("I need a dermatologist in Konstanz."),
        agent(None, ("c1", "find_clinics", {"city": "Konstanz"})),
        result("c1", {"clinics": rows}),
        agent("Praxis am Markt has a slot on Monday."),
        user("No, they only take private patients."),
        agent("Praxis am See has one, too."),
        user("Great, thanks!"),
    ]


def test_the_outermost_record_of_a_list_is_the_thing() -> None:
    made(
        clinic_chat(
            {"clinicName": "Praxis am Markt", "patients": "private", "doctor": {"name": "Dr. Weiss"}},
            {"clinicName": "Praxis am See", "patients": "all", "doctor": {"name": "Dr. Braun"}},
        )
    )
    assert [(part["items"], part["name"]) for part in tool("find_clinics")["entities"]] == [("clinics", "clinicName")]


def test_rows_without_a_name_are_told_with_the_file_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    made(
        clinic_chat(
            {"key": "x", "patients": "private", "doctor": {"name": "Dr. Weiss"}},
            {"key": "y", "patients": "all", "doctor": {"name": "Dr. Braun"}},
        )
    )
    told = capsys.readouterr().err
    assert "no name is found in the rows of find_clinics: say name: in tools/find_clinics.yaml" in told
    assert "nothing that a tool returned" not in told


def test_a_row_that_only_frames_a_thing_is_not_taken_for_it() -> None:
    frames = [{"score": 0.9, "place": {"name": name, "terrace": True}} for name in ("Praxis am Markt", "Praxis am See")]
    made(clinic_chat(*frames))
    assert [part["items"] for part in tool("find_clinics")["entities"]] == ["clinics.*.place"]


def test_a_case_that_asks_for_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    made(hotel_chat())
    assert "no proposal says what the query asks for: write an asked requirement" in capsys.readouterr().err


def cafe_chat(*after: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a chat in which a cafe is recommended, and what comes after that."""
    cafes = [{"id": "a", "name": "Blue Cup", "noise": "low"}, {"id": "b", "name": "Red Cup", "noise": "high"}]
    called = [agent(None, ("c1", "search", {"q": "cafe"})), result("c1", cafes)]
    return [user("A quiet cafe near Rose Square."), *called, agent("Blue Cup is quiet."), *after]


def labels() -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in Path("suite/labels").glob("*") for line in path.read_text("utf-8").splitlines()
    ]


@pytest.mark.parametrize(
    "turn",
    [
        "Thanks. Different question: is there a pharmacy nearby?",
        "Great! One more thing, is a pharmacy open?",
        "By the way, where is a pharmacy?",
        "谢谢。另外问一下，附近有药店吗？",
    ],
)
def test_another_question_is_no_objection(turn: str) -> None:
    pharmacy = [agent(None, ("c2", "search", {"q": "pharmacy"})), result("c2", [{"id": "p", "name": "Mill Pharmacy"}])]
    case = made(cafe_chat(user(turn), *pharmacy, agent("Mill Pharmacy.")))
    assert case["visible"]["query"] == turn
    assert not any("failed" in label["labels"].values() for label in labels())


@pytest.mark.parametrize("complaint", ["That was too long. Just the name.", "No lectures please.", "没必要说这么多"])
def test_an_objection_that_names_no_field_fails_no_label(complaint: str) -> None:
    made(cafe_chat(user(complaint), agent("Blue Cup."), user("Thanks")))
    assert not any("failed" in label["labels"].values() for label in labels())


def test_the_first_text_of_a_row_that_looks_like_a_name_names_it() -> None:
    made(
        clinic_chat(
            {"practice": "Praxis am Markt", "patients": "private"},
            {"practice": "Praxis am See", "patients": "all"},
        )
    )
    assert [part["name"] for part in tool("find_clinics")["entities"]] == ["practice"]


def test_a_time_in_the_system_message_is_held_against_the_hours() -> None:
    rows = [{"name": "Praxis am Markt", "hours": "08:00-18:00"}, {"name": "Praxis am See", "hours": "10:00-21:30"}]
    chat = [{"role": "system", "content": "The user gets home at a quarter past eight."}, *clinic_chat(*rows)]
    chat[5] = user("They are shut by then.")
    truth = made(chat)["truth"]
    (need,) = truth["requirements"]
    assert need["check"]["where"]["hours"] == {"op": "open_at", "time": "20:15"}
