"""The items of cases: each is played, judged, and reported as pytest reports a test."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_mapsat.judges import Blocks, unjudgeable
from pytest_mapsat.model import ASSERTED_AS, Case, MapsatError, Scorecard, outcome_word
from pytest_mapsat.printed import printed
from pytest_mapsat.reports import lost_reason, printable, properties
from pytest_mapsat.runs.episodes import Ended
from pytest_mapsat.runs.request import CeilingReachedError, metrics_of
from pytest_mapsat.runs.runner import Played

from .functions import blocks_for, call_body, stamp_of
from .item_reports import Completion, packed, show_each_exception, text_of
from .items import PYTHON_CASE, CaseFile, is_built_in, is_ours, param_of, wanted_of
from .private import definitions

if TYPE_CHECKING:
    from .session import MapsatSession

ENDED = pytest.StashKey[list[Ended]]()
LOST = pytest.StashKey[Scorecard | None]()
#: What is known of an episode of which the body in Python has failed.
TEXT = pytest.StashKey[str]()
_SKIPS = (pytest.skip.Exception, pytest.xfail.Exception)


@contextmanager
def as_outcomes() -> Iterator[None]:
    """Turn errors that prevent an episode or its judgement into a skip or a failure of its item.

    Raises:
        pytest.skip.Exception: it would have cost too much.
        pytest.fail.Exception: of anything else.
    """
    try:
        yield
    except CeilingReachedError as error:
        raise pytest.skip.Exception(str(error)) from error
    except MapsatError as error:  # a recording that cannot be read, a judge without its file
        raise pytest.fail.Exception(printed(error), pytrace=False) from error


def keep(item: pytest.Item, ended: Ended) -> Scorecard:
    """Keep an episode for the next report of its item."""
    item.stash.setdefault(ENDED, []).append(ended)
    item.stash[LOST] = ended.card if ended.card.lost else None
    return ended.card


class Items:
    """Plays the cases of one process, built-in and in Python, and hands their episodes to the reporter."""

    def __init__(self, session: MapsatSession) -> None:
        self._session = session
        self._completion = Completion(session.config, session.settings.request.options)
        #: Tests that are to be run again, with the worker of each, where there are workers.
        self._repeated: set[tuple[str, object]] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a built-in item: pass, fail with the reasons, or skip if it is undecided or lost."""
        if not isinstance(pyfuncitem.parent, CaseFile):
            return None
        case = cast("Case", pyfuncitem.funcargs["mapsat_case"])
        given = pyfuncitem.funcargs
        card = self._session.episode(pyfuncitem, case, given.get("mapsat_agent"), given.get("mapsat_environment"))
        self._conclude(card, self._text_of(pyfuncitem, case, card))
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_pyfunc_call")
    def pytest_call_body(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Play the dialogue of a Python case before pytest or another plugin calls its body."""
        __tracebackhide__ = True
        return (yield from self._call(pyfuncitem)) if PYTHON_CASE in pyfuncitem.stash else (yield)

    def _call(self, item: pytest.Function) -> Generator[None, object, object]:
        """Play the dialogue of a Python case, have pytest call its body, keep the episode, and raise its outcome."""
        __tracebackhide__ = True
        own, param, agent = item.stash[PYTHON_CASE], param_of(item), item.funcargs.get("mapsat_agent")
        wanted = wanted_of(item, agent)
        with as_outcomes():
            self._session.join_run()
            runner, before = self._session.runner(agent), self._session.episodes.before(wanted)
            case = self._session.load(param)
            played = Played(case, before.trajectory, None) if before is not None else None
            if played is None:
                environment = item.funcargs.get("mapsat_environment")
                played = cast("Played", self._session.played(runner, param, case, wanted, environment))
            context = runner.context(param.suite, played)
        asserted = self._session.settings.request.options.asserted_kinds
        blocks: Blocks | None = None
        broken: BaseException | None = None
        if unjudgeable(played.case, played.trajectory, "", "") is None:
            blocks = blocks_for(
                own, context, stops=lambda kind: item.config.option.usepdb and ASSERTED_AS.get(kind) in asserted
            )
            broken = yield from call_body(item, context, blocks)
        known: dict[str, Any] = {"nodeid": param.nodeid, "line": param.entry.line, "stamp": stamp_of(own, context)}
        known |= {"timing": before.timing} if before is not None else {}
        with as_outcomes():
            graded = runner.grade(param.suite, played, decided=blocks.decided if blocks else None, **known)
            ended = self._session.episodes.ended(item.nodeid, wanted, param.nodeid, lambda: graded, again=True)
        card = keep(item, ended)
        text = self._text_of(item, played.case, card)
        if broken is not None and not isinstance(broken, pytest.skip.Exception):
            raise broken
        failures = [error for kind, error in blocks.failures if ASSERTED_AS.get(kind) in asserted] if blocks else []
        if card.outcome == "failed" and failures:
            item.stash[TEXT] = text
            raise failures[0] if len(failures) == 1 else BaseExceptionGroup(card.reason, failures)
        self._conclude(card, text)
        return True

    def _text_of(self, item: pytest.Item, case: Case, card: Scorecard) -> str:
        """Return the text of an item's outcome, and attach the episode's properties to the item."""
        others = [pair for pair in item.user_properties if not pair[0].startswith("mapsat.")]
        item.user_properties[:] = [*others, *properties(card)]  # not those of an earlier attempt
        if card.outcome != "failed" and not card.lost:
            return f"{outcome_word(card.outcome, lost=card.lost)}: {card.reason}"
        param, request = param_of(item), self._session.settings.request
        metrics = metrics_of([param.suite], self._session.metric_sets, request.options.metrics)
        place = self._session.place(param)
        return text_of(self._session.config, request, card, case, place=place, line=param.entry.line, metrics=metrics)

    def _conclude(self, card: Scorecard, text: str) -> None:
        """Fail, skip or pass a built-in item by the outcome of its episode."""
        if card.outcome == "failed":
            pytest.fail(text, pytrace=False)
        if card.outcome != "passed":
            pytest.skip(text)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Release the environment of a fixture before the fixture is torn down."""
        if (getattr(item, "funcargs", None) or {}).get("mapsat_environment") is not None:
            scopes = {getattr(definition, "scope", "") for definition in definitions(item, "mapsat_environment")[-1:]}
            if nextitem is None or scopes != {"session"}:
                self._session.environments.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Pass an item's episodes to the reporter; on a worker, within the item's report."""
        report = yield
        if lost := self._why_lost(item, report, call):
            seconds = report.duration
            call = pytest.CallInfo.from_call(lambda: pytest.fail(lost, pytrace=False), "call")
            report = pytest.TestReport.from_item_and_call(item, call)
            report.duration, report.when = seconds, "setup"  # where pytest has what keeps a test from telling anything
        if isinstance(report.longrepr, tuple) and is_ours(report.longrepr[0]):
            # We skip a test of others: its place is not in our code.
            report.longrepr = (str(item.path), (item.reportinfo()[1] or 0) + 1, report.longrepr[2])
        ended = item.stash.get(ENDED, None)
        if call.excinfo is not None and call.when == "call" and (text := item.stash.get(TEXT, "")):
            del item.stash[TEXT]
            show_each_exception(item, report, call.excinfo)
            report.sections.append(("mapsat", text))
        if is_built_in(item):
            card = ended[-1].card if ended else None
            reason = "" if card is None else lost_reason(card) if card.lost else card.reason
            self._completion.complete(report, item, call, reason)
        if not ended:
            return report
        del item.stash[ENDED]
        if self._session.reporter is None:
            report.__dict__["mapsat"] = [packed(episode) for episode in ended]
        else:
            self._session.reporter.fresh.setdefault(report.nodeid, []).extend(ended)
            report.__dict__["mapsat"] = ()
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Hide the teardown of an attempt that will be rerun: JUnit would count the attempt as passed."""
        attempt = report.nodeid, getattr(report, "node", None)
        repeated = self._session.is_controller and report.when == "teardown" and attempt in self._repeated
        if repeated:
            self._repeated.remove(attempt)
            report.when = "setup"
        elif str(report.outcome) == "rerun" and (
            self._session.suites.case_of(report.nodeid) or hasattr(report, "mapsat")
        ):
            self._repeated.add(attempt)
        try:
            return (yield)
        finally:
            if repeated:
                report.when = "teardown"

    def _why_lost(self, item: pytest.Item, report: pytest.TestReport, call: pytest.CallInfo[None]) -> str:
        """Return why a finished test gives no information about the agent; empty if it does, or its author skipped it."""
        built_in = is_built_in(item)
        raised = None if call.excinfo is None else call.excinfo.value
        if report.when == "teardown":
            item.stash[LOST] = None
        if report.when != "call" or (not built_in and isinstance(raised, _SKIPS)):
            return ""
        if isinstance(raised, pytest.fail.Exception) and isinstance(raised.__cause__, MapsatError):
            return str(raised)
        card = item.stash.get(LOST, None)
        if card is None or (built_in and isinstance(raised, (*_SKIPS, pytest.fail.Exception))):
            return "" if card is None else str(raised)
        return "\n\n".join(filter(None, (printable(lost_reason(card)), report.longreprtext)))
