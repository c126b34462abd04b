"""A suite whose own labelled answers have shown that failures of its plain words can be trusted."""

import json
from pathlib import Path

from pytest_mapsat.formats import signed
from pytest_mapsat.judges.findings import calibrate
from pytest_mapsat.model import JudgedFailure, Judging

#: More failures of a kind than any table asks for.
_MANY = 60


def trust(folder: Path, *families: str) -> None:
    """Write the table of a suite in which every failure of these families was right.

    Args:
        folder: the suite.
        families: as ``words``; words where none is given.
    """
    cells = [
        f"{family}, {kind}, {size}"
        for family in families or ("words",)
        for kind in ("said", "absent")
        for size in ("small", "medium", "large")
    ]
    failures = tuple(JudgedFailure(requirement="f", cell=cell, size=(1, 1, 0, 0), broken=True) for cell in cells)
    judging = Judging(case="c", answer="a", right=False, failed=failures * _MANY)
    table = calibrate({"own": [judging]}).model_copy(update={"red_of_right": None, "green_of_wrong": None})
    (folder / "calibration.json").write_text(json.dumps(signed(table).to_json() | {"schema": table.schema_}))
