"""``mapsat build``: a made-up world from a seed, as the tools and tables of a suite; or a suite of the cases that logs of behaviour hold."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from .shared import OK, Command, add_options, with_model, write, write_json

LANGUAGES = ("en", "zh", "mixed")
#: Options that say something of logs only.
_OF_LOGS = ("redact", "propose", "cache", "max_cost")
#: Options that say something of a made-up world only.
_OF_WORLDS = ("seed", "cities", "language", "queries")


class _Sources:
    """What can be built from, as the help tells it: installed packages are looked through when it is asked for."""

    def __str__(self) -> str:
        from pytest_mapsat.building import builders

        return f"a kind of world ({', '.join(builders())}), or a folder of logs"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="KIND|LOGS", default=_Sources(), help="%(default)s")
    about = "the suite's folder: it must not exist, or be empty; for a world one with a suite.yaml gets the tables, and tools if it has none"
    parser.add_argument("dest", metavar="DEST", type=Path, help=about)
    parser.add_argument("--seed", metavar="N", type=int, help="the same seed gives the same bytes (default: 0)")
    parser.add_argument(
        "--cities", metavar="N", type=int, help="how many towns (merchants: 9; city: 2, with --cases 4)"
    )
    about = "merchants: how many each town has (3000); city: how many people each has (10; with --cases one for each case); logs: how many cases a user has for one kind of place (1)"
    parser.add_argument("--each", metavar="N", type=int, help=about)
    parser.add_argument("--cases", metavar="N", type=int, help="how many cases are made, at most (logs: 1000)")
    parser.add_argument("--queries", metavar="FILE", type=Path, help="queries in place of the builder's own, by case")
    parser.add_argument(
        "--language", choices=LANGUAGES, help="of the towns: %(choices)s, which alternates (default: mixed)"
    )
    about = "logs: put an alias in the place of personal data, and round where users were to about 100 m"
    parser.add_argument("--redact", action="store_true", default=None, help=about)
    about = "logs: a model, as in openai/gpt-4o, that proposes needs beside what the log shows; it is asked three times at a query"
    parser.add_argument("--propose", metavar="MODEL", help=about)
    add_options(parser, "cache", "max-cost", max_cost="logs: US dollars that the model may cost")
    parser.add_argument("--json", action="store_true", help="print the numbers of rows, or the report, as JSON")


def _build(options: argparse.Namespace) -> int:
    from pytest_mapsat.building import builders

    # A kind goes before a folder of that name, which ./NAME means.
    if options.source in builders():
        return _build_world(options)
    folder = Path(options.source)
    if not folder.is_dir():
        raise _neither(options.source)
    return _build_logs(options, folder)


def _neither(source: str) -> Exception:
    from pytest_mapsat.building import builders
    from pytest_mapsat.drafts import missing_files
    from pytest_mapsat.model import UsageError, did_you_mean

    kinds = list(builders())
    parent = Path(source).parent
    folders = []
    if parent.is_dir():
        folders = sorted(str(path) for path in parent.iterdir() if path.is_dir() and not missing_files(path))
    near = did_you_mean(source, [*kinds, *folders])
    return UsageError(
        f"{source} is neither a kind of world ({', '.join(kinds)}) nor a folder of logs ({', '.join(folders) or 'there is none here'})"
        f"{f' ({near})' if near else ''}"
    )


def _build_logs(options: argparse.Namespace, folder: Path) -> int:
    from pytest_mapsat.drafts import build_from_logs
    from pytest_mapsat.model import UsageError

    if given := [f"--{name}" for name in _OF_WORLDS if getattr(options, name) is not None]:
        raise UsageError(f"{', '.join(given)}: only for a made-up world, and {options.source} is a folder of logs")
    for name in ("each", "cases"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise UsageError(f"--{name}: found {value}, expected at least 1")
    build = partial(build_from_logs, folder, options.dest, redact=bool(options.redact))
    build = partial(build, each=options.each or 1, cases=options.cases or 1000)
    report = with_model(options, lambda model: build(model=model))
    if options.json:
        write_json(report.to_json())
    else:
        write([f"{options.dest}:", *report.lines()])
    return OK


def _build_world(options: argparse.Namespace) -> int:
    from pytest_mapsat.building import BuildRequest, builder_of
    from pytest_mapsat.model import SUITE_SCHEMA, SuiteManifest, UsageError
    from pytest_mapsat.suite import new_folder, write_manifest

    if given := [f"--{name.replace('_', '-')}" for name in _OF_LOGS if getattr(options, name) is not None]:
        raise UsageError(f"{', '.join(given)}: only for a folder of logs, and {options.source} is a made-up world")
    dest: Path = options.dest
    builder = builder_of(options.source)
    seed = options.seed or 0
    request = BuildRequest(
        seed, options.cities, options.each, options.language or "mixed", options.cases, options.queries
    )
    own = (dest / "suite.yaml").is_file()
    if own:
        rows = builder(request, dest)
    else:
        with new_folder(dest) as folder:
            rows = builder(request, folder)
            about = f"A made-up world of {options.source}, from the seed {seed}."
            manifest = SuiteManifest(
                name=options.source,
                version=f"seed-{seed}",
                license="CC0-1.0",
                schema_version=SUITE_SCHEMA,
                description=about,
            )
            if not (folder / "suite.yaml").exists():  # a builder that makes cases writes its own
                write_manifest(folder / "suite.yaml", manifest)
    if options.json:
        write_json(rows)
    else:
        write([f"{dest}:", *(f"{count:>8} rows of {table}" for table, count in rows.items())])
        write([f"next: mapsat lint {dest}"] if own or "cases" in rows else _next_steps(dest, options))
    return OK


def _next_steps(dest: Path, options: argparse.Namespace) -> list[str]:
    """Return what can be done now with a new world that has no cases."""
    logs = dest / "data" / "logs"
    steps = ["no cases yet; --cases N makes some" if options.source == "city" else "no cases yet: write some"]
    return steps + (
        [f"next: mapsat build {logs} CASES makes cases of its logs"]
        if logs.is_dir()
        else [f"next: mapsat new {dest} --from FILE"]
    )


COMMANDS = {
    "build": Command(
        "KIND makes up a world from a seed; LOGS, a folder of behaviour logs, becomes a suite of the cases that it holds. The same seed, and the same logs, give the same bytes on every machine.",
        _arguments,
        _build,
    )
}
