"""What a suite is worth: the metrics of the baselines, and what of the suite cannot tell agents apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_mapsat.metrics import summarise, within_scale
from pytest_mapsat.model import MSB_METRICS, Aggregate, Case, JsonObject, Scorecard, SuiteManifest, normalise
from pytest_mapsat.reports import code, columns, printable, wrap

BASELINES = ("silent", "constant", "surface", "profile", "oracle")
METRICS = ("ecr", "iisr", "ar", "ifs", "ts", "ses")
#: The metrics in which a baseline is to score higher than the one before it: what is asked parts surface from silence, what is hidden the others.
_STEPS = {
    ("constant", "surface"): ("ecr", "ar"),
    ("surface", "profile"): ("iisr", "ar"),
    ("profile", "oracle"): ("iisr", "ar"),
}
_MOST_NAMED, _MOST_VALUES = 5, 24
#: What the columns are called where pytest sums up a run.
LEGEND = ", ".join(
    f"{metric.name.upper()} {str(metric.plain).replace('_', ' ')}" for metric in MSB_METRICS if metric.name in METRICS
)
_WIDE = 12


@dataclass(frozen=True)
class SuiteWorth:
    """What the baselines make of a suite.

    Attributes:
        manifest: what its manifest says.
        cases: its cases, without drafts.
        cards: the scorecards of the cases, in their order, by baseline.
        drafts: how many cases are drafts.
    """

    manifest: SuiteManifest
    cases: Sequence[Case]
    cards: Mapping[str, Sequence[Scorecard]]
    drafts: int = 0

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Mapping[str, Aggregate]]]:
        """The metrics of each baseline over all cases, under ``""``, and over those of each value of the attribute ``query``, where there are several."""
        values = sorted({case.attributes.get("query", "") for case in self.cases})
        wanted = [""] + [value for value in values if value and values[1:]]

        def means(value: str, cards: Sequence[Scorecard]) -> Mapping[str, Aggregate]:
            own = [card for card in cards if value in ("", card.attributes.get("query"))]
            return within_scale(summarise(own), METRICS)

        return {value: {name: means(value, cards) for name, cards in self.cards.items()} for value in wanted}

    @cached_property
    def joined_steps(self) -> tuple[tuple[str, str, str], ...]:
        """The steps from one baseline to the next that the intervals do not show: lower, higher, metric."""
        summary = self.groups[""]
        return tuple(
            (lower, higher, metric)
            for (lower, higher), metrics in _STEPS.items()
            for metric in metrics
            if not _above(summary[higher].get(metric), summary[lower].get(metric))
        )

    @cached_property
    def _hard(self) -> tuple[tuple[str, str, tuple[float | None, ...]], ...]:
        """Each hard requirement with its case and its values, by baseline."""
        labels = {
            (card.id, label.requirement, name): label.value
            for name, cards in self.cards.items()
            for card in cards
            for label in card.labels
        }
        return tuple(
            (case.id, requirement.id, tuple(labels.get((case.id, requirement.id, name)) for name in BASELINES))
            for case in self.cases
            for requirement in case.truth.hard
        )

    @property
    def idle(self) -> tuple[tuple[str, str], ...]:
        """The hard requirements that part no two baselines, with their cases: each is known for all, and the same."""
        return tuple((case, name) for case, name, values in self._hard if None not in values and len({*values}) == 1)

    @property
    def given_away(self) -> tuple[tuple[str, str], ...]:
        """The hard requirements that surface meets without looking for them."""
        at = BASELINES.index("surface")
        return tuple((case, name) for case, name, values in self._hard if values[at] == 1)

    @cached_property
    def twins(self) -> tuple[tuple[str, ...], ...]:
        """The cases that ask in the same words, blanks and signs apart."""
        by_words: dict[str, list[str]] = {}
        for case in self.cases:
            by_words.setdefault(normalise(case.visible.query), []).append(case.id)
        return tuple(tuple(ids) for ids in by_words.values() if len(ids) > 1)

    @cached_property
    def balance(self) -> Mapping[str, Mapping[str, int]]:
        """How many cases there are of each domain, language, difficulty and value of an attribute, and how many hidden requirements of each source."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in ("domain", "language", "source", "difficulty")}
        for case in self.cases:
            counts["domain"].update(case.domains)
            counts["language"][case.language] += 1
            counts["source"].update(requirement.source for requirement in case.truth.implicit)
            counts["difficulty"][case.difficulty or "none"] += 1
            for name, value in case.attributes.items():
                counts.setdefault(f"attributes.{name}", Counter())[value] += 1
        return {name: dict(sorted(values.items())) for name, values in counts.items() if values}

    def counts(self, most: int) -> Iterator[tuple[str, str]]:
        """Yield each name of the balance with its counts in words; where there are more than so many values, their number."""
        for name, values in self.balance.items():
            each = ", ".join(f"{value} {count}" for value, count in values.items())
            yield name, each if len(values) <= most else f"{len(values)} values"

    @cached_property
    def requirements(self) -> Mapping[str, tuple[int, int]]:
        """How many requirements there are of each kind, and how many of them have a check."""
        every = [requirement for case in self.cases for requirement in case.truth.requirements]
        kinds = ("asked", "hard", "soft", "fact", "policy")
        of_kind = {kind: [requirement for requirement in every if requirement.kind == kind] for kind in kinds}
        return {kind: (len(some), sum(bool(one.leaves) for one in some)) for kind, some in of_kind.items()}

    def warnings(self) -> Iterator[str]:
        """Yield what keeps the suite from telling agents apart."""
        for lower, higher, metric in self.joined_steps:
            yield f"{lower} and {higher} are not apart in {metric.upper()} by their intervals"
        if self.idle:
            yield f"{_count(len(self.idle), 'hard requirement')} part no two baselines: {_listed(self.idle)}"
        for ids in self.twins:
            yield f"cases that ask in the same words: {', '.join(ids)}"

    def to_json(self) -> JsonObject:
        """Return it as JSON data."""
        metrics: Any = {
            value or "all": {
                name: {metric: summary[metric].model_dump(mode="json") for metric in METRICS if metric in summary}
                for name, summary in by_baseline.items()
            }
            for value, by_baseline in self.groups.items()
        }
        return {
            "cases": len(self.cases),
            "drafts": self.drafts,
            "metrics": metrics,
            "not_apart": [list(step) for step in self.joined_steps],
            "idle": [list(pair) for pair in self.idle],
            "met_by_surface": [list(pair) for pair in self.given_away],
            "twins": [list(ids) for ids in self.twins],
            "balance": {name: dict(values) for name, values in self.balance.items()},
            "requirements": {kind: {"all": n, "checked": checked} for kind, (n, checked) in self.requirements.items()},
        }


def _above(higher: Aggregate | None, lower: Aggregate | None) -> bool:
    """Return whether all that one mean may be lies above all that another may be."""
    if higher is None or lower is None or higher.low is None or lower.high is None:
        return False
    return higher.low > lower.high


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    named = "; ".join(": ".join(pair) for pair in pairs[:_MOST_NAMED])
    return named + (f"; and {len(pairs) - _MOST_NAMED} more" if len(pairs) > _MOST_NAMED else "")


def value_text(value: Aggregate | None) -> str:
    """Return a mean in figures, both bounds where it is not decided; a dash where there is none."""
    if value is None or value.bounds is None:
        return "-"
    return f"{value.mean:.2f}" if value.mean is not None else f"{value.bounds[0]:.2f}-{value.bounds[1]:.2f}"


def interval_text(value: Aggregate | None) -> str:
    """Return the interval of a mean in figures; nothing where it has none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"({value.low:.2f}-{value.high:.2f})"


def worth_table(worth: SuiteWorth) -> Iterator[str]:
    """Yield the lines of the report, at most 80 columns wide where no word is longer."""
    for value, by_baseline in worth.groups.items():
        yield from ("",) if value else ()
        yield from wrap(f"query: {value}" if value else f"baselines over {_count(len(worth.cases), 'case')}", columns())
        yield f"{'':8}" + "".join(f"{metric.upper():>{_WIDE}}" for metric in METRICS)
        for name, summary in by_baseline.items():
            yield f"{name:8}" + "".join(f"{value_text(summary.get(metric)):>{_WIDE}}" for metric in METRICS)
            intervals = [interval_text(summary.get(metric)) for metric in METRICS]
            yield from [f"{'':8}" + "".join(f"{interval:>{_WIDE}}" for interval in intervals)] if any(intervals) else ()
    yield ""
    yield from wrap(f"in pytest's summary: {LEGEND}", columns(), hang=2)
    yield ""
    for name, counts in worth.counts(_MOST_VALUES):
        yield from wrap(f"{name}: {printable(counts)}", columns(), hang=2)
    of_kinds = ", ".join(
        f"{kind} {checked} of {every}" for kind, (every, checked) in worth.requirements.items() if every
    )
    yield from wrap(f"requirements with a check: {of_kinds}", columns(), hang=2)
    hard = worth.requirements["hard"][0]
    yield from wrap(f"surface meets {len(worth.given_away)} of {_count(hard, 'hard requirement')}", columns(), hang=2)
    yield ""
    told_any = False
    for warning in worth.warnings():
        told_any = True
        yield from wrap(f"warning: {printable(warning)}", columns(), hang=2)
    if not told_any:
        yield "each baseline is apart from the next by its intervals"


# -- the data card of a suite ------------------------------------------------------------------------------------------

_COORDINATES = {"gcj02": "GCJ-02", "wgs84": "WGS 84"}


def card_text(worth: SuiteWorth) -> str:
    """Return the card of a suite.

    Args:
        worth: the suite with the scorecards of its baselines.
    """
    return "\n".join(_lines(worth)) + "\n"


def _lines(worth: SuiteWorth) -> Iterator[str]:
    manifest = worth.manifest
    yield f"# Data card: {_plain(manifest.name)} {_plain(manifest.version)}"
    yield ""
    yield "<!-- Written by mapsat lint SUITE --baselines --card FILE. Changes by hand are lost. -->"
    yield ""
    yield from ([_plain(manifest.description), ""] if manifest.description else [])
    facts = [
        ("licence", manifest.license or "not stated"),
        ("coordinates", _COORDINATES.get(manifest.coordinates or "", "none")),
        ("currency", manifest.currency),
        ("cases", f"{len(worth.cases)}" + (f", and {worth.drafts} drafts, which do not count" if worth.drafts else "")),
    ]
    yield from _table(("", ""), facts)
    yield from ("", "## Requirements", "")
    rows = [(kind, f"{every}", f"{checked}") for kind, (every, checked) in worth.requirements.items() if every]
    yield from _table(("kind", "all", "with a check"), rows)
    yield from ("", "## Balance", "")
    yield "Cases by domain, language, difficulty and attribute; hidden requirements by source."
    yield ""
    yield from _table(("of", "counts"), worth.counts(_MOST_VALUES))
    yield from _baselines(worth)
    yield from ("", "## Known gaps", "")
    gaps = [*worth.warnings()]
    yield from (f"- {_plain(gap)}" for gap in gaps)
    yield from () if gaps else ["None was found."]


def _baselines(worth: SuiteWorth) -> Iterator[str]:
    yield from ("", "## Baselines", "")
    yield "Means with intervals of 95 %. Two figures with a hyphen are the bounds of a mean that undecided labels leave open. `surface` does what the query asks for and"
    yield "nothing else, `profile` what the profile says, too, and `oracle` knows everything."
    yield f"In pytest's summary: {LEGEND}."
    for value, by_baseline in worth.groups.items():
        yield ""
        if value:
            yield f"Cases with the query {code(value)}:"
            yield ""
        rows = []
        for name, summary in by_baseline.items():
            values = [summary.get(metric) for metric in METRICS]
            rows.append((name, *(f"{value_text(value)} {interval_text(value)}".strip() for value in values)))
        yield from _table(("baseline", *(metric.upper() for metric in METRICS)), rows)
    yield ""
    yield f"`surface` meets {len(worth.given_away)} of {worth.requirements['hard'][0]} hard requirements."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(map(_plain, row))} |"


def _plain(text: str) -> str:
    """Return words of a suite as Markdown shows them as they are."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|" else char for char in " ".join(text.split()))
