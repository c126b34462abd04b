"""Make a suite of a set of answers written blind: the shipped cases, with this set as their labelled answers.

    python tests/natural/as_suite.py blind_13 FOLDER

``mapsat lint FOLDER --answers --save answers.json`` then judges it; README.md says how a model is asked for its labels.
"""

import json
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def as_suite(name: str, folder: Path) -> int:
    """Write the suite and return how many answers it has."""
    cases = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    shutil.copytree(HERE.parents[1] / "benchmark_cases", folder, ignore=shutil.ignore_patterns("labels"))
    (folder / "labels").mkdir()
    rows = [
        {"case": case, "by": "model", "style": re.sub(r"\W+", "-", one["style"])[:80].strip("-")}
        | {key: one[key] for key in ("id", "text", "labels")}
        for case, answers in cases.items()
        for one in answers
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "labels" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return len(rows)


if __name__ == "__main__":
    print(as_suite(sys.argv[1], Path(sys.argv[2])), "answers")  # noqa: T201
