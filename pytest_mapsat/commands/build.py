"""``mapsat build``: a made-up world from a seed, as the tools and tables of a suite."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from .shared import OK, Command, write, write_json

LANGUAGES = ("en", "zh", "mixed")


class _Kinds:
    """The kinds of worlds that can be built; installed packages are looked through when a value or the help asks for them."""

    def __iter__(self) -> Iterator[str]:
        from pytest_mapsat.building import builders

        return builders()


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=_Kinds(), help="one of: %(choices)s")
    about = "the suite's folder: one with a suite.yaml gets the tables, and tools if it has none; else it must not exist, or be empty"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="the same seed gives the same bytes (default: 0)"
    )
    parser.add_argument("--cities", metavar="N", type=int, help="how many towns (merchants: 9, city: 2)")
    parser.add_argument(
        "--each", metavar="N", type=int, help="how many merchants each town has (3000), or people (city: 10)"
    )
    parser.add_argument(
        "--language", choices=LANGUAGES, default="mixed", help="of the towns: %(choices)s, which alternates (default)"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers of rows as JSON")


def _build(options: argparse.Namespace) -> int:
    from pytest_mapsat.building import BuildRequest, builder_of
    from pytest_mapsat.model import SUITE_SCHEMA, SuiteManifest
    from pytest_mapsat.suite import new_folder, write_manifest

    dest: Path = options.dest
    builder = builder_of(options.kind)
    request = BuildRequest(options.seed, options.cities, options.each, options.language)
    if (dest / "suite.yaml").is_file():
        rows = builder(request, dest)
    else:
        with new_folder(dest) as folder:
            rows = builder(request, folder)
            about = f"A made-up world of {options.kind}, from the seed {options.seed}."
            manifest = SuiteManifest(
                name=options.kind,
                version=f"seed-{options.seed}",
                license="CC0-1.0",
                schema_version=SUITE_SCHEMA,
                description=about,
            )
            write_manifest(folder / "suite.yaml", manifest)
    if options.json:
        write_json(rows)
    else:
        write([f"{dest}: {', '.join(f'{count} rows of {table}' for table, count in rows.items())}"])
    return OK


COMMANDS = {"build": Command("The world is the same on every machine.", _arguments, _build)}
