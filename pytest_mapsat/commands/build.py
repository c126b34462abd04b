"""``mapsat build``: a made-up world from a seed, as the tools and tables of a suite, and cases in it."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import shared

LANGUAGES = ("en", "zh", "mixed")


class _Kinds:
    """What can be built, as the help tells it: installed packages are looked through when it is asked for."""

    def __str__(self) -> str:
        from pytest_mapsat.making import builders

        return f"a kind of world: {', '.join(builders())}"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", default=_Kinds(), help="%(default)s")
    about = "the suite's folder: it must not exist, or be empty; one with a suite.yaml gets the tables, and tools if it has none"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="the same seed gives the same bytes (default: 0)"
    )
    parser.add_argument(
        "--cities", metavar="N", type=int, help="how many towns (merchants: 9; city: 2, with --cases 4)"
    )
    about = (
        "merchants: how many each town has (3000); city: how many people each has (10; with --cases one for each case)"
    )
    parser.add_argument("--each", metavar="N", type=int, help=about)
    parser.add_argument("--cases", metavar="N", type=int, help="how many cases are made, at most")
    parser.add_argument("--queries", metavar="FILE", type=Path, help="queries in place of the builder's own, by case")
    parser.add_argument(
        "--language",
        choices=LANGUAGES,
        default="mixed",
        help="of the towns: %(choices)s, which alternates (default: mixed)",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers of rows as JSON")


def _build(options: argparse.Namespace) -> int:
    from pytest_mapsat.making import BuildRequest, builder_of, builders
    from pytest_mapsat.model import SUITE_SCHEMA, SuiteManifest, UsageError
    from pytest_mapsat.suite import new_folder, write_manifest

    dest: Path = options.dest
    if options.kind not in builders() and Path(options.kind).is_dir():
        raise UsageError(f"{options.kind} is a folder: mapsat cases {options.kind} {dest} makes a suite of its logs")
    builder = builder_of(options.kind)
    request = BuildRequest(options.seed, options.cities, options.each, options.language, options.cases, options.queries)
    own = (dest / "suite.yaml").is_file()
    if own:
        rows = builder(request, dest)
    else:
        with new_folder(dest) as folder:
            rows = builder(request, folder)
            manifest = SuiteManifest(
                name=options.kind,
                version=f"seed-{options.seed}",
                license="CC0-1.0",
                schema_version=SUITE_SCHEMA,
                description=f"A made-up world of {options.kind}, from the seed {options.seed}.",
            )
            if not (folder / "suite.yaml").exists():  # a builder that makes cases writes its own
                write_manifest(folder / "suite.yaml", manifest)
    lines = [f"{dest}:", *(f"{count:>8} rows of {table}" for table, count in rows.items())]
    steps = [f"next: mapsat lint {dest}"] if own or "cases" in rows else _next_steps(dest, options)
    return shared.respond(options, rows, [*lines, *steps])


def _next_steps(dest: Path, options: argparse.Namespace) -> list[str]:
    """Return what can be done now with a new world that has no cases."""
    logs = dest / "data" / "logs"
    steps = ["no cases yet; --cases N makes some" if options.kind == "city" else "no cases yet: write some"]
    return steps + (
        [f"next: mapsat cases {logs} CASES makes cases of its logs"]
        if logs.is_dir()
        else [f"next: mapsat draft {dest} --from FILE"]
    )


COMMANDS = {"build": shared.Command("The same seed gives the same bytes on every machine.", _arguments, _build)}
