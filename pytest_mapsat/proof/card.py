"""The data card of a suite, in Markdown: licence, counts, balance, scores of the baselines, known gaps. The same suite gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_mapsat.reports import code

from .baselines import LEGEND, METRICS, SuiteWorth, interval_text, value_text

_MOST_VALUES = 24
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
    told = [
        (name, ", ".join(f"{value} {count}" for value, count in values.items()))
        if len(values) <= _MOST_VALUES
        else (name, f"{len(values)} values")
        for name, values in worth.balance.items()
    ]
    yield from _table(("of", "counts"), told)
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
        rows = [
            (
                name,
                *(
                    f"{value_text(summary.get(metric))} {interval_text(summary.get(metric))}".strip()
                    for metric in METRICS
                ),
            )
            for name, summary in by_baseline.items()
        ]
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
