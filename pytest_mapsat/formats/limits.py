"""How much of a suite is read before it is refused. Generous for real suites, small for a bomb."""

from __future__ import annotations

MIB = 1024 * 1024

#: One YAML file (cases, tools, the manifest).
YAML_BYTES = 16 * MIB
#: One case in a JSONL file, one line.
CASE_BYTES = 2 * MIB
#: One record, one line.
RECORD_BYTES = 8 * MIB
#: A JSONL file, and what a compressed one may unpack to.
FILE_BYTES = 4096 * MIB
GZIP_BYTES = 1024 * MIB
#: Lines of a JSONL file, blank ones included.
LINES = 5_000_000
#: Lists and mappings inside each other.
DEPTH = 64
#: Digits of one number.
NUMBER_CHARS = 400
#: Problems reported of one file.
PROBLEMS = 20
