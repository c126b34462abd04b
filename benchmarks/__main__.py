"""Measure everything of benchmarks/README.md, and write it there: a table against the budgets, a table beside the peers, how cost grows.

Run it on a machine that does nothing else. Peers are installed in environments of their own, below ``.benchmarks``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from . import calls, gate, plots, runs, trust
from .page import Measured, written
from .peers import PEERS, installed
from .row import Row

TRUST = Path(__file__).with_name("RESULTS.md")
PAGE = Path(__file__).parent / "README.md"
PLOTS = PAGE.with_name("plots")


def main() -> None:
    """Run the measurements that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, three rounds: does it run at all")
    parser.add_argument("--without-peers", action="store_true", help="install nothing, and measure ours alone")
    parser.add_argument(
        "--to",
        type=Path,
        default=PAGE,
        help="the page that is written, plots beside it (default: benchmarks/README.md)",
    )
    parser.add_argument(
        "--trust", action="store_true", help="instead of costs: how far intervals and gate can be trusted"
    )
    parser.add_argument(
        "--flames", nargs=2, metavar=("STACKS", "SVG"), help="instead: draw what py-spy record -f raw has written"
    )
    options = parser.parse_args()
    if options.flames:
        stacks, picture = map(Path, options.flames)
        picture.write_text(plots.flames(picture.stem.replace("-", " "), stacks.read_text().splitlines()))
    elif options.trust:
        _write_trust(quick=options.quick)
    else:
        page = _measured(quick=options.quick, without_peers=options.without_peers, folder=options.to.parent)
        options.to.write_text(page, encoding="utf-8")
        print(page)


def _measured(*, quick: bool, without_peers: bool, folder: Path) -> str:
    peers, missing = ([], {}) if without_peers else installed(PEERS)
    load = os.getloadavg()[0]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        bench = runs.Bench(Path(name), quick, peers)
        for measurement in runs.RUNS:
            found = measurement(bench)
            rows += [found] if isinstance(found, Row) else found
            _told(rows[-1])
        beside = {seconds: runs.beside(bench, seconds=seconds) for seconds in (0, runs.WAITING)}
        grew = [runs.of_cases(bench), runs.of_width(bench)]
    # Last: a process counts what it was forked from to its own peak, and this one is large from here on.
    for call in calls.CALLS:
        rows.append(call(quick))
        _told(rows[-1])
    grew.append([calls.of_answers(quick)])
    (folder / PLOTS.name).mkdir(exist_ok=True)
    for growths, file in zip(grew, ("cases", "width", "answers"), strict=True):
        title = {"cases": "A run of trivial cases", "width": "64 waits of 0.2 s", "answers": "Judging one answer"}[file]
        picture = plots.lines(title, growths[0].unit, {one.name: one.points for one in growths})
        (folder / PLOTS.name / f"{file}.svg").write_text(picture, encoding="utf-8")
    return written(Measured(rows, beside, grew, missing, quick, (load, os.getloadavg()[0])))


def _told(row: Row) -> None:
    print(row.what, row.figure, sep=": ", file=sys.stderr, flush=True)


def _write_trust(*, quick: bool) -> None:
    """Measure how far figures can be trusted, print it, and write it unless it is a trial."""
    intervals = (
        f"| {line.what} | {line.figure} | {line.budget} | {'yes' if line.holds else 'NO'} |"
        for line in trust.lines(quick)
    )
    lines = []
    for line in (
        "# How far it can be trusted",
        "",
        "Written by `python -m benchmarks --trust`: simulations with the code that ships. docs/explanation/verdicts.md says what is simulated.",
        "",
        "| what | measured | budget | holds |",
        "| --- | --- | --- | --- |",
        *intervals,
        "",
        "## The gate and noisy agents",
        "",
        *(gate.table(20, gate.SIZES[:1]) if quick else gate.table(200)),
    ):
        print(line, flush=True)
        lines.append(line)
    if not quick:
        TRUST.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
