"""Tools that fail: what each error delivers, sweeps over a suite, and six agents of known character in their right order."""

import asyncio
import itertools
import json
import sys
from pathlib import Path

import pytest

import pytest_mapsat as mapsat
from pytest_mapsat.agents import resolve_source, source_of
from pytest_mapsat.cli import main
from pytest_mapsat.episode import run_episode
from pytest_mapsat.gate import recoveries
from pytest_mapsat.model import FAULT_ERRORS, RunOptions, SuiteError, UsageError
from pytest_mapsat.reply import Reply
from pytest_mapsat.runs.runner import grade, judge_of
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import lint, open_suite, parse_faults, sweep_of
from pytest_mapsat.users import make_user

sys.path.append(str(Path(__file__).parents[1] / "agents"))  # mcp_clients

MANIFEST = 'name: diner\nversion: "1"\nlicense: MIT\nschema_version: 1\ndomains: {tables: booking tables}\n'
TOOLS = """\
- name: find_tables
  description: Free tables for a party.
  parameters: {type: object, properties: {people: {type: integer}}, required: [people]}
  fields: {"": ignored}
- name: list_tables
  description: All tables.
  parameters: {type: object, properties: {}}
  fields: {"": ignored}
- name: list_bookings
  description: What is booked.
  parameters: {type: object, properties: {}}
  fields: {"": ignored}
- name: book_table
  description: Book a table.
  effect: write
  parameters: {type: object, properties: {table: {type: string}}, required: [table]}
  fields: {"": ignored}
"""
PARTIES = range(2, 14)
CONFTEST = """\
class Diner:
    def __init__(self, state):
        self.tables, self.bookings = state["tables"], state["bookings"]
    def find_tables(self, people):
        return {"tables": [self.tables[id] for id in self.tables if self.tables[id]["seats"] == people]}
    def list_tables(self):
        return {"tables": [self.tables[id] for id in self.tables]}
    def list_bookings(self):
        return {"bookings": [self.bookings[id] for id in self.bookings]}
    def book_table(self, table):
        number = f"B{len(self.bookings)}"
        self.bookings.add({"id": number, "table": table})
        return {"number": number}
def pytest_mapsat_sandbox(config, case, suite):
    return Diner
"""


def diner_case(people: int, name: str = "", **world: object) -> dict:
    """A party of some size asks for a table: right is one booking of the table of that size, and an output that says so."""
    table = f"T{people}"
    booked = {"kind": "state", "table": "bookings", "where": {"table": {"op": "equal", "value": table}}, "count": 1}
    said = {"kind": "output", "path": "booked", "equals": {"op": "equal", "value": table}}
    return {
        "id": name or f"party-{people}",
        "visible": {
            "query": f"A table for {people}, please.",
            "context": {"details": {"people": people}},
            "output_schema": {"type": "object", "properties": {"booked": {"type": ["string", "null"]}}},
        },
        "truth": {
            "requirements": [
                {"id": "booked", "kind": "asked", "text": "one booking of the table", "check": booked},
                {"id": "said", "kind": "hard", "text": "the output names it", "check": said},
            ],
            "output": {"booked": table},
            "oracle": [
                {
                    "calls": [
                        {"tool": "find_tables", "arguments": {"people": people}},
                        {"tool": "book_table", "arguments": {"table": table}},
                    ],
                    "say": f"Table {table} is booked.",
                }
            ],
        },
        **({"world": world} if world else {}),
    }


def write_diner(root: Path, *cases: dict) -> Path:
    files = {
        "suite.yaml": MANIFEST,
        "tools.yaml": TOOLS,
        "state/tables.jsonl": "".join(json.dumps({"id": f"T{seats}", "seats": seats}) + "\n" for seats in PARTIES),
        "state/bookings.jsonl": json.dumps({"id": "B0", "table": "T1"}) + "\n",
        "cases.jsonl": "".join(json.dumps(each) + "\n" for each in cases),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def opened(root: Path, *cases: dict, faults: str = ""):
    """The suite of some cases with its sandbox, and a sweep."""
    suite, names = open_suite(write_diner(root, *cases)), {}
    exec(CONFTEST, names)
    suite.sandboxes = [lambda _case, _suite: names["Diner"]]
    suite.sweep = sweep_of(RunOptions(faults=faults))
    return suite


# -- six agents, each of one character; ``ask`` is what they share: a call, and whether it failed


def ask(tools, name, **arguments):
    result = tools.call(name, arguments)
    failed = not isinstance(result, dict) or result.get("status") in ("error", "refused")
    return result, failed


def done(table):
    return Reply(f"Table {table} is booked.", output={"booked": table})


NOT_FOUND = Reply(
    "The table service did not answer, so I could not find out which table is free.", output={"booked": None}
)
NOT_BOOKED = Reply("The booking service did not answer, so I could not book.", output={"booked": None})


def gives_up(message, tools, context):
    found, failed = ask(tools, "find_tables", people=context["details"]["people"])
    if failed:
        return NOT_FOUND
    table = found["tables"][0]["id"]
    return NOT_BOOKED if ask(tools, "book_table", table=table)[1] else done(table)


def retries_for_ever(message, tools, context, most=50):
    for _ in range(most):
        found, failed = ask(tools, "find_tables", people=context["details"]["people"])
        if not failed:
            break
    else:
        return NOT_FOUND
    table = found["tables"][0]["id"]
    while ask(tools, "book_table", table=table)[1]:
        pass
    return done(table)


def writes_twice(message, tools, context):
    return retries_for_ever(message, tools, context, most=3)


def invents(message, tools, context):
    found, failed = ask(tools, "find_tables", people=context["details"]["people"])
    table = "T99" if failed else found["tables"][0]["id"]
    ask(tools, "book_table", table=table)
    return done(table)


def booked_once(tools, table):
    """Book a table; where the reply is lost look whether it is booked, and book again only if not."""
    for _ in range(2):
        if not ask(tools, "book_table", table=table)[1]:
            return True
        bookings, failed = ask(tools, "list_bookings")
        if not failed and any(row["table"] == table for row in bookings["bookings"]):
            return True
    return False


def tells(message, tools, context):
    for _ in range(2):
        found, failed = ask(tools, "find_tables", people=context["details"]["people"])
        if not failed:
            table = found["tables"][0]["id"]
            return done(table) if booked_once(tools, table) else NOT_BOOKED
    return NOT_FOUND


def plans_anew(message, tools, context):
    people = context["details"]["people"]
    found, failed = ask(tools, "find_tables", people=people)
    if failed:
        found, failed = ask(tools, "list_tables")
    table = next(row["id"] for row in found["tables"] if row["seats"] == people)
    return done(table) if booked_once(tools, table) else NOT_BOOKED


AGENTS = [gives_up, retries_for_ever, writes_twice, invents, tells, plans_anew]


def played(suite, agent) -> list:
    judge = judge_of(suite, "checks", root=Path())
    cards = []
    for entry in suite.accepted():
        case = suite.load(entry)
        trajectory = run_episode(case, source_of(agent, "a"), make_user("scripted", case), make_sandbox(case, suite))
        cards.append(grade(case, trajectory, judge, asserted=frozenset({"asked"}), tools=suite.tools))
    return cards


def share(cards, name: str) -> tuple[int, int, int]:
    """How many labels of a policy passed, failed and stayed undecided."""
    outcomes = [label.outcome for card in cards for label in card.labels if label.requirement == name]
    return tuple(outcomes.count(outcome) for outcome in ("passed", "failed", "unevaluated"))


def test_six_agents_stand_in_their_order_in_each_sweep(tmp_path):
    suite = opened(tmp_path, *map(diner_case, PARTIES), faults="timeout,cut,lost_reply")
    figures = {}
    for agent in AGENTS:
        cards = played(suite, agent)
        figures[agent.__name__] = recoveries(cards, "ar"), share(cards, "fault:repeat")
    n = len(PARTIES)
    means = {name: {kind: found.mean for kind, found in kinds.items()} for name, (kinds, _) in figures.items()}
    assert means == {
        "gives_up": {"fault": 0.0, "fault cut": 0.0, "fault lost_reply": 0.0, "fault timeout": 0.0},
        "retries_for_ever": {"fault": 0.75, "fault cut": 1.0, "fault lost_reply": 0.0, "fault timeout": 1.0},
        "writes_twice": {"fault": 0.75, "fault cut": 1.0, "fault lost_reply": 0.0, "fault timeout": 1.0},
        "invents": {"fault": 0.25, "fault cut": 0.0, "fault lost_reply": 1.0, "fault timeout": 0.0},
        "tells": {"fault": 1.0, "fault cut": 1.0, "fault lost_reply": 1.0, "fault timeout": 1.0},
        "plans_anew": {"fault": 1.0, "fault cut": 1.0, "fault lost_reply": 1.0, "fault timeout": 1.0},
    }
    assert {name: repeat for name, (_, repeat) in figures.items()} == {
        name: (0, n, 0) if name in ("retries_for_ever", "writes_twice") else (n, 0, 0) for name in figures
    }
    ends = [
        (found["fault"].low, found["fault"].high)
        for found, _ in (figures[name] for name in ("gives_up", "invents", "writes_twice", "tells"))
    ]
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(ends))


def test_where_a_tool_fails_for_good_agents_stop_tell_or_take_another_way(tmp_path):
    lasting = {"faults": [{"tool": "find_tables", "call": "every", "error": "timeout"}]}
    suite = opened(tmp_path, *(diner_case(people, **lasting) for people in PARTIES))
    n = len(PARTIES)
    figures = {}
    for agent in AGENTS:
        cards = played(suite, agent)
        met = sum(card.outcome == "passed" for card in cards)
        figures[agent.__name__] = met, share(cards, "fault:stop"), share(cards, "fault:told")
    assert figures == {
        "gives_up": (0, (n, 0, 0), (n, 0, 0)),
        "retries_for_ever": (0, (0, n, 0), (n, 0, 0)),
        "writes_twice": (0, (n, 0, 0), (n, 0, 0)),
        "invents": (0, (n, 0, 0), (0, 0, n)),
        "tells": (0, (n, 0, 0), (n, 0, 0)),
        "plans_anew": (n, (n, 0, 0), (0, 0, n)),
    }


@pytest.mark.parametrize("baseline", ["oracle", "silent", "constant"])
def test_the_oracle_has_one_in_every_sweep_and_baselines_that_know_nothing_have_none(tmp_path, baseline):
    suite = opened(tmp_path, diner_case(4), diner_case(5), faults="all")
    judge = judge_of(suite, "checks", root=Path())
    source, ends = resolve_source(f"baseline:{baseline}", root=Path()), []
    for case in map(suite.load, suite.accepted()):
        trajectory = run_episode(case, source, make_user("scripted", case), make_sandbox(case, suite))
        ends.append(grade(case, trajectory, judge, asserted=frozenset({"asked"}), tools=suite.tools).metrics["ar"])
    assert len(ends) == 2 * (1 + 7 + 5)  # 7 errors of what is read, 5 of what is written
    assert set(ends) == {float(baseline == "oracle")}


def test_each_error_delivers_what_the_table_says(tmp_path):
    def answer(error: str, tool: str = "find_tables", calls: int = 1, **more):
        fault = {"tool": tool, "call": calls, "error": error, **more}
        suite = opened(tmp_path, diner_case(4, faults=[fault]))
        sandbox = make_sandbox(suite.load(next(suite.accepted())), suite)
        book = {"table": "T4"}
        for _ in range(calls - 1):
            sandbox.call(tool, {})
        return sandbox, sandbox.call(
            tool, book if tool == "book_table" else {"people": 4} if tool == "find_tables" else {}
        )

    for error, status in (
        ("timeout", "error"),
        ("server_error", "error"),
        ("rate_limit", "error"),
        ("refused", "refused"),
    ):
        sandbox, failed = answer(error, "book_table")
        assert (failed.status, failed.changed) == (status, ())
        assert failed.result["error"] == error
        assert failed.result["status"] == status
        assert failed.result.get("retry_after") == (1 if error == "rate_limit" else None)
        assert sandbox.call("book_table", {"table": "T4"}).result == {"number": "B1"}
    right = {"tables": [{"id": "T4", "seats": 4}]}
    _, slow = answer("slow", seconds=0.001)
    assert (slow.result, slow.status, slow.provenance.note) == (right, "ok", "slow, 0.001 s")
    assert answer("empty")[1].result == {"tables": []}
    cut = answer("cut")[1].result
    assert json.dumps(right).startswith(cut)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(cut)
    sandbox, lost = answer("lost_reply", "book_table")
    assert (lost.result["error"], lost.status, len(lost.changed)) == ("timeout", "ok", 1)
    suite = opened(tmp_path, diner_case(4, faults=[{"tool": "list_bookings", "call": [1, 2], "error": "stale"}]))
    sandbox = make_sandbox(suite.load(next(suite.accepted())), suite)
    sandbox.call("book_table", {"table": "T4"})
    assert [len(sandbox.call("list_bookings", {}).result["bookings"]) for _ in range(3)] == [1, 1, 2]


ERRORS = ("timeout", "server_error", "rate_limit", "refused", "empty", "cut", "slow")


def test_functions_services_mcp_clients_and_frameworks_are_delivered_the_same(tmp_path):
    """A row of the table for each error: the text, and whether it is marked as failed."""
    pytest.importorskip("mcp")
    from http_services import Service, answers
    from mcp_clients import client_of

    faults = [
        {"tool": "find_tables", "call": number, "error": error, **({"seconds": 0.01} if error == "slow" else {})}
        for number, error in enumerate(ERRORS, 1)
    ]
    suite = opened(tmp_path, diner_case(4, faults=faults))
    case = suite.load(next(suite.accepted()))
    got: dict[str, list] = {}

    def function(message, tools):
        got["function"] = [tools.find_tables(people=4) for _ in ERRORS]
        return "Done."

    async def over_mcp(url, token, name):
        async with client_of(url, token) as client:
            results = [await client.call_tool("find_tables", {"people": 4}) for _ in ERRORS]
        got[name] = [(result.content[0].text, bool(result.is_error)) for result in results]

    async def client(message, context):
        await over_mcp(context.mcp_url, "", "mcp")
        return "Done."

    def framework(message, tools):
        block = {"type": "tool_use", "id": "1", "name": "find_tables", "input": {"people": 4}}
        results = [mapsat.answer(block) for _ in ERRORS]  # the adapters of frameworks take the same way
        got["framework"] = [(result["content"], result["is_error"]) for result in results]
        return "Done."

    def behave(request):
        headers = request.headers
        asyncio.run(over_mcp(headers["X-Mapsat-MCP-Url"], headers["X-Mapsat-MCP-Token"], "service"))
        return answers({"text": "Done."})

    with Service().running() as service:
        (tmp_path / "s.yaml").write_text(
            f"url: {service.at(behave)}\nheaders: {{X-Mapsat-MCP-Url: $mcp_url, X-Mapsat-MCP-Token: $mcp_token}}"
        )
        sources = [
            *(source_of(agent, "a") for agent in (function, client, framework)),
            resolve_source("http:s.yaml", root=tmp_path),
        ]
        for source in sources:
            trajectory = run_episode(case, source, make_user("scripted", case), make_sandbox(case, suite))
            assert [step.fault for step in trajectory.calls] == list(ERRORS), trajectory.fault
    results = got["function"]
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in results]
    assert [each["status"] for each in results[:4]] == ["error", "error", "error", "refused"]
    assert got["mcp"] == got["service"] == list(zip(texts, [True] * 4 + [False] * 3, strict=True))
    assert got["framework"] == list(zip(texts, [True] * 3 + [False] * 4, strict=True))


def test_bad_faults_are_refused_with_their_place(tmp_path):
    def problem(**fault):
        suite = opened(tmp_path, diner_case(4, faults=[fault, *more]))
        with pytest.raises(SuiteError) as refused:
            suite.load(next(suite.accepted()))
        return str(refused.value)

    more: list = []
    assert "no tool 'find_table' (did you mean 'find_tables'?)" in problem(tool="find_table", error="timeout")
    assert "cases.jsonl:1: world.faults[0].error" in problem(tool="find_tables", error="late")
    assert "found stale, expected an error of a tool that writes" in problem(tool="book_table", error="stale")
    assert "only slow and rate_limit have seconds" in problem(tool="find_tables", error="cut", seconds=1)
    more = [{"tool": "find_tables", "call": "every", "error": "cut"}]
    assert "timeout and cut are both of call 2 of find_tables" in problem(
        tool="find_tables", call=[2, 3], error="timeout"
    )
    with pytest.raises(UsageError, match=r"--mapsat-faults: found 'timeuot'.*did you mean 'timeout'"):
        parse_faults("cut,timeuot")
    assert parse_faults("all") == tuple(error for error in FAULT_ERRORS if error != "slow")
    suite = opened(tmp_path, diner_case(4, faults=[{"tool": "book_table", "call": 2, "error": "timeout"}]))
    (finding,) = [each for each in lint(suite, dialogues=True) if each.rule == "fault-unreached"]
    assert "the oracle calls book_table 1 times, and the fault is of call 2" in str(finding)


FUNCTION = """\
from pytest_mapsat.reply import Reply

def agent(message, tools, context):
    found = tools.find_tables(people=4)
    if "tables" not in found:
        found = tools.find_tables(people=4)
    tools.book_table(table=found["tables"][0]["id"])
    return Reply("Done.", output={"booked": "T4"})
"""
IN_PYTHON = """\
from pytest_mapsat import case

@case("A table for 4, please.", oracle=[{"calls": [{"tool": "find_tables", "arguments": {"people": 4}}], "say": "T4"}])
def test_table(episode):
    with episode.hard("the table is booked"):
        assert [call.tool for call in episode.calls].count("book_table") == 1
"""


def test_a_sweep_is_the_same_again_on_workers_isolated_and_in_python(pytester):
    write_diner(pytester.path / "diner", diner_case(4))
    pytester.makepyfile(desk=FUNCTION, diner_sandbox=CONFTEST, conftest="from diner_sandbox import *")
    pytester.syspathinsert()
    (pytester.path / "diner" / "test_own.py").write_text(IN_PYTHON)
    always = ("diner", "--mapsat-agent=desk:agent", "--mapsat-faults=timeout", "--mapsat-fail-on=none", "-v")
    runs = {}
    for name, more in {"one": (), "again": (), "workers": ("-n2",), "isolated": ("--mapsat-isolate",)}.items():
        result = pytester.runpytest(*always, f"--mapsat-save={name}.json", *more)
        assert result.ret == 0, result.outlines
        run = json.loads((pytester.path / f"{name}.json").read_text())
        del run["timing"]
        for each in run["cases"]:
            del each["timing"]
            for turn in each["trajectory"]["turns"]:
                turn["timing"] = None
        runs[name] = run
    assert runs["one"] == runs["again"] == runs["workers"] == runs["isolated"]
    one = runs["one"]
    ids = [each["id"] for each in one["cases"]]
    assert ids == [
        "party-4",
        "party-4--book_table-timeout",
        "party-4--find_tables-timeout",
        "test_own.test_table",
        "test_own.test_table--find_tables-timeout",
    ]
    assert one["cases"][2]["attributes"] == {"fault": "find_tables timeout", "variant_of": "party-4"}
    assert one["manifest"]["options"]["faults"] == "timeout"
    assert one["manifest"]["suites"][0]["cases"] == 2
    assert one["variants"]["fault timeout"]["mean"] == 0.75  # it books once, and does not look whether that was done
    result.stdout.fnmatch_lines(["recovery   fault timeout  0.750 of plain, 2 cases *"])
    assert main(["regrade", "one.json", "-p", "diner_sandbox", "--suite=diner", "--save=regraded.json"]) == 0
    assert json.loads(Path("regraded.json").read_text())["variants"] == one["variants"]
    plain = pytester.runpytest(
        "diner", "--mapsat-agent=desk:agent", "--mapsat-fail-on=none", "--mapsat-save=plain.json"
    )
    text = (pytester.path / "plain.json").read_text()
    assert plain.ret == 0
    assert '"variants"' not in text
    assert '"faults": ""' not in text
    assert '"fault": 0' not in text


def test_a_fault_that_cannot_reach_the_agent_is_refused_at_the_start(pytester):
    write_diner(pytester.path / "diner", diner_case(4))
    pytester.makepyfile(desk=FUNCTION, conftest=CONFTEST)
    pytester.runpytest("diner", "--mapsat-agent=desk:agent", "--mapsat-fail-on=none", "--mapsat-save=run.json")
    recorded = pytester.runpytest("diner", "--mapsat-agent=recorded:run.json", "--mapsat-faults=timeout")
    assert recorded.ret == pytest.ExitCode.USAGE_ERROR
    recorded.stderr.fnmatch_lines(["*case party-4--find_tables-timeout: recorded dialogues are as they are, *"])
    none = pytester.runpytest("diner", "--mapsat-agent=desk:agent", "--mapsat-faults=stale", "-k", "not find")
    none.stdout.fnmatch_lines(["mapsat: diner: 1 variants of cases"])
    manifest = pytester.path / "diner" / "suite.yaml"
    manifest.write_text(MANIFEST + 'environment: {state: "GET http://127.0.0.1:9/state"}\n')
    acted = pytester.runpytest("diner", "--mapsat-agent=desk:agent", "--mapsat-faults=timeout")
    assert acted.ret == pytest.ExitCode.USAGE_ERROR
    acted.stderr.fnmatch_lines(
        ["*the agent acts on an environment, which no fault of world.faults or --mapsat-faults*"]
    )
    (pytester.path / "diner" / "cases.jsonl").write_text(json.dumps({**diner_case(4), "truth": {"requirements": []}}))
    manifest.write_text(MANIFEST)
    empty = pytester.runpytest("diner", "--mapsat-agent=desk:agent", "--mapsat-faults=timeout")
    assert empty.ret == pytest.ExitCode.USAGE_ERROR
    empty.stderr.fnmatch_lines(["*no case has variants: no tool of an oracle or of truth.tools can have these faults"])
