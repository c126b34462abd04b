"""``mapsat cases LOGS DEST --propose MODEL``: what a model proposes, and what the log lets come of it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from proposing_logs import CHINESE, ENGLISH, INJECTED, ORDERS, TAKEN, write_logs
from scripted_models import said, scripted_models

from pytest_mapsat.cli import main
from pytest_mapsat.llm import Answer, ModelError, Request
from pytest_mapsat.making import ProposingModel, build_from_logs
from pytest_mapsat.making.log_cases import LogReport
from pytest_mapsat.model import SuiteError, UsageError

#: Three replies of a large language model to each of the three requests, word for word.
RECORDED = Path(__file__).parent / "proposals_recorded.json"
STEP_FREE = {"field": "step_free", "op": "is", "value": "true", "lines": ["A1"]}
GARDEN = {"field": "style", "op": "is", "value": "garden", "lines": []}
PAPERS = {"field": "features", "op": "has", "value": "newspapers", "lines": ["E3"]}


@dataclass
class Model:
    """A model that gives each of three replies as it is set: a list of needs, or a text that may be no JSON."""

    replies: tuple[Any, Any, Any]
    requests: list[Request] = field(default_factory=list)

    def ask(self, request: Request, **_limits: Any) -> Answer:
        self.requests.append(request)
        reply = self.replies[request.vote - 1]
        text = reply if isinstance(reply, str) else json.dumps({"needs": [_whole(need) for need in reply]})
        try:
            return Answer(text=text, data=json.loads(text))
        except ValueError:
            raise ModelError("malformed", "the model gave no JSON", purpose=request.purpose) from None


def _whole(need: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "hard", "why": "so it is", **need}


@dataclass
class Built:
    """What was built: the hidden requirements by id, and the report."""

    hidden: dict[str, dict[str, Any]]
    report: LogReport
    suite: Path
    requests: list[Request]

    @property
    def drafts(self) -> set[str]:
        return {name for name, part in self.hidden.items() if part.get("draft")}

    @property
    def refused(self) -> list[str]:
        return [line for line in self.report.examples if "proposed, refused" in line]


@pytest.fixture
def built(tmp_path: Path) -> Any:
    def build(*replies: Any, session: tuple[Any, ...] = ENGLISH, redact: bool = False) -> Built:
        number = len([*tmp_path.iterdir()])
        logs, suite = write_logs(tmp_path / f"logs-{number}", *session), tmp_path / f"suite-{number}"
        model = Model(replies) if replies else None
        report = build_from_logs(logs, suite, redact=redact, model=model and ProposingModel(model, "openai/m"))
        cases = [json.loads(line) for line in (suite / "cases.jsonl").read_text().splitlines()]
        parts = [part for case in cases for part in case["truth"]["requirements"]]
        hidden = {part["id"]: part for part in parts if part["kind"] != "asked"}
        return Built(hidden, report, suite, model.requests if model else [])

    return build


def test_what_the_statistics_choose_counts_whether_a_model_proposes_it_or_not(built: Any) -> None:
    alone = built()
    agreed = built([STEP_FREE], [STEP_FREE], [])
    silent = built([], [], [])
    assert alone.hidden.keys() == {"step_free"}
    for other in (agreed, silent):
        for path in (path for path in alone.suite.rglob("*.*") if path.is_file()):
            assert (other.suite / path.relative_to(alone.suite)).read_bytes() == path.read_bytes()
    assert agreed.report.proposals["agreed with the statistics"] == 1


def test_what_else_the_choices_bear_out_is_a_draft_with_the_counts_of_the_log(built: Any) -> None:
    result = built([GARDEN], [{**GARDEN, "kind": "soft"}], [{**GARDEN, "value": "Garden"}, STEP_FREE])
    assert result.drafts == {"style-garden"}
    who, counted = result.hidden["style-garden"]["evidence"]
    assert who["text"] == "openai/m, 3 of 3 replies: so it is"
    assert (counted["count"], counted["total"], len(counted["at"])) == (11, len(TAKEN), 11)
    assert result.hidden["style-garden"]["kind"] == "soft"  # the choices decide, not the model


def test_a_proposal_of_one_reply_is_a_draft_with_its_count(built: Any) -> None:
    result = built([], [PAPERS], [])
    assert result.drafts == {"features-newspapers"}
    who, words = result.hidden["features-newspapers"]["evidence"]
    assert "1 of 3 replies" in who["text"]
    assert (words["text"], words["at"]) == (ENGLISH[1][1], ["events.jsonl:2"])


@pytest.mark.parametrize(
    ("need", "why"),
    [
        (
            {"field": "stepfree", "op": "is", "value": True},
            "stepfree is true did you mean 'step_free'?: the catalogue has no such field",
        ),
        ({**GARDEN, "value": "gardens"}, "did you mean 'garden'?: the catalogue has no such value"),
        ({**GARDEN, "op": "like"}, "op is none of is, has"),
        ({"field": "price", "op": "at_most", "value": "cheap"}, "the value is no figure"),
        ({"field": "price", "op": "at_most", "value": "3"}, "no place of the kind fits it"),
        ({"field": "price", "op": "at_most", "value": 1e9}, "every place of the kind fits it"),
        ({"field": "hours", "op": "open_at", "value": "late"}, "the value is no time of day"),
        ({"field": "quiet", "op": "is", "value": "true", "lines": ["A2", "E99"]}, "nothing before the query bears it"),
        ({"field": "style", "op": "is", "value": "plain", "lines": ["B1"]}, "nothing before the query bears it out"),
        ("the cafe", "it is no object"),
    ],
)
def test_what_catalogue_or_log_do_not_have_is_refused_and_reported(built: Any, need: Any, why: str) -> None:
    replies = json.dumps({"needs": [need]})
    result = built(replies, replies, replies)
    assert (result.hidden.keys(), result.drafts) == ({"step_free"}, set())
    assert len(result.refused) == 1
    assert why in result.refused[0]


def test_a_proposal_against_a_habit_leaves_both_to_a_person_where_two_replies_agree(built: Any) -> None:
    against = {**STEP_FREE, "value": "false", "lines": ["E3"]}
    both = built([against], [against], [])
    assert both.drafts == {"step_free", "step_free-not"}
    assert both.hidden["step_free-not"]["evidence"][0]["text"].endswith("; against: step free")
    assert built([against], [], []).drafts == {"step_free-not"}


def test_what_the_query_asks_for_is_no_proposal(built: Any) -> None:
    session = ("en", ENGLISH[1], "a cafe with newspapers, please")
    result = built([PAPERS], [PAPERS], [PAPERS], session=session)
    assert not result.drafts
    assert "the query asks for it" in result.refused[0]


def test_a_text_that_gives_orders_to_a_model_bears_nothing_out(built: Any) -> None:
    obeyed = [
        {"field": "quiet", "op": "is", "value": "false", "lines": ["E2"]},
        {"field": "features", "op": "has", "value": "cakes", "lines": ["E2"]},
    ]
    result = built(obeyed, obeyed, obeyed, session=INJECTED)
    assert (result.hidden.keys(), result.drafts) == ({"step_free"}, set())
    assert len(result.refused) == 2
    instructions, data = (message["content"] for message in result.requests[0].messages)
    fence = data.split("\n")[0]
    assert ORDERS in data
    assert ORDERS not in instructions
    assert (fence in instructions, data.count(fence)) == (True, 2)


def test_a_model_is_told_nothing_of_later_records(built: Any) -> None:
    asked = [built([], [], [], session=(*ENGLISH, (*TAKEN, last))).requests[0].messages for last in (6, 3)]
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("name", "session", "votes"),
    [
        ("english", ENGLISH, {"features": 3, "style": 1}),
        ("chinese", CHINESE, {"安静": 3, "风格": 1}),
        ("orders", INJECTED, {"style": 1}),
    ],
)
def test_replies_of_a_large_language_model_agree_with_the_statistics_and_add_what_was_said(
    built: Any, name: str, session: tuple[Any, ...], votes: dict[str, int]
) -> None:
    result = built(*json.loads(RECORDED.read_text(encoding="utf-8"))[name], session=session)
    drafts = {
        next(iter(part["check"]["where"])): part["evidence"] for part in result.hidden.values() if "draft" in part
    }
    assert drafts.keys() == votes.keys()
    for wanted, count in votes.items():
        assert drafts[wanted][0]["text"].startswith(f"openai/m, {count} of 3 replies: ")
    assert result.report.proposals["agreed with the statistics"] == 1
    assert not result.refused


def test_where_the_statistics_show_nothing_a_model_is_asked_about_the_latest_query(built: Any) -> None:
    everything = tuple(range(16))
    result = built([PAPERS], [PAPERS], [], session=(*ENGLISH, everything))
    assert (result.hidden.keys(), result.drafts) == ({"features-newspapers"}, {"features-newspapers"})
    with pytest.raises(UsageError, match="1 sessions: nothing hidden is shown by what came before"):
        built([], [], [], session=(*ENGLISH, everything))


def test_personal_data_reaches_no_model(built: Any) -> None:
    session = ("en", ["call me at +49 341 5550123 or mail ada@example.org"], ENGLISH[2])
    with pytest.raises(SuiteError, match="a telephone number"):
        built([], [], [], session=session)
    sent = built([], [], [], session=session, redact=True).requests[0].messages[1]["content"]
    assert "call me at phone-1 or mail email-1" in sent


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(built: Any) -> None:
    result = built("no JSON", '{"wishes": []}', [GARDEN])
    assert len(result.requests) == 5
    assert result.drafts == {"style-garden"}
    assert result.report.proposals["replies that cannot be read"] == 2
    assert 'it has no list "needs"' in str(result.requests)


def test_the_command_asks_through_the_cache_and_keeps_ceilings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "store"))
    logs = str(write_logs(tmp_path / "logs", *CHINESE))
    quiet = {"field": "安静", "op": "is", "value": "true", "lines": ["E2"], "kind": "hard", "why": "妈妈怕吵"}
    with scripted_models() as models:
        for name, value in models.environment.items():
            monkeypatch.setenv(name, value)
        models.answers(said(json.dumps({"needs": [quiet]}, ensure_ascii=False)))
        assert main(["cases", logs, str(tmp_path / "one"), "--propose", "openai/gpt-4o-mini?temperature=1"]) == 0
        asked = len(models.requests)
        again = ["--propose", "openai/gpt-4o-mini?temperature=1", "--cache", "only"]
        assert main(["cases", logs, str(tmp_path / "two"), *again]) == 0
        assert (asked, len(models.requests)) == (3, 3)
        assert (tmp_path / "one/cases.jsonl").read_bytes() == (tmp_path / "two/cases.jsonl").read_bytes()
        assert "1 drafts" in capsys.readouterr().out
        main(["lint", str(tmp_path / "one")])
        assert "0 errors, 0 warnings" in capsys.readouterr().out
        unpriced = ["--propose", "openai/unheard-of", "--max-cost", "1"]
        assert main(["cases", logs, str(tmp_path / "three"), *unpriced]) == 2
        assert "the price of openai/unheard-of is not known" in capsys.readouterr().err
        assert not (tmp_path / "three").exists()
    assert main(["cases", logs, str(tmp_path / "four"), "--cache", "off"]) == 2
    assert "give --propose MODEL, too" in capsys.readouterr().err
