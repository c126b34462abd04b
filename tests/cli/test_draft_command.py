"""mapsat draft: a case out of a conversation, with recordings, tools and labelled answers, in a suite that lints."""

import json
from pathlib import Path

import pytest
from chats import ACCEPTED, PLACES, QUERY, agent, harbour, harbour_spans, otlp, result, user, write
from suite_maker import case_yaml, make_suite

from pytest_mapsat.cli import main
from pytest_mapsat.model import SuiteError
from pytest_mapsat.sandbox import RecordedSandbox
from pytest_mapsat.suite import lint, open_suite, read_answers


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(source: Path, *options: str, root: str = "suite"):
    """Return the suite and the case that ``mapsat draft`` makes of a file."""
    assert main(["draft", root, "--from", str(source), *options]) == 0
    suite = open_suite(Path(root))
    entries = [entry for file in suite.files() for entry in suite.entries(file)]
    return suite, suite.load(entries[-1])


def errors_in(root: str = "suite") -> list[str]:
    return [str(finding) for finding in lint(open_suite(Path(root))) if finding.severity != "note"]


def files(root: str = "suite") -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path(root).rglob("*")) if path.is_file()}


def test_a_chat_becomes_a_draft_that_lints_and_whose_oracle_is_answered(here):
    suite, case = made(write(here / "chat.json", harbour()))
    assert (case.id, case.visible.query, case.language) == ("chat-77", QUERY, "en")
    assert case.visible.instructions.startswith("You find places.")
    context = case.visible.context
    assert (context.now, context.city, context.uid) == ("2026-05-09T15:40:00+02:00", "Hamburg", "u-17")
    assert case.truth.proposals
    assert [turn.say for turn in case.truth.oracle] == [ACCEPTED]
    assert [(tool.name, tool.required) for tool in case.truth.tools] == [("search_places", ("query",))]
    assert [answer.noun.id for answer in read_answers(suite)] == ["logged", "accepted"]
    assert errors_in() == []
    assert main(["lint", "suite", "--answers"]) == 0


@pytest.mark.parametrize("query", ["the harbour", "HARBOUR", "near the harbour, please"])
def test_a_call_in_other_words_is_answered_by_the_recording(here, query):
    suite, case = made(write(here / "chat.json", harbour()))
    sandbox = RecordedSandbox(suite.tools, suite.recordings(case.id))
    step = sandbox.call("search_places", {"query": query, "lon": 9.9941, "lat": 53.5464, "limit": 10})
    assert (step.status, step.result) == ("ok", PLACES)


@pytest.mark.parametrize("arguments", [{"query": "airport"}, {"query": "harbour", "lon": 10.2, "lat": 53.5461}])
def test_a_call_for_something_else_misses(here, arguments):
    suite, case = made(write(here / "chat.json", harbour()))
    assert RecordedSandbox(suite.tools, suite.recordings(case.id)).call("search_places", arguments).status == "miss"


def test_spans_make_the_same_case_as_the_chat(here):
    _, case = made(write(here / "spans.json", otlp(reversed(harbour_spans()))), "--id", "harbour")
    assert (case.id, case.visible.query, case.visible.context.city) == ("harbour", QUERY, "Hamburg")
    assert case.truth.oracle[0].say == ACCEPTED
    assert errors_in() == []


def test_an_existing_suite_is_added_to_and_keeps_its_files(here):
    root = make_suite(here / "suite", {"cases/a.yaml": case_yaml("a")})
    before = files()
    made(write(here / "chat.json", harbour()))
    after = files()
    assert {path: after[path] for path in before} == before
    assert len(after) == len(before) + 4
    assert root.joinpath("cases/chat-77.yaml").is_file()
    assert main(["draft", "suite", "--from", "chat.json"]) == 2
    assert files() == after


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "-x", "x-t2", "reviewed", "x" * 90])
def test_an_id_that_no_file_may_have_is_refused_and_nothing_is_written(here, name, capsys):
    write(here / "chat.json", harbour())
    assert main(["draft", "suite", "--from", "chat.json", f"--id={name}"]) == 2
    assert "--id" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["chat.json"]


def test_a_suite_that_would_not_load_stays_as_it_was(here, monkeypatch):
    make_suite(here / "suite", {"cases/a.yaml": case_yaml("a")})
    write(here / "chat.json", harbour())
    before = files()

    def broken(*_: object) -> None:
        raise SuiteError

    monkeypatch.setattr("pytest_mapsat.making.drafts._read_again", broken)
    main(["draft", "suite", "--from", "chat.json"])
    assert files() == before
    assert not (here / "suite" / "labels").exists()


def test_of_several_conversations_one_is_named_by_its_id_or_its_number(here, capsys):
    other = {"id": "b", "messages": [user("Hello, a taxi please."), agent("It is on its way.")]}
    source = here / "chats.jsonl"
    source.write_text("".join(json.dumps(chat) + "\n" for chat in (harbour(), other)))
    assert main(["draft", "suite", "--from", str(source)]) == 2
    told = capsys.readouterr().err
    assert "holds 2 conversations: 1 ('chat-77', chats.jsonl:1); 2 ('b', chats.jsonl:2)" in told
    assert made(source, "--which", "2", root="by-number")[1].id == "b"
    assert made(source, "--which", "chat-77", root="by-which")[1].id == "chat-77"
    assert made(source, "--id", "b", root="by-id")[1].visible.query == "Hello, a taxi please."


def test_requests_that_repeat_what_came_before_are_one_conversation(here):
    messages = harbour()["messages"]
    lines = [{"messages": messages[:size]} for size in (5, 7, 8)]
    (here / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert made(here / "log.jsonl")[1].truth.oracle[0].say == ACCEPTED
    assert made(write(here / "list.json", lines), root="listed")[1].id == "list"


def test_what_was_said_before_the_matter_stands_among_the_messages_and_answers_become_the_user_s(here):
    chat = [
        agent("Hi! How can I help?"),
        user("What is the capital of France?"),
        agent("Paris."),
        user("Book a table for two."),
        agent("At which restaurant would you like to eat?"),
        user("The Anchor"),
        agent(None, ("c1", "book_table", {"restaurant": "The Anchor", "people": 2})),
        result("c1", {"status": "booked"}),
        agent("A table for two at The Anchor is booked."),
    ]
    suite, case = made(write(here / "chat.json", chat))
    assert case.visible.query == "Book a table for two."
    assert [message.text for message in case.visible.messages][:2] == [
        "Hi! How can I help?",
        "What is the capital of France?",
    ]
    (answer,) = case.truth.user.answers
    assert (answer.say, "restaurant" in answer.asked) == ("The Anchor", True)
    assert suite.tools["book_table"].effect == "write"
