"""``mapsat cache``: what is kept of models' answers, and moving it."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

_ABOUT = {
    "info": "say where answers are kept, how many, and of which models",
    "clear": "drop all of them",
    "export": "write all of them to a file (JSON Lines), which a team can keep with its code",
    "import": "take over the answers of such a file; what is kept already stays",
}


def add_cache(commands: Any) -> None:
    """Add the command ``mapsat cache``."""
    about = "look at the kept answers of models, drop them, or move them"
    parser = commands.add_parser(
        "cache",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. They lie in the user's cache folder, or where MAPSAT_CACHE_DIR says.",
    )
    steps = parser.add_subparsers(metavar="STEP", required=True, dest="step")
    for name, said in _ABOUT.items():
        step = steps.add_parser(name, help=said, description=f"{said[0].upper()}{said[1:]}.")
        if name in ("export", "import"):
            step.add_argument("file", metavar="FILE", type=Path)
        step.add_argument("--json", action="store_true", help="print what was done as JSON")
        step.set_defaults(command=_cache)


def _cache(options: argparse.Namespace) -> int:
    from pytest_mapsat.llm import Cache, export_entries, import_entries  # noqa: PLC0415  --help needs no pydantic
    from pytest_mapsat.store import Store, clear_store, store_folder  # noqa: PLC0415  likewise

    folder = store_folder()
    if options.step == "clear":
        clear_store(folder)
        return _tell(options, {"folder": str(folder)}, f"{folder}: empty now")
    store = Store(folder)
    try:
        cache = Cache(store)
        if options.step == "export":
            count = export_entries(cache, options.file)
            return _tell(options, {"answers": count}, f"{options.file}: {count} answers")
        if options.step == "import":
            found = import_entries(cache, options.file)
            for problem in found.problems:
                sys.stderr.write(f"mapsat: {problem}\n")
            said = f"{folder}: {found.added} answers added, {found.known} known already, {len(found.problems)} lines of no use"
            told = {"added": found.added, "known": found.known, "problems": list(map(str, found.problems))}
            return max(_tell(options, told, said), int(bool(found.problems)))
        models = Counter((entry.request.model, entry.request.purpose) for entry in cache.entries())
        told = {
            "folder": str(folder),
            "bytes": store.size(),
            "answers": models.total(),
            "models": [
                {"model": model, "purpose": purpose, "answers": count}
                for (model, purpose), count in sorted(models.items())
            ],
        }
        lines = [f"{folder}: {models.total()} answers, {store.size() / 1e6:.1f} MB"]
        lines += [f"  {model}, {purpose}: {count}" for (model, purpose), count in sorted(models.items())]
        return _tell(options, told, "\n".join(lines))
    finally:
        store.close()


def _tell(options: argparse.Namespace, told: dict[str, Any], said: str) -> int:
    text = json.dumps(told, ensure_ascii=False, indent=2) if options.json else said
    sys.stdout.write(f"{text}\n")
    return 0
