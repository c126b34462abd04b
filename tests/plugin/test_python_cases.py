"""Cases in Python: decorated tests that are ordinary to pytest, and cases to everything else."""

import json
import sys
from itertools import product
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hotel_suite import CANCELS, write_hotel
from saved_runs import saved, saved_timeless, timeless

from pytest_mapsat.cli import main


@pytest.fixture
def hotel(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose suite has the two cases of ``CANCELS`` and nothing else."""
    write_hotel(pytester.path, test_cancels=CANCELS)
    return pytester


def labels(run: Any) -> dict[tuple[str, str], str]:
    """Return the outcome of each label of a run, by case and requirement."""
    return {(card["id"], label["requirement"]): label["outcome"] for card in run["cases"] for label in card["labels"]}


def test_blocks_are_the_requirements_of_a_case_that_scores_and_gates_like_any_other(hotel: pytest.Pytester) -> None:
    result = hotel.runpytest(
        "cases", "--mapsat-agent=desk_agents:good", "--mapsat-save=run.json", "--mapsat-fail-under=ar=1", "-v"
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*cases/test_cancels.py::test_cancels_one?BK-1? PASSED*", "bookings*2/2*1.00*", "gate*PASSED*"]
    )
    run = saved(hotel)
    first, second = run["cases"]
    assert (first["id"], second["id"]) == ("test_cancels.test_cancels_one-BK-1", "test_cancels.test_cancels_one-BK-2")
    assert (first["nodeid"], first["line"]) == ("cases/test_cancels.py::test_cancels_one[BK-1]", 8)
    assert first["trajectory"]["turns"][0]["text"] == "Please cancel BK-1. Check with me first."
    assert [(each["id"], each["kind"], each["text"]) for each in first["requirements"]] == [
        ("the-booking-is-cancelled", "asked", "the booking is cancelled"),
        ("nothing-else-changes", "hard", "nothing else changes"),
        ("the-guest-agrees-first", "hard", "the guest agrees first"),
        ("looks-first", "soft", "looks first"),
        ("test_cancels_one", "hard", "test_cancels_one"),
    ]
    assert {*labels(run).values()} == {"passed"}
    assert all(label["reading"] == "" and label["by"] == "checks" for label in first["labels"])
    assert [(suite["name"], suite["cases"]) for suite in run["manifest"]["suites"]] == [("hotel", 2)]
    assert run["accounting"]["collected"] == 2


def test_all_that_fails_is_told_in_one_report_with_the_source_and_what_was_said(hotel: pytest.Pytester) -> None:
    options = ("cases", "-k", "BK-1", "--junitxml=j.xml", "--mapsat-save=run.json")
    result = hotel.runpytest(*options, "--mapsat-agent=desk_agents:hasty")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            ">*assert episode.agreed(*",
            'E*<cancel_booking(booking_id="BK-1") came before the user was asked>*',
            "*test_cancels.py:14: AssertionError",
            "*broken: the-guest-agrees-first*",
            "*rule    the guest agrees first",
            "*0 user: Please cancel BK-1. Check with me first.*",
            "run it again: pytest 'cases/test_cancels.py::test_cancels_one[[]BK-1[]]' --mapsat-agent=desk_agents:hasty",
            "*gate*FAILED*",
        ]
    )
    assert labels(saved(hotel))["test_cancels.test_cancels_one-BK-1", "looks-first"] == "failed"  # soft: fails no test
    write_hotel(hotel.path, test_cancels=CANCELS.replace('"done"', '"stalled"'))
    result = hotel.runpytest(*options, "--mapsat-agent=desk_agents:hasty")
    result.stdout.fnmatch_lines([">*agreed(*", "*:14: AssertionError", ">*stalled*", "*:17: AssertionError"])
    result.stdout.fnmatch_lines(["FAILED cases/test_cancels.py::test_cancels_one?BK-1? - hard the*"])
    (suite,) = ET.parse(hotel.path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert len(suite.findall("testcase")) == len(suite.findall("testcase/failure")) == 1


REST = """
import asyncio
import pytest
from pytest_mapsat import case

class TestOfAClass:
    @case("in a class")
    def test_method(self, episode, tmp_path):
        assert tmp_path.exists() and episode.query == "in a class"

    @staticmethod
    @case("static", id="own-{number}", context={"city": "Lund {number}"})
    @pytest.mark.parametrize("number", [1, 2])
    def test_static(number, episode):
        assert episode.context.city == f"Lund {number}"

@case("breaks")
def test_breaks(episode):
    with episode.hard("first"):
        assert episode.replies
    with episode.hard("second"):
        assert {}["nothing"]
    with episode.hard("third"):
        assert episode.replies

@case("fails outside")
def test_outside(episode):
    with episode.asked("a"):
        assert episode.replies
    assert episode.ending == "stalled", "it went on"
    with episode.asked("b"):
        assert episode.replies

@case("is not reached")
def test_unreached(episode):
    if episode.ending == "stalled":
        with episode.asked("a"):
            assert episode.replies

@case("swallows what it cannot know")
def test_swallows(episode):
    with episode.hard("not rude"):
        try:
            rude = episode.judged("rude")
        except Exception:
            rude = False
        assert not rude
    with episode.hard("another"):
        assert episode.replies

@case("gives up")
def test_gives_up(episode):
    with episode.hard("first"):
        assert episode.replies
    pytest.skip("not today")
    with episode.hard("second"):
        assert episode.replies

@case("loops")
def test_loops(episode):
    for word in ("Goodbye", "Hello"):
        with episode.hard("each"):
            assert word in episode.replies[0]

@case("reads what is not there")
def test_no_table(episode):
    with episode.hard("a table"):
        assert episode.state["bookngs"]

@case("a typo")
def test_typo(episode):
    with episode.hard("a tool"):
        assert not episode.called("cancel_bookng")

@case("another typo")
def test_other_typo(episode):
    with episode.hard("a parameter"):
        assert not episode.called("cancel_booking", bookng_id="BK-1")

@pytest.mark.skip(reason="not on this system")
@case("left out")
def test_left_out(episode):
    assert episode.replies

@pytest.mark.xfail(reason="known")
@case("expected")
def test_expected(episode):
    assert not episode.replies

@pytest.mark.anyio
@case("later")
async def test_later(episode, anyio_backend):
    await asyncio.sleep(0)
    with episode.hard("a coroutine"):
        assert episode.replies

@pytest.fixture
def anyio_backend():
    return "asyncio"

def test_plain():
    assert True
"""


def test_what_a_body_does_is_no_verdict_that_it_is_not(hotel: pytest.Pytester) -> None:
    write_hotel(hotel.path, test_cancels=REST)
    options = (
        "cases",
        "--mapsat-agent=desk_agents:good",
        "--mapsat-save=run.json",
        "-p",
        "no:randomly",
        "-rs",
        "--tb=short",
    )
    result = hotel.runpytest(*options)
    result.assert_outcomes(passed=5, failed=2, skipped=4, xfailed=1, errors=4)
    run = saved(hotel)
    ended = {card["id"].removeprefix("test_cancels."): (card["outcome"], card["blame"]) for card in run["cases"]}
    assert ended == {
        "TestOfAClass.test_method": ("passed", None),
        "own-1": ("passed", None),
        "own-2": ("passed", None),
        "test_breaks": ("unevaluated", "judge"),
        "test_outside": ("failed", "agent"),
        "test_unreached": ("unevaluated", None),
        "test_swallows": ("unevaluated", None),
        "test_gives_up": ("unevaluated", None),
        "test_loops": ("failed", "agent"),
        "test_no_table": ("unevaluated", "judge"),
        "test_typo": ("unevaluated", "judge"),
        "test_other_typo": ("unevaluated", "judge"),
        "test_expected": ("failed", "agent"),
        "test_later": ("passed", None),
    }
    whys = {
        (card["id"].rpartition(".")[2], label["requirement"]): (label["outcome"], label["why"])
        for card in run["cases"]
        for label in card["labels"]
    }
    assert whys["test_breaks", "first"][0] == "passed"
    assert whys["test_breaks", "second"][1] == "the function broke (test_cancels.py:22): KeyError: 'nothing'"
    assert whys["test_breaks", "third"][1].startswith("not reached: the function broke")
    assert whys["test_outside", "test_outside"] == ("failed", "it went on\nassert 'done' == 'stalled'")
    assert whys["test_outside", "b"] == (
        "unevaluated", "undecided: not reached: the function ended before it, AssertionError: it went on",
    )  # fmt: skip
    assert whys["test_unreached", "a"] == ("unevaluated", "undecided: the function did not come to this block")
    assert whys["test_swallows", "not-rude"] == ("unevaluated", "undecided: 'rude' needs --mapsat-judge=llm:MODEL")
    assert whys["test_swallows", "another"][0] == "passed"
    assert whys["test_gives_up", "second"][1].endswith("the function ended before it, Skipped: not today")
    assert whys["test_loops", "each"] == ("failed", "assert 'Hello' in 'Goodbye.'")
    assert "did you mean 'bookings'" in whys["test_no_table", "a-table"][1]
    assert "did you mean 'cancel_booking'" in whys["test_typo", "a-tool"][1]
    assert "did you mean 'booking_id'" in whys["test_other_typo", "a-parameter"][1]
    assert run["accounting"] == {
        "collected": 15,
        "deselected": 1,
        "lost": [],
        "drafts": [],
        "excused": ["test_cancels.test_expected"],
    }
    result.stdout.fnmatch_lines(["SKIPPED*test_cancels.py:*: not on this system"])
    assert "test_plain" not in json.dumps(run)


def test_trials_reruns_workers_widths_and_a_run_that_goes_on_count_alike(hotel: pytest.Pytester) -> None:
    always = ("cases", "--mapsat-trials=2", "--tb=no")
    hotel.runpytest(*always, "--mapsat-agent=desk_agents:greedy", "--mapsat-save=run.json").assert_outcomes(failed=4)
    one = saved_timeless(hotel)
    assert [(card["trial"], card["nodeid"]) for card in one["cases"][:2]] == [
        (1, "cases/test_cancels.py::test_cancels_one[BK-1-t1]"),
        (2, "cases/test_cancels.py::test_cancels_one[BK-1-t2]"),
    ]
    assert {label for (_, name), label in labels(one).items() if name != "nothing-else-changes"} == {"passed"}
    hotel.runpytest(*always, "--mapsat-agent=desk_agents:greedy", "--mapsat-save=wide.json", "--mapsat-concurrency=3")
    workers = hotel.runpytest(*always, "--mapsat-agent=desk_agents:greedy", "--mapsat-save=many.json", "-n2")
    workers.assert_outcomes(failed=4)
    assert saved_timeless(hotel, "wide.json") == saved_timeless(hotel, "many.json") == one
    hotel.runpytest(*always, "--mapsat-agent=desk_agents:greedy", "-x", "--mapsat-save=part.json").assert_outcomes(
        failed=1
    )
    assert len(saved(hotel, "part.json")["accounting"]["lost"]) == 3
    # The dialogue of the first episode is kept, and what the function makes of it now is what counts.
    body = CANCELS.replace("episode.changed_rows == ", "episode.changed_rows >= ")
    write_hotel(hotel.path, test_cancels=body)
    hotel.runpytest(
        *always, "--mapsat-agent=desk_agents:greedy", "--mapsat-resume=part.json", "--mapsat-save=rest.json"
    ).assert_outcomes(passed=4)
    rest = saved(hotel, "rest.json")
    assert [card["outcome"] for card in rest["cases"]] == ["passed"] * 4
    assert rest["accounting"]["lost"] == []
    assert main(["compare", "run.json", "rest.json"]) == 2  # the functions differ, so that the cases do
    hotel.runpytest(
        "cases", "--mapsat-agent=desk_agents:hasty", "--reruns=1", "-k", "BK-1", "--mapsat-save=again.json", "--tb=no"
    )
    assert [card["attempt"] for card in saved(hotel, "again.json")["cases"]] == [1, 2]


def twelve(confirms: str | None, booking: str, please: str) -> dict[str, Any]:
    """Return a case in YAML: what the function of ``TWELVE`` says, said as checks."""
    wanted = "cancelled" if confirms == "yes" else "confirmed"
    mine = {"table": "bookings", "where": {"id": booking}}
    checks: list[dict[str, Any]] = [
        {"id": "as-wished", "kind": "asked", "text": "as wished", "check": {"kind": "state", **mine, "has": {"status": wanted}}},
        {"id": "nothing-else", "kind": "hard", "text": "nothing else", "check": {"kind": "unchanged", "except": [mine]}},
        {"id": "agreed", "kind": "hard", "text": "agreed", "check": {"kind": "calls", "tool": "cancel_booking", "at_least": 0, "agreed": True}},
        {"id": "looks-first", "kind": "soft", "text": "looks first", "weight": 0.3, "check": {"kind": "calls", "tool": "list_bookings", "with": {"guest": "ida"}}},
    ]  # fmt: skip
    return {
        "id": f"{confirms}-{booking}-{please}",
        "domains": ["bookings"],
        "visible": {"query": f"{please} {booking}."},
        "truth": {
            "requirements": checks,
            "user": {"confirms": confirms},
            "tools": [{"name": "cancel_booking", "required": ["booking_id"]}],
        },
    }


TWELVE = """
import pytest
from pytest_mapsat import User, case

def cases(confirms):
    def declare(function):
        function = pytest.mark.parametrize("please", ["Cancel", "Drop"])(function)
        function = pytest.mark.parametrize("booking", ["BK-1", "BK-2"])(function)
        user = User(confirms=confirms)
        tools = [{"name": "cancel_booking", "required": ["booking_id"]}]
        return case("{please} {booking}.", user=user, id=f"{confirms}-{{booking}}-{{please}}", domains=["bookings"], tools=tools)(function)
    return declare
"""
BODY = """
@cases(%r)
def test_%s(episode, booking, please):
    with episode.asked("as wished"):
        assert episode.state["bookings"][booking]["status"] == %r
    with episode.hard("nothing else"):
        assert episode.changed_rows <= {("bookings", booking)}
    with episode.hard("agreed"):
        assert not episode.called("cancel_booking") or episode.agreed("cancel_booking")
    with episode.soft("looks first", weight=0.3):
        assert episode.called("list_bookings", guest="ida")
"""


@pytest.mark.parametrize("agent", ["good", "hasty", "greedy"])
def test_twelve_cases_in_yaml_and_in_python_have_the_same_labels_and_scorecards(
    pytester: pytest.Pytester, agent: str
) -> None:
    bodies = "".join(
        BODY % (who, str(who).lower(), "cancelled" if who == "yes" else "confirmed") for who in ("yes", "no", None)
    )
    python = write_hotel(pytester.path / "python", test_twelve=TWELVE + bodies)
    written = write_hotel(pytester.path / "written")
    cases = [twelve(*values) for values in product(("yes", "no", None), ("BK-1", "BK-2"), ("Cancel", "Drop"))]
    (written / "cases" / "twelve.yaml").write_text(json.dumps(cases))  # JSON is YAML
    cards = []
    for folder in (python, written):
        options = ("cases", f"--mapsat-agent=desk_agents:{agent}", "--mapsat-save=../run.json", "--tb=no", "-q")
        pytester.chdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            pytester.runpytest(f"--rootdir={folder}", *options, "-p", "no:cacheprovider")
        run = timeless(saved(pytester))
        cards.append(
            {
                card["id"]: [
                    card[name] for name in ("outcome", "blame", "metrics", "classes", "calls", "sandbox", "turns")
                ]
                + [
                    {
                        label["requirement"]: (label["kind"], label["outcome"], label["value"])
                        for label in card["labels"]
                    }
                ]
                for card in run["cases"]
            }
        )
        sums = {name: run[name] for name in ("summary", "groups", "accounting")}
        cards.append(sums)
    assert len(cards[0]) == 12
    assert cards[0] == cards[2]
    assert cards[1] == cards[3]
    assert ("failed" in {card[0] for card in cards[0].values()}) == (agent != "good")


FIXTURE = """
import pytest

@pytest.fixture(scope="session")
def mapsat_agent():
    {how}
"""
SMALL = """
import pytest
from pytest_mapsat import case

@case("Hello")
def test_greets(episode):
    assert "Goodbye" in episode.replies[0]

@pytest.fixture
def database():
    pytest.skip("no database here")

@case("Hello")
def test_with_a_database(episode, database):
    assert episode.replies

def test_of_suites(mapsat_case):
    raise AssertionError
"""


def test_plain_pytest_skips_without_an_agent_and_takes_one_from_a_fixture_or_an_ini_file(
    hotel: pytest.Pytester,
) -> None:
    (hotel.path / "cases" / "test_cancels.py").unlink()
    hotel.makepyfile(test_small=SMALL)
    result = hotel.runpytest("-rs")
    result.assert_outcomes(skipped=3)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "SKIPPED*no agent: give one with --mapsat-agent=module:attr, the key mapsat_agent of an ini file, or a fixture mapsat_agent*"
        ]
    )
    conftest = (hotel.path / "conftest.py").read_text()
    for how in ('return "desk_agents:good"', "import desk_agents; return desk_agents.good"):
        (hotel.path / "conftest.py").write_text(conftest + FIXTURE.format(how=how))
        result = hotel.runpytest("-v", "-rs", "--mapsat-save=run.json")
        result.assert_outcomes(passed=1, skipped=2)
        assert result.ret == 0
        result.stdout.fnmatch_lines(["suite  *", "all *1/1*", "*no database here", "*no agent: *"])
        run = saved(hotel)
        assert run["manifest"]["agent"] == "fixture"
        assert [suite["name"] for suite in run["manifest"]["suites"]] == ["python-cases"]
    quiet = hotel.runpytest("-k", "suites")
    assert "mapsat" not in quiet.stdout.str().partition("collected")[2]
    hotel.runpytest("-n1").assert_outcomes(passed=1, skipped=2)
    (hotel.path / "conftest.py").write_text(conftest + FIXTURE.format(how='return "desk_agents:nobody"'))
    hotel.runpytest("-k", "greets").assert_outcomes(errors=1)
    (hotel.path / "conftest.py").write_text(conftest)
    hotel.makeini("[pytest]\nmapsat_agent = desk_agents:crash\n")
    hotel.runpytest("test_small.py", "-k", "greets").assert_outcomes(failed=1)


BAD = {
    "a block in a block": (
        'with episode.hard("a"):\n        with episode.soft("b"):\n            assert episode.replies', "*:7: this block stands in another one ('a') (end that block first)",
    ),
    "two blocks in one statement": (
        'with episode.hard("a"), episode.soft("b"):\n        assert episode.replies', "*:6: this block stands in another one ('b')*",
    ),
    "a block twice": (
        'with episode.hard("a"):\n        assert episode.replies\n    with episode.soft("a"):\n        assert episode.replies', "*:8: two blocks have the text 'a': the other stands on line 6*",
    ),
    "a text that is no literal": (
        'with episode.hard("a" + "b"):\n        assert episode.replies', "*:6: the text of this block is no literal (@case(requirements=[[]...[]]) names it*",
    ),
    "a comparison without assert": (
        'with episode.hard("a"):\n        episode.ending == "done"', "*:7: it tells whether something holds, and what comes of it is lost (write assert)",
    ),
    "a question without assert": (
        'with episode.hard("a"):\n        found = episode.called("x")', "*:6: nothing in the block 'a' can fail (write assert in it)",
    ),
    "nothing": ("pass", "*:5: nothing in this case can fail (write assert, or a block: with episode.hard('...'))"),
    "a weight that is no literal": (
        'with episode.soft("a", weight=1 / 3):\n        assert episode.replies', "*:6: weight of a block is no literal*",
    ),
}  # fmt: skip
DECLARED = {
    "a user": ('"x", user=User(confirms="maybe")', "*:4: user.confirms: found 'maybe', expected one of yes, no"),
    "a word of the context": (
        '"x",\n    context={"nowe": "2026"},\n',
        "*:5: context.nowe: is not a known field (did you mean 'now'?)",
    ),
    "a tool": ('"x", tools=[{"name": "cancel_bookng"}]', "*:4: tools?0?.name: *did you mean 'cancel_booking'*"),
    "a domain": ('"x", domains=["booking"]', "*:4: domains*did you mean 'bookings'*"),
    "a parameter": (
        '"x {nam}"',
        "*:4: query: the test has no parameter 'nam' (write {{nam}} for the braces themselves)",
    ),
    "an id": ('"x", id="a b"', "*:4: id: found 'a b', expected 1 to 80 of A-Z a-z 0-9 _ . -"),
    "a keyword": ('"x", usr=1', "*TypeError: case() got an unexpected keyword argument 'usr'*"),
    "no query": ("3", "*TypeError: @case needs what the user says first: found 3*"),
}


def test_what_is_wrong_with_a_case_is_told_at_collection_with_file_and_line(hotel: pytest.Pytester) -> None:
    head = "import pytest, unittest\nfrom pytest_mapsat import User, case\n\n"
    plain = "def test_x(episode):\n    assert episode.replies\n"
    modules = {
        f"test_{number}": f'{head}@case("x")\ndef test_x(episode):\n    {body}\n'
        for number, (body, _) in enumerate(BAD.values())
    }
    modules |= {
        f"test_{number}": f"{head}@case({given})\n{plain}"
        for number, (given, _) in enumerate(DECLARED.values(), len(BAD))
    }
    modules["test_unit"] = (
        head
        + 'class TestUnit(unittest.TestCase):\n    @case("x")\n    def test_x(self, episode):\n        assert episode\n'
    )
    modules["test_no_episode"] = head + '@case("x")\ndef test_x():\n    assert True\n'
    modules["test_of_suites"] = head + '@case("x")\ndef test_x(episode, mapsat_case):\n    assert episode.replies\n'
    modules["test_same"] = head + f'@case("x", id="one")\n{plain}\n@case("x", id="one")\n{plain.replace("_x", "_y")}'
    modules["test_no_case"] = "def test_x(episode):\n    assert episode\n"
    write_hotel(hotel.path, test_cancels="", **modules)
    result = hotel.runpytest("cases", "--mapsat-agent=desk_agents:good", "--continue-on-collection-errors")
    result.assert_outcomes(errors=len(modules))
    text = result.stdout
    for number, (_, told) in enumerate((*BAD.values(), *DECLARED.values())):
        text.fnmatch_lines([f"*ERROR collecting cases/test_{number}.py*", told])
    text.fnmatch_lines(["*test_unit.py:6: a case in unittest.TestCase*"])
    text.fnmatch_lines(["*test_no_episode.py:5: a case takes the argument 'episode'"])
    text.fnmatch_lines(
        ["*test_of_suites.py:5: a case in Python has its episode: mapsat_case is for tests of cases in suites"]
    )
    text.fnmatch_lines(["*test_same.py:9: the id 'one' is taken: *test_same.py:5 has it*"])
    text.fnmatch_lines(["*fixture 'episode' not found"])


def test_a_debugger_stops_at_the_first_failure_and_optimised_python_is_refused(
    hotel: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    hotel.makepyfile(
        stops="""
        class Stops:
            quitting = False
            def __init__(self, *args, **kwargs): pass
            def reset(self): pass
            def interaction(self, frame, trace):
                while trace.tb_next: trace = trace.tb_next
                print("stopped at", trace.tb_lineno)
        """
    )
    result = hotel.runpytest(
        "cases", "--mapsat-agent=desk_agents:hasty", "--pdb", "--pdbcls=stops:Stops", "-k", "BK-1", "-s"
    )
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["*stopped at 14"])
    monkeypatch.setattr("pytest_mapsat.registry.without_assertions", lambda: True)
    result = hotel.runpytest("cases", "--mapsat-agent=desk_agents:good")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*Python leaves out every assert*"])


def alone(arguments: list[str]) -> int:
    """Run a command of ``mapsat`` as in a process of its own, which imports the tests and leaves none."""
    before = {*sys.modules}
    try:
        return main(arguments)
    finally:
        for name in {*sys.modules} - before:
            if name.startswith(("test_", "conftest", "desk_agents")):
                del sys.modules[name]


def regrade(*options: str) -> int:
    """Run ``mapsat regrade`` on ``run.json``."""
    return alone(["regrade", "run.json", *options])


KNOWN = """
import pytest
from pytest_mapsat import case

@pytest.fixture
def known(tmp_path):
    return {"Goodbye."}

@case("Hello")
def test_known(episode, known):
    assert episode.replies[0] in known
"""


def test_regrade_plays_the_functions_over_the_kept_dialogues(
    hotel: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    write_hotel(hotel.path, test_known=KNOWN)
    ended = hotel.runpytest("cases", "--mapsat-agent=desk_agents:greedy", "--mapsat-save=run.json", "--tb=no")
    ended.assert_outcomes(passed=1, failed=2)
    before = saved_timeless(hotel)
    assert regrade("--save=same.json") == 1
    assert "labels are kept of test_known.test_known: the functions ask for known" in capsys.readouterr().err
    assert saved_timeless(hotel, "same.json") == before
    milder = CANCELS.replace("changed_rows ==", "changed_rows >=")
    write_hotel(hotel.path, test_cancels=f"{milder}\n", test_known=KNOWN.replace("Goodbye.", "Good evening."))
    assert regrade("--save=other.json") == 0
    other = saved(hotel, "other.json")
    assert [card["outcome"] for card in other["cases"]] == ["passed"] * 3
    same = [card["stamp"] == old["stamp"] for card, old in zip(other["cases"], before["cases"], strict=True)]
    assert same == [False, False, True]
    assert regrade("--with-fixtures", "--save=all.json") == 1
    assert labels(saved(hotel, "all.json"))["test_known.test_known", "test_known"] == "failed"
    write_hotel(hotel.path, test_known=KNOWN.replace('return {"Goodbye."}', 'raise OSError("no database")'))
    assert regrade("--with-fixtures") == 2
    assert "test_known.py::test_known cannot be played: OSError: no database" in capsys.readouterr().err
    write_hotel(hotel.path, test_known="import nowhere")
    assert regrade() == 2
    assert "No module named 'nowhere'" in capsys.readouterr().err


def test_an_agent_that_crashes_or_deletes_keeps_its_denominators_and_reads_nothing_of_the_function(
    hotel: pytest.Pytester,
) -> None:
    hotel.runpytest("cases", "--mapsat-agent=desk_agents:crash", "--mapsat-save=run.json", "--tb=no").assert_outcomes(
        failed=2
    )
    crashed = saved(hotel)
    assert [card["outcome"] for card in crashed["cases"]] == ["failed", "failed"]
    assert len(crashed["cases"][0]["requirements"]) == 5
    assert crashed["summary"]["ecr"]["mean"] == 0
    hotel.runpytest(
        "cases", "--mapsat-agent=desk_agents:dropping", "--mapsat-save=run.json", "--tb=no"
    ).assert_outcomes(failed=2)
    assert labels(saved(hotel))["test_cancels.test_cancels_one-BK-1", "the-booking-is-cancelled"] == "failed"
    first = saved(hotel)["cases"][0]
    why = {label["requirement"]: label["why"] for label in first["labels"]}["the-booking-is-cancelled"]
    assert why == "there is no row 'BK-1' in bookings at the end"
    told = json.dumps(first["trajectory"]["turns"])
    assert "nothing else changes" not in told
    assert "test_cancels" not in told


def test_shards_become_one_run_and_samples_and_gaps_in_sequences_are_refused(hotel: pytest.Pytester) -> None:
    hotel.makeini("[pytest]\naddopts = --strict-markers\n")
    for shard in ("1/2", "2/2"):
        options = (
            "cases",
            "--mapsat-agent=desk_agents:good",
            f"--mapsat-shard={shard}",
            f"--mapsat-save={shard[0]}.json",
        )
        hotel.runpytest(*options)
    assert alone(["merge", "1.json", "2.json", "--out=run.json"]) == 0
    assert [card["outcome"] for card in saved(hotel)["cases"]] == ["passed", "passed"]
    refused = hotel.runpytest("cases", "--mapsat-agent=desk_agents:good", "--mapsat-sample=1")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--mapsat-sample*"])
    gap = CANCELS.replace("domains=[", 'group={"name": "ida", "order": 2}, domains=[').replace(
        '"BK-1", "BK-2"', '"BK-1"'
    )
    write_hotel(hotel.path, test_cancels=gap)
    refused = hotel.runpytest("cases", "--mapsat-agent=desk_agents:good")
    refused.stderr.fnmatch_lines(["*test_cancels.py:8: group.order: found place 2 of the sequence 'ida', expected 1*"])
