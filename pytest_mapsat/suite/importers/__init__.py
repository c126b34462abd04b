"""From other benchmarks' published files to suites: one format a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .mapsatisfybench import FORMAT, import_mapsatisfybench
from .report import ImportReport, Note

#: What ``mapsat import FORMAT`` knows.
FORMATS: dict[str, Callable[[Path, Path], ImportReport]] = {FORMAT: import_mapsatisfybench}

__all__ = ["FORMATS", "ImportReport", "Note", "import_mapsatisfybench"]
