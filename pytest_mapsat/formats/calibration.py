"""The calibration table of a judge that reads prose, in a file."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from pytest_mapsat.model import CALIBRATION_SCHEMA, Calibration, Problem, SuiteError, digest

from . import limits
from .files import read_bytes, shown_path


def signed(calibration: Calibration) -> Calibration:
    """Return a table with the digest of its content."""
    return calibration.model_copy(update={"digest": digest(calibration.model_copy(update={"digest": ""}).to_json())})


def read_calibration(path: Path) -> Calibration:
    """Return the table in a file.

    Raises:
        SuiteError: it cannot be read, is of another version, is cut short, or was changed by hand.
    """
    place = shown_path(path)
    again = "compute it again: mapsat lint SUITE --answers --calibrate"
    try:
        data = json.loads(read_bytes(path, limits.MIB))
        if not isinstance(data, dict):
            raise TypeError("expected a JSON object")  # noqa: TRY301 - told as the others are
        if (version := data.get("schema")) != CALIBRATION_SCHEMA:
            raise SuiteError(Problem(place, 0, f"found schema {version!r:.80}, expected {CALIBRATION_SCHEMA}", again))
        calibration = Calibration.model_validate(data)
    except (ValueError, TypeError, RecursionError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise SuiteError(Problem(place, 0, f"is no calibration table: {what:.200}", again)) from error
    if signed(calibration).digest != calibration.digest:
        raise SuiteError(Problem(place, 0, "was changed by hand: its digest is another", again))
    return calibration
