"""Scorecards become a run: manifest, summary, groups, gate. The way of a pytest session and of ``mapsat regrade`` alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mapsat import __version__
from pytest_mapsat.gate import Coverage, Threshold, decide, parse_thresholds
from pytest_mapsat.metrics import group, summarise
from pytest_mapsat.model import (
    JsonObject,
    JudgeInfo,
    Run,
    RunManifest,
    RunTiming,
    Scorecard,
    SuiteError,
    SuiteInfo,
)
from pytest_mapsat.suite import Suite


@dataclass(frozen=True)
class Terms:
    """How a run is graded.

    Attributes:
        judge: the judge's spec.
        asserted: the kinds of factors that fail an item.
        fail_under: thresholds as they were written, each with its origin, ``command line`` or ``ini``.
        allow_unevaluated: how many cases may be left unevaluated.
    """

    judge: str
    asserted: frozenset[str]
    fail_under: tuple[tuple[str, str], ...] = ()
    allow_unevaluated: int = 0

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The thresholds.

        Raises:
            UsageError: one cannot be read.
        """
        return parse_thresholds(self.fail_under)


@dataclass(frozen=True)
class Source:
    """Where the dialogues of a run came from.

    Attributes:
        agent: the agent's spec.
        user: the user's spec.
        options: what else the dialogues were made with.
        partial: why not all of the suite ran.
        broken: what could not be collected.
    """

    agent: str
    user: str
    options: JsonObject
    partial: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()


def assemble(
    cards: Sequence[Scorecard], suites: Sequence[Suite], source: Source, terms: Terms, timing: RunTiming
) -> Run:
    """Return the run of some scorecards, in the order of case id and trial.

    Args:
        cards: the scorecards; their trajectories are not read.
        suites: the suites that cases were run from.
        source: where the dialogues came from.
        terms: how they were graded.
        timing: when, and how long.
    """
    cards = sorted(cards, key=lambda card: (card.id, card.trial))
    coverage, problems = _coverage(cards, suites, source)
    warnings = sorted({warning for card in cards for warning in card.warnings} | set(problems))
    return Run(
        manifest=_manifest(cards, suites, source, terms, warnings),
        cases=tuple(cards),
        summary=summarise(cards),
        groups=group(cards),
        gate=decide(cards, terms.thresholds, allowed_unevaluated=terms.allow_unevaluated, coverage=coverage),
        timing=timing,
    )


def suite_infos(suites: Sequence[Suite]) -> tuple[SuiteInfo, ...]:
    """Return what a manifest says of suites, sorted."""
    infos = (
        SuiteInfo(name=suite.manifest.name, version=suite.manifest.version, fingerprint=suite.fingerprint())
        for suite in suites
    )
    return tuple(sorted(infos, key=lambda info: (info.name, info.fingerprint)))


def _coverage(cards: Sequence[Scorecard], suites: Sequence[Suite], source: Source) -> tuple[Coverage, tuple[str, ...]]:
    """Return how much of the suites ran, and what kept us from knowing."""
    domains: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for suite in suites:
        domains |= _domains(suite, problems)
    ran = {card.id for card in cards}
    left = {domain for case, names in domains.items() if case not in ran for domain in names}
    whole = {domain for names in domains.values() for domain in names} - left
    coverage = Coverage(
        selected=len(ran),
        total=len(domains),
        partial=source.partial if ran < set(domains) else (),
        errors=tuple(sorted({*source.broken, *problems})),
        whole_domains=frozenset(whole),
    )
    return coverage, tuple(problems)


def _domains(suite: Suite, problems: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the domains of each case of a suite; files that cannot be read go to the problems."""
    found: dict[str, tuple[str, ...]] = {}
    try:
        for path in suite.files():
            found.update({entry.id: entry.domains for entry in suite.entries(path)})
    except SuiteError as error:
        problems.append(str(error.problems[0]))
    return found


def _manifest(
    cards: Sequence[Scorecard], suites: Sequence[Suite], source: Source, terms: Terms, warnings: Sequence[str]
) -> RunManifest:
    linked = bool(cards) and all(card.linked for card in cards) if terms.judge.startswith("recorded:") else None
    return RunManifest(
        versions={"pytest-mapsat": __version__},
        suites=suite_infos(suites),
        agent=_portable(source.agent),
        user=source.user,
        judge=JudgeInfo(spec=_portable(terms.judge), linked=linked),
        options={**source.options, **_graded_by(terms), **_incomplete(source)},
        warnings=tuple(warnings),
    )


def _graded_by(terms: Terms) -> JsonObject:
    """Return what a manifest's options say of the grading, from which ``terms_of`` reads it back."""
    options: JsonObject = {
        "assert": sorted(terms.asserted),
        "fail_under": [text for text, _ in terms.fail_under],
        "allow_unevaluated": terms.allow_unevaluated,
    }
    if any(origin == "ini" for _, origin in terms.fail_under):
        options["fail_under_from"] = "ini"
    return options


def _incomplete(source: Source) -> JsonObject:
    parts = {"partial": list(source.partial), "broken": sorted(set(source.broken))}
    return {name: listed for name, listed in parts.items() if listed}


def source_of_run(manifest: RunManifest) -> Source:
    """Return where the dialogues of a saved run came from."""
    graded = {"assert", "fail_under", "fail_under_from", "allow_unevaluated", "partial", "broken"}
    return Source(
        agent=manifest.agent,
        user=manifest.user,
        options={name: value for name, value in manifest.options.items() if name not in graded},
        partial=_texts(manifest.options.get("partial")),
        broken=_texts(manifest.options.get("broken")),
    )


def terms_of_run(manifest: RunManifest) -> Terms:
    """Return how a saved run was graded, as far as its manifest says."""
    options = manifest.options
    origin = "ini" if options.get("fail_under_from") == "ini" else "command line"
    allowed = options.get("allow_unevaluated")
    return Terms(
        judge=manifest.judge.spec,
        asserted=frozenset(_texts(options.get("assert", ["facts", "hard"]))),
        fail_under=tuple((text, origin) for text in _texts(options.get("fail_under"))),
        allow_unevaluated=allowed if isinstance(allowed, int) else 0,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _portable(spec: str) -> str:
    """Return a spec without the folder of a path in it: two equal runs may keep their files in different places."""
    kind, colon, rest = spec.partition(":")
    return f"{kind}:{Path(rest).name}" if kind == "recorded" and colon else spec
