"""mapsat lint SUITE --baselines: what a suite is worth, and its data card."""

import json

import asked_suite
import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.runs import baselines as playing

ALWAYS = {
    "id": "no-closed", "kind": "hard", "text": "The way to a closed cafe is not looked up", "weight": 0.5,
    "check": {"kind": "calls", "tool": "way", "with": {"place_id": "c9"}, "at_most": 0},
    "evidence": [{"text": "It is closed", "relevance": "strong", "recency": "recent", "need": "direct"}],
}  # fmt: skip
QUERIES = [
    "A cafe for 40 yuan at most, please.",
    "a cafe for 40 yuan at most please",
    "Where do I get a coffee that costs 40 yuan or less?",
    "Where do I get a coffee which costs 40 yuan or less?",
    "Somewhere cheap to read a book.",
    "My budget is tight, and I am thirsty.",
]


def cases():
    made = [asked_suite.case(f"c{number}", query=query) for number, query in enumerate(QUERIES)]
    made[4]["truth"]["requirements"] = [*made[4]["truth"]["requirements"], ALWAYS]
    made[5]["attributes"] = {"query": "chosen"}
    return made


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return asked_suite.write_suite(tmp_path_factory.mktemp("worth") / "suite", cases())


@pytest.fixture
def told(root, capsys):
    def lint(*options):
        status = main(["lint", str(root), "--baselines", *options])
        return status, capsys.readouterr()

    return lint


def test_each_baseline_scores_what_it_knows(told):
    status, printed = told("--json")
    found = json.loads(printed.out)["baselines"]
    means = {
        name: {metric: value["mean"] for metric, value in row.items()} for name, row in found["metrics"]["all"].items()
    }
    assert status == 0
    assert [means[name]["ecr"] for name in ("silent", "constant", "surface", "profile", "oracle")] == [0, 0, 1, 1, 1]
    assert means["surface"]["iisr"] < means["profile"]["iisr"] < means["oracle"]["iisr"] == 1
    assert means["silent"]["ar"] == means["constant"]["ar"] == 0
    assert found["requirements"]["hard"] == {"all": 13, "checked": 13}
    assert found["balance"]["source"] == {"context": 6, "profile": 6, "unstated": 1}
    assert found["balance"]["attributes.query"] == {"chosen": 1, "own": 5}


def test_what_cannot_tell_agents_apart_is_listed(told):
    found = json.loads(told("--json")[1].out)["baselines"]
    assert found["idle"] == [["c4", "no-closed"]]
    assert found["met_by_surface"] == [["c4", "no-closed"]]
    assert found["twins"] == [["c0", "c1"]]


def test_the_table_fits_80_columns_and_tells_cases_with_queries_of_their_own_apart(told):
    out = told()[1].out.split("\n\n", 1)[1]
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("baselines over 6 cases\n")
    assert out.count("surface ") >= 3
    assert "query: chosen" in out
    assert "query: own" in out
    assert "warning: cases that ask in the same words: c0, c1" in out


def test_steps_that_the_intervals_do_not_show_are_warnings(tmp_path, capsys):
    suite = asked_suite.write_suite(
        tmp_path / "suite", [asked_suite.case("c1"), asked_suite.case("c2", requirements=[asked_suite.CHEAP])]
    )
    assert main(["lint", str(suite), "--baselines"]) == 0
    assert "warning: surface and profile are not apart in AR by their intervals" in capsys.readouterr().out


def test_the_card_is_the_same_for_the_same_suite_and_is_found_out_of_date(told, tmp_path):
    card = tmp_path / "CARD.md"
    assert told("--card", str(card))[0] == 0
    first = card.read_bytes()
    assert told("--card", str(card), "--check")[0] == 0
    told("--card", str(card))
    assert card.read_bytes() == first
    text = first.decode()
    assert text.startswith("# Data card: cafes 2\n")
    assert "| baseline | ECR | IISR | AR | IFS | TS | SES |" in text
    assert "- cases that ask in the same words: c0, c1\n" in text
    card.write_text(text.replace("| cases | 6 |", "| cases | 7 |"))
    status, printed = told("--card", str(card), "--check")
    assert status == 1
    assert "CARD.md is not the card of the suite as it is" in printed.err
    assert "+| cases | 6 |" in printed.err
    assert "| cases | 7 |" in card.read_text()


def test_words_of_a_suite_cannot_change_the_card(tmp_path, capsys):
    made = asked_suite.case("c1")
    made["attributes"] = {"a|b": "<b>x</b> | [y](z)"}
    suite = asked_suite.write_suite(tmp_path / "suite", [made])
    main(["lint", str(suite), "--baselines", "--card", str(tmp_path / "CARD.md")])
    capsys.readouterr()
    line = next(line for line in (tmp_path / "CARD.md").read_text().splitlines() if line.startswith("| attributes"))
    assert line == r"| attributes.a\|b | \<b\>x\</b\> \| \[y\](z) 1 |"


READINGS = """\
readings:
- {reader: a large language model, date: 2026-11-28, cases: 30, defects: 12, note: did not write them}
- {reader: a person, date: 2026-11-29, cases: 8, defects: 1}
"""


def card_with(tmp_path, readings):
    case = asked_suite.case("c1")
    case["attributes"] = {"kind": "cafe", "wording": "w1"}
    suite = asked_suite.write_suite(tmp_path / "suite", [case, asked_suite.case("c2")])
    if readings is not None:
        (suite / "data").mkdir()
        (suite / "data" / "readings.yaml").write_text(readings)
    status = main(["lint", str(suite), "--baselines", "--card", str(tmp_path / "CARD.md")])
    return status, (tmp_path / "CARD.md").read_text() if status == 0 else ""


def test_the_card_tells_kinds_wordings_what_needs_no_reading_and_what_readers_found(tmp_path, capsys):
    _, text = card_with(tmp_path, READINGS)
    rows = text[text.index("## Variety and readings") : text.index("## Baselines")].splitlines()
    assert {"| kinds | 1 |", "| wordings | 1 |", "| different queries | 1 |"} <= {*rows}
    assert [row for row in rows if "without reading prose" in row] == [
        "| cases decided without reading prose | 0 of 2 (0%) |",
        "| requirements decided without reading prose | 0 of 6 (0%) |",
    ]
    assert rows[-4:-1] == [
        "| --- | --- | --- | --- | --- |",
        "| a large language model | 2026-11-28 | 30 | 0.40 | did not write them |",
        "| a person | 2026-11-29 | 8 | 0.12 |  |",
    ]


def test_a_suite_without_a_reading_says_so(tmp_path, capsys):
    assert "No reading for defects is recorded in data/readings.yaml." in card_with(tmp_path, None)[1]


@pytest.mark.parametrize(
    ("readings", "wrong"),
    [
        (READINGS.replace("a person", "people"), "readings.yaml:3"),
        (READINGS.replace("cases: 8", "cases: 0"), "readings.yaml:3"),
        ("- nothing\n", "readings.yaml"),
    ],
)
def test_readings_that_are_none_are_refused_with_their_line(tmp_path, capsys, readings, wrong):
    assert card_with(tmp_path, readings)[0] == 2
    assert wrong in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--card", "x.md"], ["--baselines", "--check"]])
def test_options_that_need_another_one_say_so(root, capsys, options):
    assert main(["lint", str(root), *options]) == 2
    assert "goes with --" in capsys.readouterr().err


def test_nothing_is_played_while_the_suite_has_errors(tmp_path, capsys):
    suite = asked_suite.write_suite(tmp_path / "suite", [asked_suite.case("c1", requirements=[{"id": "x"}])])
    assert main(["lint", str(suite), "--baselines", "--card", str(tmp_path / "CARD.md")]) == 1
    assert "baselines: not played, as the suite has errors" in capsys.readouterr().out
    assert not (tmp_path / "CARD.md").exists()


def test_several_processes_find_the_same(told, monkeypatch):
    alone = told("--json")[1].out
    monkeypatch.setattr(playing, "_EACH", 3)
    monkeypatch.setattr(playing.os, "cpu_count", lambda: 2)
    assert told("--json")[1].out == alone
