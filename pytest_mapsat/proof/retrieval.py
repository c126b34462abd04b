"""How well a ranked search finds what hops need: NDCG and MRR over the queries of oracles, relevance by the evidence of each hop over a whole part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pytest_mapsat.metrics import LEVEL, bootstrap_intervals, clustered
from pytest_mapsat.model import Case, ExpectedTool, Json, RankedAnswer, Step, UsageError, fits_row, shown
from pytest_mapsat.sandbox import Ranker, SandboxSuite, holds_evidence, hop_calls, id_text, ranker_of
from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error

from .oracles import play_oracle

#: Another ranker: from a free text and the part that is searched to the ids of rows, the best first.
OtherRanker = Callable[[str, str], Iterable[Json]]
#: The depths of the metrics: the first rows of a result that count.
DEPTHS = (10, 20)
METRICS = tuple(f"{name}@{depth}" for name in ("ndcg", "mrr") for depth in DEPTHS)
#: So many queries are named that find nothing.
_NAMED = 5
#: Of what another ranker gives no more is read; rows of a table.
_MOST_IDS = 2_000_000


@dataclass(frozen=True)
class HopQuery:
    """The query of one hop, as an oracle puts it.

    Attributes:
        case: the id of its case.
        hop: the hop's key.
        tool: the tool that is asked.
        text: the free text.
        part: the part that is searched.
        filters: further arguments that leave rows out.
        wanted: the expected tool, whose evidence says which rows are relevant.
    """

    case: str
    hop: str
    tool: str
    text: str
    part: str
    filters: Mapping[str, Json]
    wanted: ExpectedTool


@dataclass(frozen=True)
class Found:
    """The ranking of one query: how many rows of the part are relevant, and their places in it, from 1."""

    query: HopQuery
    relevant: int
    places: tuple[int, ...]

    def metric(self, name: str) -> float:
        """Return NDCG or the reciprocal rank of the first relevant row, with binary relevance, as ``ndcg@10`` or ``mrr@20`` says."""
        kind, _, depth = name.partition("@")
        places = [place for place in self.places if place <= int(depth)]
        if kind == "mrr":
            return 1 / places[0] if places else 0.0
        best = range(1, min(int(depth), self.relevant) + 1)
        gained, possible = (math.fsum(1 / math.log2(place + 1) for place in some) for some in (places, best))
        return gained / possible

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        query = self.query
        asked = {"case": query.case, "hop": query.hop, "part": query.part, "query": query.text}
        ranked = {"filters": dict(query.filters), "relevant": self.relevant, "places": list(self.places)}
        return {**asked, **ranked, **{name: self.metric(name) for name in METRICS}}


@dataclass(frozen=True)
class Retrieval:
    """How well a ranker finds what the hops of a suite need; ``left_out``: how many hops are not measured, by reason."""

    suite: str
    ranker: str
    found: tuple[Found, ...]
    left_out: Mapping[str, int]

    def means(self) -> dict[str, tuple[float, tuple[float, float] | None]]:
        """Return each metric with its mean over hops and its 95 % interval; hops of one case are drawn together."""
        clusters = [found.query.case for found in self.found]
        columns = {name: [found.metric(name) for found in self.found] for name in METRICS}
        intervals = bootstrap_intervals([clustered(values, clusters) for values in columns.values()])
        return {
            name: (math.fsum(values) / len(values), _within(interval))
            for (name, values), interval in zip(columns.items(), intervals, strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "suite": self.suite,
            "ranker": self.ranker,
            "hops": len(self.found),
            "left_out": dict(self.left_out),
            "level": LEVEL,
            "metrics": {
                name: {"mean": mean, "low": interval and interval[0], "high": interval and interval[1]}
                for name, (mean, interval) in self.means().items()
            },
            "queries": [found.to_json() for found in self.found],
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report: the means, and the first queries that find nothing."""
        yield f"retrieval: {len(self.found)} hop queries, {'its own search' if self.ranker == 'own' else self.ranker}"
        for name, (mean, interval) in self.means().items():
            between = f"  [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
            yield f"  {name:8} {mean:.3f}{between}"
        for reason, count in self.left_out.items():
            yield f"not measured: {count} ({reason})"
        nothing = [found.query for found in self.found if not found.places]
        for query in nothing[:_NAMED]:
            yield f"finds nothing: {query.case}, {query.hop}: {' '.join(query.text.split())}"
        if len(nothing) > _NAMED:
            yield f"and {len(nothing) - _NAMED} more, with --json"


def _within(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (max(0.0, interval[0]), min(1.0, interval[1]))


def measure_retrieval(
    suite: SandboxSuite, cases: Sequence[Case], *, other: OtherRanker | None = None, spec: str = ""
) -> Retrieval:
    """Return how well the ranked search of a suite, or another ranker in its place, finds what hops need.

    Args:
        suite: the suite.
        cases: its cases; those with an oracle count.
        other: another ranker; None: the suite's own.
        spec: how the user named the other one.

    Raises:
        UsageError: the suite has no ranked search or no hop that asks it, or the other ranker breaks.
        SuiteError: a table cannot be read.
    """
    name = suite.manifest.name
    ranked = [tool for tool, declared in suite.tools.items() if isinstance(declared.answer, RankedAnswer)]
    if not ranked:
        raise UsageError(f"{name} has no ranked search: a tool with answer: {{kind: ranked}} in its tools")
    rankers = {
        tool: ranker_of(suite, tool)
        for tool in ranked
        if any(hop.name == tool and hop.evidence_rows for case in cases for hop in case.truth.tools)
    }
    left_out: Counter[str] = Counter()
    queries = [query for case in cases for query in _queries(case, suite, rankers, left_out)]
    relevant = _relevant(queries, rankers)
    left_out["no row of the part is evidence"] = sum(not ids for ids in relevant)
    found = tuple(
        Found(query, len(ids), tuple(_places(query, ids, rankers[query.tool], other, spec)))
        for query, ids in zip(queries, relevant, strict=True)
        if ids
    )
    if not found:
        hint = f"they need truth.oracle, and truth.tools with evidence: {{where: ...}} for {' or '.join(ranked)}"
        raise UsageError(f"{name} has no case with a hop that can be measured: {hint}")
    return Retrieval(name, spec or "own", found, {reason: n for reason, n in sorted(left_out.items()) if n})


def _queries(
    case: Case, suite: SandboxSuite, rankers: Mapping[str, Ranker], left_out: Counter[str]
) -> Iterator[HopQuery]:
    """Yield the queries of the oracle of a case for its hops."""
    hops = [hop for hop in case.truth.tools if hop.name in rankers and hop.evidence_rows]
    if not hops:
        return
    if not case.truth.oracle:
        left_out["the case has no oracle"] += len(hops)
        return
    calls = play_oracle(case, suite).calls
    for hop, call in zip(hops, _calls_of(case, hops, calls, suite), strict=True):
        ranker = rankers[hop.name]
        if call is None:
            left_out["the oracle makes no call for it"] += 1
            continue
        try:
            part = ranker.part_of(call.arguments, case.visible.context)
        except ValueError:
            left_out["its tool refuses the oracle's call"] += 1
            continue
        filters = {name: call.arguments[name] for name in ranker.answer.where if name in call.arguments}
        text = str(call.arguments[ranker.answer.text])
        yield HopQuery(case.id, hop.key, hop.name, text, part, filters, hop)


def _calls_of(
    case: Case, hops: Sequence[ExpectedTool], calls: Sequence[Step], suite: SandboxSuite
) -> list[Step | None]:
    """Return one call for each hop: one that fulfils it and returns its evidence, else one that fulfils no other hop."""
    every = dict(zip((id(hop) for hop in case.truth.tools), hop_calls(case.truth.tools, calls), strict=True))
    fulfilled = [list(every[id(hop)]) for hop in hops]
    chosen: dict[int, int] = {}
    for index, hop in enumerate(hops):
        tool = suite.tools[hop.name]
        holding = [at for at in fulfilled[index] if holds_evidence(hop, tool, calls[at].result)]
        if (at := next((at for at in holding if at not in chosen.values()), next(iter(holding), None))) is not None:
            chosen[index] = at
    for index in range(len(hops)):
        at = next((at for at in fulfilled[index] if at not in chosen.values()), None)
        if index not in chosen and at is not None:
            chosen[index] = at
    return [calls[chosen[index]] if index in chosen else None for index in range(len(hops))]


def _relevant(queries: Sequence[HopQuery], rankers: Mapping[str, Ranker]) -> list[frozenset[str]]:
    """Return for each query the ids of the rows of its part that fit a ``where`` of its evidence. Each part is read once."""
    ids: list[set[str]] = [set() for _ in queries]
    for tool, part in dict.fromkeys((query.tool, query.part) for query in queries):
        own = [(at, query.wanted) for at, query in enumerate(queries) if (query.tool, query.part) == (tool, part)]
        for row in rankers[tool].rows(part):
            for at, hop in own:
                if any(all(fits_row({k: match}, row) for k, match in rule.where.items()) for rule in hop.evidence_rows):
                    ids[at].add(id_text(row[rankers[tool].answer.id]) or "")
    return [frozenset(relevant) for relevant in ids]


def _places(
    query: HopQuery, relevant: Collection[str], ranker: Ranker, other: OtherRanker | None, spec: str
) -> Iterator[int]:
    """Yield the places of relevant rows in a ranker's order. The ids of another ranker are filtered as the call's are, and each counts once."""
    if other is None:
        order: Sequence[str] = ranker.rank(query.text, query.part, limit=DEPTHS[-1], filters=query.filters)
    else:
        order = list(dict.fromkeys(_given(other, query, spec)))
        if query.filters:
            kept = set(ranker.rank(query.text, query.part, limit=_MOST_IDS, filters=query.filters))
            order = [row for row in order if row in kept]
    return (place for place, row in enumerate(order[: DEPTHS[-1]], 1) if row in relevant)


def _given(other: OtherRanker, query: HopQuery, spec: str) -> list[str]:
    """Return the ids that another ranker gives. Raises UsageError."""
    try:
        given = call_user_code(other, query.text, query.part)
        # The order of a set or a mapping means nothing.
        in_order = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping | AbstractSet)
        listed = call_user_code(_first, given) if in_order else []
    except UserCodeError as broken:
        raise UsageError(f"--ranker {spec}: {describe_error(broken.error)} (for {shown(query.text)})") from None
    ids = [id_text(row) for row in listed]
    if not in_order or None in ids:
        wrong = listed[ids.index(None)] if None in ids else given
        raise UsageError(f"--ranker {spec}: it gives {shown(wrong)}, expected a list of ids, the best first")
    return [row for row in ids if row is not None]


def _first(given: Iterable[Json]) -> list[Json]:
    return list(islice(given, _MOST_IDS))
