"""From other benchmarks' published files to suites: one format a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .mapsatisfybench import FORMAT, import_mapsatisfybench
from .mobilitybench import FORMAT as MOBILITYBENCH
from .mobilitybench import import_mobilitybench
from .report import ImportReport, Note

#: What ``mapsat import FORMAT`` knows.
FORMATS: dict[str, Callable[[Path, Path], ImportReport]] = {
    FORMAT: import_mapsatisfybench,
    MOBILITYBENCH: import_mobilitybench,
}

__all__ = ["FORMATS", "ImportReport", "Note", "import_mapsatisfybench", "import_mobilitybench"]
