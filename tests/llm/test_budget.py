"""What the processes of a run may use together."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

from pytest_mapsat.llm import ModelError, Request, SpendingLimits
from pytest_mapsat.llm import client as clients
from pytest_mapsat.llm.client import Budget, estimated_tokens
from pytest_mapsat.model import Usage
from pytest_mapsat.store import Store

ASKED = Request(model="openai/m", messages=({"role": "user", "content": "hi"},))


def budget_of(store: Store, limits: SpendingLimits) -> Budget:
    return Budget(store, "run", limits, priced=lambda _model: True)


def _spend(folder: Path, granted: object) -> None:
    """Ask as often as the run lets this process, each call for 10 tokens."""
    budget = budget_of(Store(folder), SpendingLimits(max_cost=2.5))
    for _ in range(50):
        try:
            assert budget.admit(ASKED, 10, Event())
        except ModelError:
            return
        budget.spend(Usage(input_tokens=9, output_tokens=1, cost=0.125), 0, 10)
        granted.put(1)


def _take(folder: Path, granted: object) -> None:
    budget = budget_of(Store(folder), SpendingLimits(requests_a_minute=10))
    over = Event()
    over.set()  # whoever has to wait gives up
    for _ in range(20):
        granted.put(budget.admit(ASKED, 1, over))


@pytest.mark.parametrize("work", [_spend, _take])
def test_four_processes_share_one_budget(tmp_path: Path, work: object) -> None:
    context = multiprocessing.get_context("fork")
    granted = context.Queue()
    processes = [context.Process(target=work, args=(tmp_path, granted)) for _ in range(4)]
    for process in processes:
        process.start()
    answers = []
    while any(process.is_alive() for process in processes) or not granted.empty():
        if not granted.empty():
            answers.append(granted.get())
    for process in processes:
        process.join()
    if work is _take:
        assert (len(answers), sum(answers)) == (80, 10)
    else:
        assert len(answers) == 20


def test_of_many_calls_at_once_no_more_than_one_goes_beyond_a_ceiling(tmp_path: Path) -> None:
    budget, used = budget_of(Store(tmp_path), SpendingLimits(max_cost=0.2)), []

    def call(number: int) -> None:
        try:
            assert budget.admit(ASKED, 500, Event())
        except ModelError:
            return
        used.append(number)
        sleep(0.01)
        budget.spend(Usage(input_tokens=100, output_tokens=10, cost=0.11), 0, 500)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, range(16)))
    assert len(used) == 2


def test_a_call_that_is_given_up_while_it_waits_for_others_never_goes_out(tmp_path: Path) -> None:
    budget, over = budget_of(Store(tmp_path), SpendingLimits(max_cost=1)), Event()
    assert budget.admit(ASKED, 150, Event())
    over.set()
    assert not budget.admit(ASKED, 150, over)
    budget.spend(Usage(input_tokens=1, cost=0.001), 0, 150)
    assert budget.admit(ASKED, 150, over)


def test_a_call_whose_process_was_killed_is_waited_for_no_longer_than_calls_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, over = budget_of(Store(tmp_path), SpendingLimits(max_cost=1)), Event()
    over.set()
    assert budget.admit(ASKED, 150, Event())
    assert not budget.admit(ASKED, 150, over)
    monkeypatch.setattr(clients, "_LOST", 0.0)
    assert budget.admit(ASKED, 150, over)


def test_tokens_of_a_minute_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_MINUTE", 0.3)
    store = Store(tmp_path)
    budget = budget_of(store, SpendingLimits(tokens_a_minute=100))
    started = monotonic()
    assert budget.admit(ASKED, 60, Event())
    assert budget.admit(ASKED, 40, Event())
    assert monotonic() - started < 0.25
    assert budget.admit(ASKED, 500, Event())  # more than a minute's worth goes out alone
    assert monotonic() - started >= 0.3
    store.close()


def test_a_finished_run_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store(tmp_path)
    budget = budget_of(store, SpendingLimits(max_cost=1))
    budget.spend(Usage(cost=0.5), 3)
    budget.admit(ASKED, 1, Event())
    budget.spend(Usage(cost=0.5), 3)
    with pytest.raises(ModelError, match=r"has spent 1.0000 USD"):
        budget.admit(ASKED, 1, Event())
    budget.forget()
    assert list(store.names()) == []
    store.close()


def test_tokens_are_estimated_from_what_is_sent() -> None:
    short, long = (ASKED.model_copy(update={"messages": ({"role": "user", "content": "字" * n},)}) for n in (1, 1000))
    assert 900 < estimated_tokens(long) - estimated_tokens(short) < 1100
