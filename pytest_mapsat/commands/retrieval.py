"""``mapsat retrieval``: how well the ranked search of a suite, or another ranker, finds what the hops of its cases need."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .shared import OK, Command, add_plugins, load_added, write, write_json

if TYPE_CHECKING:
    from pytest_mapsat.proof import OtherRanker, Retrieval

#: So many queries are named that find nothing.
_NAMED = 5


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", metavar="SUITE", type=Path, help="the suite's folder, or a file or folder in it")
    about = "another ranker, module:attribute, in place of the suite's own: from a text and the part that is searched (a city) to ids, the best first"
    parser.add_argument("--ranker", metavar="SPEC", help=about)
    parser.add_argument("--json", action="store_true", help="print means and every query as JSON")
    add_plugins(parser)


def _retrieval(options: argparse.Namespace) -> int:
    from pytest_mapsat.agents import load
    from pytest_mapsat.model import UsageError
    from pytest_mapsat.proof import measure_retrieval
    from pytest_mapsat.suite import find_suite, open_suite

    if not options.suite.exists():
        raise UsageError(f"{options.suite}: there is no such file or folder")
    other: OtherRanker | None = None
    if options.ranker is not None:
        loaded = load(options.ranker, root=Path.cwd(), what="ranker")
        if not callable(loaded):
            raise UsageError(f"--ranker {options.ranker}: it is no function of a text and a part")
        other = loaded
    suite = open_suite(find_suite(options.suite) or options.suite)
    suite.sandboxes = load_added(options.plugins, [options.suite]).sandboxes
    cases = [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]
    measured = measure_retrieval(suite, cases, other=other, spec=options.ranker or "")
    if options.json:
        write_json(measured.to_json())
    else:
        write(_lines(measured))
    return OK


def _lines(measured: Retrieval) -> Iterator[str]:
    ranker = "its own search" if measured.ranker == "own" else measured.ranker
    yield f"{measured.suite}: {len(measured.found)} hop queries, {ranker}"
    for name, (mean, interval) in measured.means().items():
        between = f"  [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
        yield f"  {name:8} {mean:.3f}{between}"
    for reason, count in measured.left_out.items():
        yield f"not measured: {count} ({reason})"
    nothing = [found.query for found in measured.found if not found.places]
    for query in nothing[:_NAMED]:
        yield f"finds nothing: {query.case}, {query.hop}: {' '.join(query.text.split())}"
    if len(nothing) > _NAMED:
        yield f"and {len(nothing) - _NAMED} more, with --json"


COMMANDS = {
    "retrieval": Command(
        "NDCG and MRR at 10 and 20 over the queries of the oracles; a row is relevant when it fits the evidence of the hop. Intervals are of 95 %.",
        _arguments,
        _retrieval,
    )
}
