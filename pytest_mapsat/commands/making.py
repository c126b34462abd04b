"""The parts of ``mapsat`` that make a suite or add to it. Nothing heavy is imported before one runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .regrading import add_plugins

if TYPE_CHECKING:
    from pytest_mapsat.recording import Offer


def add_init(commands: Any) -> None:
    """Add the command ``mapsat init``."""
    about = "write a suite, an agent and a CI workflow to begin with"
    parser = commands.add_parser(
        "init", help=about, description=f"{about[0].upper()}{about[1:]}. Files that are there are never overwritten."
    )
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path(), help="where (default: here)")
    parser.add_argument("--json", action="store_true", help="print the files and the next commands as JSON")
    parser.set_defaults(command=_init)


def add_recording(commands: Any) -> None:
    """Add the command ``mapsat record``."""
    about = "call your own tools and keep their answers as recordings"
    parser = commands.add_parser(
        "record",
        help=about,
        description=f"{about[0].upper()}{about[1:]}. Tools that the suite does not describe are described from their signatures and "
        "docstrings. Then each case is played, by its oracle dialogue or by an agent, with every call passed on to your tools. "
        "Exit status 1 when something was not kept.",
    )
    parser.add_argument(
        "tools",
        metavar="TOOLS",
        help="module:attr of a list or dict of functions, a module, an object with methods, or a toolbox",
    )
    parser.add_argument(
        "--suite",
        metavar="DIR",
        type=Path,
        default=Path("benchmark_cases"),
        help="the suite (default: benchmark_cases)",
    )
    parser.add_argument("--case", metavar="ID", action="append", help="a case to play; repeatable (default: all)")
    parser.add_argument(
        "--agent", metavar="SPEC", default="baseline:oracle", help="who makes the calls (default: baseline:oracle)"
    )
    parser.add_argument(
        "--replace", action="store_true", help="let a new answer take the place of an older one of your tools"
    )
    add_plugins(parser)
    parser.add_argument("--json", action="store_true", help="print what was kept as JSON")
    parser.set_defaults(command=_recording)


def add_misses(parser: argparse.ArgumentParser) -> None:
    """Add to ``mapsat lint`` what it may do with the misses of a saved run."""
    parser.add_argument(
        "--misses",
        metavar="RUN",
        type=Path,
        help="also print synonyms and recordings, ready to paste, for the calls of a saved run that no recording answered",
    )


def offers(options: argparse.Namespace, *, sound: bool) -> list[Offer] | None:
    """Return what would answer the misses of a saved run; None where nobody asks, or where the suite has errors.

    Raises:
        MapsatError: the run or the suite cannot be read.
    """
    if options.misses is None or not sound:
        return None
    from pytest_mapsat.recording import offers_of  # noqa: PLC0415  lazy
    from pytest_mapsat.runs.regrade import open_suites  # noqa: PLC0415  lazy
    from pytest_mapsat.runs.saved import read_saved  # noqa: PLC0415  lazy

    return offers_of(read_saved(options.misses), open_suites([options.suite]))


def print_offers(options: argparse.Namespace, found: list[Offer] | None) -> None:
    """Print what would answer misses, where somebody asks."""
    if options.misses is None:
        return
    lines = [""]
    for offer in found or ():
        lines += [*offer.lines(), ""]
    if found is None:
        lines.append("misses: not looked at, as the suite has errors")
    else:
        times = sum(offer.times for offer in found)
        lines.append(f"{times} call{'' if times == 1 else 's'} missed, {len(found)} different")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _init(options: argparse.Namespace) -> int:
    from .init import conduct  # noqa: PLC0415  lazy

    return conduct(options.folder, as_json=options.json)


def _recording(options: argparse.Namespace) -> int:
    from pytest_mapsat.runs.added import load_added  # noqa: PLC0415  lazy

    from .record import Wanted, conduct  # noqa: PLC0415  lazy

    load_added(options.plugins, [options.suite])
    wanted = Wanted(options.tools, options.suite, tuple(options.case or ()), options.agent, replace=options.replace)
    return conduct(wanted, as_json=options.json)
