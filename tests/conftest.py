"""What all tests need: nothing that one of them imports may hide installed plugins from the next."""

import gc
import os
import sys
import tomllib
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import hypothesis  # its plugin would load it at the end, and look for what is left out of collections by then
import pytest
from generated import EVERYDAY, PROOFS
from installed_packages import remember_installed
from waits import heed_interrupts, limited
from warm_python import warm_python

from pytest_mapsat.llm.client import library

with suppress(ImportError):
    # litellm imports this backport, which takes over the search for installed packages from the standard library for good. Where that first
    # happens inside a run of pytester, pytester takes the new finder away again, and pytest finds no plugin in this process any more.
    import importlib_metadata  # noqa: F401

with suppress(ImportError):
    # It cannot be loaded twice in one process, and pytester makes the process forget what a run has imported.
    import numpy as np  # noqa: F401

remember_installed()

#: Seconds that a test may take, also on a machine that has much else to do.
_LONGEST, _LONGEST_PROOF = 600, 3600


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="run with workers, too, what else runs in one process only"
    )
    parser.addoption(
        "--proofs", action="store_true", help="run the long proofs, and what tries generated input with all examples"
    )
    parser.addoption(
        "--proofs-share",
        metavar="K/N",
        type=_share,
        default=(1, 1),
        help="with --proofs: of the proofs that take turns, and of what tries generated input, run the Kth of N parts only",
    )


def pytest_configure(config: pytest.Config) -> None:
    _check_entry_points()
    heed_interrupts()
    hypothesis.settings.load_profile(PROOFS if config.getoption("--proofs") else EVERYDAY)
    os.environ["COLUMNS"] = "80"  # what is printed, also by processes that tests start, is as wide everywhere
    config.addinivalue_line("markers", "thorough: runs under --thorough only")
    config.addinivalue_line("markers", "cold: starts interpreters that have imported nothing")
    config.addinivalue_line(
        "markers",
        "long_proof(in_turn=False): many simulated runs, mutants or pages; runs under --proofs only."
        " in_turn: it takes turns with others, see --proofs-share",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    proofs, thorough = config.getoption("--proofs"), config.getoption("--thorough")
    part, parts = config.getoption("--proofs-share")
    in_turn = [item for item in items if proofs and _takes_turns(item)]
    of_other_parts = {item for at, item in enumerate(in_turn) if at % parts != part - 1}
    left_out = [
        item
        for item in items
        if (item.get_closest_marker("thorough") and not thorough)
        or (item.get_closest_marker("long_proof") and not proofs)
        or (proofs and not item.get_closest_marker("long_proof") and not _tries_generated_input(item))
        or item in of_other_parts
    ]
    gone = set(left_out)
    kept = [item for item in items if item not in gone]
    # The library of models takes seconds to import: the tests that need it come first, and so to one worker.
    items[:] = sorted(kept, key=lambda item: "litellm" not in getattr(item, "fixturenames", ()))
    if left_out:
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with limited(_LONGEST_PROOF if item.config.getoption("--proofs") else _LONGEST):
        return (yield)


def _share(text: str) -> tuple[int, int]:
    """Read ``K/N``. Raises ValueError."""
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(text)
    return part, parts


def _takes_turns(item: pytest.Item) -> bool:
    """Return whether a proof may wait for the next commits; what tries generated input is run every day anyway, with fewer examples."""
    proof = item.get_closest_marker("long_proof")
    return bool(proof.kwargs.get("in_turn")) if proof else _tries_generated_input(item)


def _tries_generated_input(item: pytest.Item) -> bool:
    return hypothesis.is_hypothesis_test(getattr(item, "obj", None))


def _check_entry_points() -> None:
    """Stop where the ports were registered since the package was installed: an editable install does not notice."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {(group, *item) for group, points in project["entry-points"].items() for item in points.items()}
    installed = {(point.group, point.name, point.value) for point in distribution("pytest-mapsat").entry_points}
    if missing := sorted(wanted - installed):
        names = ", ".join(f"{group}: {name}" for group, name, _ in missing)
        pytest.exit(f"not installed: {names}; run: .venv/bin/pip install --no-deps -e .", returncode=4)


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command of an interpreter that has imported everything."""
    with warm_python(tmp_path_factory.mktemp("warm")) as command:
        yield command


@pytest.fixture(scope="session")
def litellm() -> None:
    """Import the library of models, where it is installed, once for all tests of this process."""
    if find_spec("litellm"):
        library()
    _keep_from_the_collector()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    _keep_from_the_collector()


def _keep_from_the_collector() -> None:
    """Keep the collector of cycles from going over what stays: thousands of tests, and libraries."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_spans_of_other_tests() -> Iterator[None]:
    """Forget the spans that no episode of this test's runs asked for: the receivers of a process outlive its runs."""
    yield
    if (own_calls := sys.modules.get("pytest_mapsat.agents.own_calls")) is not None:
        for receiver in own_calls._receivers.values():
            receiver.foreign.clear()
            receiver.silent = receiver.cut = 0
