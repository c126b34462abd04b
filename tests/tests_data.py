"""Where the borrowed test data lies. It is never part of the project; tests that need it skip where it is absent."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def data_dir() -> Path:
    """Return the folder of the borrowed data, or skip the calling test."""
    path = Path(os.environ.get("MAPSAT_TEST_DATA") or _BESIDE)
    if not path.is_dir():
        pytest.skip(f"the borrowed test data is not at {path}; set MAPSAT_TEST_DATA to run this test")
    return path
