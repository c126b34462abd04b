"""The rarely used commands of ``python -m pytest_mapsat``: the JSON Schemas of files, and what is kept of models' answers."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from . import shared

NOUNS = ("case", "report", "requirements", "run", "tools")


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("noun", metavar="NOUN", choices=NOUNS, help=f"one of: {', '.join(NOUNS)}")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: a schema is always JSON")


def _schema(options: argparse.Namespace) -> int:
    from pydantic import TypeAdapter

    from pytest_mapsat.model import CommonRequirement, Run, Tool
    from pytest_mapsat.reports import Report
    from pytest_mapsat.suite import WrittenCase

    nouns: dict[str, Any] = {
        "case": WrittenCase,
        "report": Report,
        "requirements": dict[str, CommonRequirement],
        "run": Run,
        "tools": Tool | list[Tool],
    }
    shared.write_json(TypeAdapter(nouns[options.noun]).json_schema())
    return shared.OK


_ABOUT = {
    "info": "say where answers are kept, how many, and of which models",
    "clear": "drop all of them",
    "export": "write all of them to a file (JSON Lines), which a team can keep with its code",
    "import": "take over the answers of such a file; what is kept already stays",
}


def _cache_arguments(parser: argparse.ArgumentParser) -> None:
    about = "info, clear, export FILE or import FILE"
    steps = parser.add_subparsers(metavar="STEP", required=True, dest="step", help=about)
    for name, about in _ABOUT.items():
        step = steps.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        if name in ("export", "import"):
            step.add_argument("file", metavar="FILE", type=Path)
        step.add_argument("--json", action="store_true", help="print what was done as JSON")


def _cache(options: argparse.Namespace) -> int:
    from pytest_mapsat.llm import Cache, exchanges, export_entries, import_entries
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.store import ARRAYS, Store, clear_store, indexes_in, store_folder

    folder = store_folder()
    if options.step == "clear":
        clear_store(folder)
        return shared.respond(options, {"folder": str(folder)}, [f"{folder}: empty now"])
    count, size = indexes_in(folder)
    indexes = f"{folder / ARRAYS}: {count} indexes of large tables, {size / 1e6:.1f} MB"
    try:
        store = Store(folder)
    except UsageError as error:  # the extra is not installed; what it keeps cannot be read
        if options.step != "info":
            raise
        return shared.respond(options, {"folder": str(folder), "indexes": count, "index_bytes": size}, [indexes, error])
    with closing(store):
        cache = Cache(store)
        if options.step == "export":
            exported = export_entries(cache, options.file)
            return shared.respond(options, {"answers": exported}, [f"{options.file}: {exported} answers"])
        if options.step == "import":
            imported = import_entries(cache, options.file)
            for problem in imported.problems:
                shared.tell(problem)
            summary = f"{folder}: {imported.taken} answers added, {imported.known} known already, {len(imported.problems)} lines of no use"
            told = {"added": imported.taken, "known": imported.known, "problems": list(map(str, imported.problems))}
            return shared.respond(options, told, [summary]) or int(bool(imported.problems))
        models = Counter[tuple[str, str]]((entry.request.model, entry.request.purpose) for entry in cache.entries)
        models.update((exchange.asked.model(), "agent, its own calls") for exchange in exchanges(store))
        told = {
            "folder": str(folder),
            "bytes": store.size(),
            "indexes": count,
            "index_bytes": size,
            "answers": models.total(),
            "models": [
                {"model": model, "purpose": purpose, "answers": count}
                for (model, purpose), count in sorted(models.items())
            ],
        }
        lines = [f"{folder}: {models.total()} answers, {store.size() / 1e6:.1f} MB"]
        lines += [f"  {model}, {purpose}: {count}" for (model, purpose), count in sorted(models.items())]
        return shared.respond(options, told, [*lines, indexes])


COMMANDS = {
    "schema": shared.Command("", _schema_arguments, _schema),
    "cache": shared.Command(
        "They lie in the user's cache folder, or where MAPSAT_CACHE_DIR says.", _cache_arguments, _cache
    ),
}
