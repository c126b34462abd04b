"""The service with a database: its cases pass, and each of its faults fails the case that is there for it. The page that begins with it does what it says."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import sleep

import pytest
from walkthrough import walk

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "service_with_database"
PAGE = (ROOT / "docs" / "how-to" / "test-a-service.md").read_text(encoding="utf-8")
#: Words that somebody reads who begins.
LONGEST = 900
CASES = f"{EXAMPLE.relative_to(ROOT)}/test_hotel.py"
#: Each fault, the case that shows it, and what the block says that fails.
FAULTS = {
    "cancels_all": ("test_asks_which_booking", "the other one stays"),
    "asks_nothing": ("test_cancels[BK-1-288.00]", "the guest agrees first"),
    "mixes_up": ("test_cancels[BK-1-288.00]", "the booking is cancelled"),
    "only_says": ("test_asks_which_booking", "the booking that the guest named is cancelled"),
    "ignores_no": ("test_takes_no_for_an_answer", "nothing changes"),
    "full_refund": ("test_cancels[BK-2-95.00]", "the refund is what the rate gives back"),
    "refunds_twice": ("test_cancels[BK-2-95.00]", "the refund is what the rate gives back"),
}


def run(cases: str, warm: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [warm, "-m", "pytest", cases, "-p", "no:cacheprovider", "-q"]
    environment = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_its_cases_pass(warm: str) -> None:
    done = run(CASES, warm)
    assert "7 passed" in done.stdout, done.stdout
    assert "undecided" not in done.stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_fails_the_case_that_is_there_for_it(fault: str, warm: str) -> None:
    name, requirement = FAULTS[fault]
    done = run(f"{CASES}::{name}", warm, HOTEL_BUGS=fault)
    assert "1 failed" in done.stdout, done.stdout
    assert f"rule    {requirement}\n" in done.stdout


def test_the_service_knows_no_other_faults() -> None:
    pytest.importorskip("fastapi")
    source = (EXAMPLE / "hotel.py").read_text(encoding="utf-8")
    listed = source.partition("BUGS = {")[2].partition("}")[0]
    assert [line.split('"')[1] for line in listed.strip().splitlines()] == [*FAULTS]
    assert all(f'"{name}" in bugs' in source for name in FAULTS)


@pytest.mark.long_proof(in_turn=True)
def test_the_page_that_begins_with_it_does_what_it_says(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    for name in ("hotel.py", "data.sql"):
        shutil.copy(EXAMPLE / name, tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    before, _, after = PAGE.replace("8000", str(port)).partition("Does it find a fault?")
    programs = str(Path(sys.executable).parent)
    for page, faults in ((before, ""), (after, "ignores_no")):
        environment = {**os.environ, "HOTEL_DATABASE": "sqlite:///hotel_test.db", "HOTEL_BUGS": faults}
        command = [sys.executable, "-m", "uvicorn", "hotel:app", "--port", str(port), "--log-level", "warning"]
        with subprocess.Popen(command, cwd=tmp_path, env=environment) as service:
            try:
                answering(port)
                assert "\n\n".join(walk(page, tmp_path, programs)) == ""
            finally:
                service.terminate()
    assert len(PAGE.split()) <= LONGEST


def answering(port: int) -> None:
    """Wait until something listens on a port."""
    for _ in range(300):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")
