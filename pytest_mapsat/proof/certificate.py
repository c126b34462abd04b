"""The certificate of a judge: what it must reach on labelled answers before it may gate a suite."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_mapsat.formats import limits, parse_yaml, read_bytes, replacing, shown_path, validate
from pytest_mapsat.metrics import wilson_interval
from pytest_mapsat.model import (
    JudgeCertificate,
    JudgeRate,
    Problem,
    Run,
    RunManifest,
    SuiteError,
    UsageError,
    digest,
    mark_value,
)
from pytest_mapsat.suite import Suite

from .agreement import Agreement

#: Where a suite keeps it.
CERTIFICATE = "judge-certificate.json"
SCHEMA = "mapsat-judge-certificate/1"
#: Per cent: the default level of a bound, and that which a suite's manifest means.
LEVEL = 95.0
LEAST_LEVEL = 50.0
RATES = ("tpr", "tnr")
_NOUNS = {"tpr": "kept requirements that it passes", "tnr": "broken requirements that it fails"}
_REQUIRED = re.compile(r"(tpr|tnr)=(0?\.[0-9]{1,6})(?:@([0-9]{1,2}(?:\.[0-9]{1,3})?))?")
_DIGITS = 4
_ROUNDING = 1e-9
_MOST_MORE = 10_000


def parse_required(text: str) -> tuple[dict[str, float], float]:
    """Return what a judge must reach, by rate, and the level of its bounds, per cent, from a text like ``tpr=0.9,tnr=0.9@95``.

    Raises:
        ValueError: it is none; the message says what was expected.
    """
    required: dict[str, float] = {}
    levels: set[float] = set()
    for part in text.split(","):
        match = _REQUIRED.fullmatch(part.strip())
        if match is None or match[1] in required or (match[3] and float(match[3]) < LEAST_LEVEL):
            raise ValueError(
                f"found {part.strip()!r}, expected tpr=0.9, tnr=0.9 or both, at a level as in tpr=0.9,tnr=0.9@95"
            )
        required[match[1]] = float(match[2])
        levels |= {float(match[3])} if match[3] else set()
    if len(levels) > 1:
        raise ValueError(f"found two levels in {text!r}, expected one for all, as in tpr=0.9,tnr=0.9@95")
    return required, levels.pop() if levels else LEVEL


def rates_of(agreement: Agreement, level: float) -> dict[str, dict[str, JudgeRate]]:
    """Return the rates of a judge over all labels, and by kind of label: ``{"all": {"tpr": …, "tnr": …}, "asked": …}``.

    What a machine decides without reading, and what people decided, says nothing of the judge and is not counted. What it left open is counted as wrong.

    Args:
        agreement: the judge held against what is true.
        level: per cent, at which the lower bounds hold.
    """
    counted: dict[tuple[str, str], list[tuple[int, bool]]] = {}
    for dialogue, held in enumerate(agreement.held):
        for requirement, mark, label in held.labels:
            if requirement.machine_sure or label.by == "decision":
                continue
            kept = mark_value(mark) > 0
            right = label.value is not None and (label.value > 0) == kept
            for kind in ("all", label.kind):
                counted.setdefault((kind, "tpr" if kept else "tnr"), []).append((dialogue, right))
    kinds = ["all", *sorted({kind for kind, _ in counted} - {"all"})]
    return {kind: {rate: _rate(counted.get((kind, rate), ()), level) for rate in RATES} for kind in kinds}


def _rate(labels: Sequence[tuple[int, bool]], level: float) -> JudgeRate:
    right, dialogues = sum(right for _, right in labels), len({dialogue for dialogue, _ in labels})
    value, low = _figures(len(labels), right, dialogues, level)
    return JudgeRate(labels=len(labels), right=right, dialogues=dialogues, value=value, low=low)


def _figures(labels: int, right: int, dialogues: int, level: float) -> tuple[float | None, float | None]:
    """Return a share and its one-sided lower bound: Wilson's, dialogues counting as the sample, since labels of one dialogue are alike."""
    if not labels or not dialogues:
        return None, None
    interval = wilson_interval(right / labels, dialogues, level=2 * level / 100 - 1)
    low = (
        None if interval is None else math.floor(interval[0] * 10**_DIGITS) / 10**_DIGITS
    )  # never above what was measured
    return round(right / labels, _DIGITS), low


def _reaches(low: float | None, least: float) -> bool:
    return low is not None and low >= least - _ROUNDING


def lacking(rates: Mapping[str, JudgeRate], required: Mapping[str, float], level: float) -> Iterator[str]:
    """Yield for each rate that is not reached, by its lower bound, what it is and what is missing."""
    for name, least in required.items():
        rate = rates[name]
        if _reaches(rate.low, least):
            continue
        each = max(1, round(rate.labels / rate.dialogues)) if rate.dialogues else 1
        more = next(
            (
                number
                for number in range(1, _MOST_MORE)
                if _reaches(_figures(rate.labels + each * number, rate.right + each * number, rate.dialogues + number, level)[1], least)
            ),
            None,
        )  # fmt: skip
        measured = (
            f"{rate.right} of {rate.labels} in {rate.dialogues} dialogues, at least {rate.low or 0:g} at {level:g} %"
        )
        way = "" if more is None else f"; {more} more dialogues that it labels right would do"
        yield f"{name} {least:g} is not reached ({_NOUNS[name]}: {measured}{way})"


def certificate_of(
    run: Run, suites: Sequence[Suite], agreement: Agreement, level: float
) -> tuple[JudgeCertificate, Suite]:
    """Return what a run says of its judge, and the suite that it says it for.

    Raises:
        UsageError: the dialogues are of several suites.
    """
    used = [suite for suite in suites if any(suite.manifest.name == info.name for info in run.manifest.suites)]
    if len(used) != 1:
        raise UsageError(
            "a certificate is for one suite, and the run is of several: judge the answers of one suite at a time"
        )
    terms: dict[str, Any] = _judged_by(run.manifest, used[0]) | rates_of(agreement, level)["all"]
    return JudgeCertificate(schema_=SCHEMA, level=level, **terms), used[0]


def _judged_by(manifest: RunManifest, suite: Suite) -> dict[str, Any]:
    """Return who judged a run, in all that a certificate is bound to."""
    from pytest_mapsat.judges import PROMPTS  # noqa: PLC0415  a run loads the judge that asks a model only where it is asked for

    judge, _, model = manifest.judge.spec.partition(":")
    prompts = {name: mark for name, mark in manifest.prompts.items() if name.rpartition("/")[2] in PROMPTS}
    if prompts and suite.manifest.judge.about:
        prompts["suite/about"] = digest(suite.manifest.judge.about)
    return {
        "suite": suite.manifest.name,
        "judge": judge,
        "model": model,
        "votes": manifest.options.judge_votes,
        "version": manifest.versions["pytest-mapsat"],
        "prompts": prompts,
    }


def write_certificate(path: Path, certificate: JudgeCertificate) -> None:
    """Write a certificate, the same bytes for the same figures. Raises UsageError where the place cannot be written."""
    text = json.dumps(certificate.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=2)
    try:
        with replacing(path) as file:
            file.write(f"{text}\n".encode())
    except OSError as error:
        raise UsageError(f"{shown_path(path)}: {error.strerror}") from None


def read_certificate(path: Path) -> JudgeCertificate:
    """Return the certificate in a file.

    Raises:
        SuiteError: it cannot be read, is cut short, or its figures are not those that its counts give.
    """
    name = shown_path(path)
    hint = "write it anew with mapsat review --agreement"
    problems: list[Problem] = []
    try:
        documents = parse_yaml(read_bytes(path, limits.ROW_BYTES), name)
    except SuiteError as error:
        first = error.problems[0]
        raise SuiteError(Problem(first.path, first.line, first.message, hint)) from None
    certificate = validate(JudgeCertificate, documents[0], name, problems) if len(documents) == 1 else None
    if certificate is None:
        first = problems[0] if problems else Problem(name, 0, "is no certificate of a judge")
        raise SuiteError(Problem(first.path, first.line, first.message, hint))
    for rate in RATES:
        given: JudgeRate = getattr(certificate, rate)
        possible = max(given.right, given.dialogues) <= given.labels
        figures = _figures(given.labels, given.right, given.dialogues, certificate.level) if possible else (None, None)
        if not possible or figures != (given.value, given.low):
            message = (
                f"{rate} is {given.value} and at least {given.low}, but {given.right} of {given.labels} labels in {given.dialogues} "
                f"dialogues give {figures[0]} and {figures[1]}: it was changed by hand"
            )
            raise SuiteError(Problem(name, documents[0].lines.at([rate]), message, hint))
    return certificate


def uncertified(suites: Iterable[Suite], manifest: RunManifest) -> Iterator[str]:
    """Yield for each suite that asks for a certificate why the judge of a run has none that holds, and what to run."""
    for suite in suites:
        terms = suite.manifest.judge
        if not terms.certified:
            continue
        required = {rate: least for rate in RATES if (least := getattr(terms, rate)) is not None}
        wanted = ",".join(f"{rate}={least:g}" for rate, least in required.items()) or "tpr=0.5"
        place, spec = shown_path(suite.root), manifest.judge.spec
        ways = (
            f"mapsat lint {place} --answers --save answers.json",
            f"mapsat regrade answers.json --suite {place} --judge={spec} --judge-votes={manifest.options.judge_votes} --save judged.json",
            f"mapsat review --agreement judged.json --suite {place} --labels {place} --require {wanted}@{LEVEL:g}",
        )
        if why := _refusal(suite, manifest, required):
            yield f"the judge {spec} may not gate {suite.manifest.name}: {why}; run: {'; '.join(ways)}"


def _refusal(suite: Suite, manifest: RunManifest, required: Mapping[str, float]) -> str:
    """Return why the certificate of a suite does not hold for the judge of a run; empty where it does."""
    path = suite.root / CERTIFICATE
    if not path.exists():
        return f"there is no {shown_path(path)}"
    try:
        certificate = read_certificate(path)
    except SuiteError as error:
        return str(error.problems[0])
    for name, now in _judged_by(manifest, suite).items():
        if (then := getattr(certificate, name)) != now:
            words = "other prompts" if name == "prompts" else f"{name} {then!r}, and this is {now!r}"
            return f"{shown_path(path)} is of {words}"
    rates = {rate: _anew(getattr(certificate, rate)) for rate in RATES}
    if short := [*lacking(rates, required, LEVEL)]:
        return f"{shown_path(path)}: {short[0]}"
    labels, least = certificate.tpr.labels + certificate.tnr.labels, suite.manifest.judge.labels
    return f"{shown_path(path)} rests on {labels} labels, and {least} are asked for" if labels < least else ""


def _anew(rate: JudgeRate) -> JudgeRate:
    """Return a rate with the bound at the level that manifests mean, whatever level it was written at."""
    return rate.model_copy(update={"low": _figures(rate.labels, rate.right, rate.dialogues, LEVEL)[1]})


def certificate_table(rates: Mapping[str, Mapping[str, JudgeRate]], level: float) -> Iterator[str]:
    """Yield the lines of the report: for each kind of label how many kept requirements passed, and how many broken ones failed."""
    yield f"{'requirements that are read':<28}{'kept':>6}{'passed':>8}{'tpr':>7}{'broken':>8}{'failed':>8}{'tnr':>7}"
    for kind, both in rates.items():
        cells = "".join(
            f"{rate.labels:>{width}}{rate.right:>8}{'-' if rate.value is None else f'{rate.value:.3f}':>7}"
            for rate, width in zip(both.values(), (6, 8), strict=True)
        )
        yield f"  {kind:<26}{cells}"
    lows = ", ".join(f"{name} {rate.low if rate.low is not None else '-'}" for name, rate in rates["all"].items())
    yield f"at least, at {level:g} % (Wilson, one-sided, by dialogue): {lows}"
