"""The checks made of checks: ``all``, ``any``, ``at_least``, ``not``, by three-valued logic (Kleene).

What is undecided stays so unless the known parts decide. The reasons and quotations that decided are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mapsat.model import Family

from .finding import Finding

#: Where findings of several families decide together, the first of these names their kind.
_GRAVEST: tuple[Family, ...] = ("choice", "figure", "words", "travels", "claims")

Findings = Sequence[Finding]


def every(findings: Findings) -> Finding:
    """All hold: one that does not decides."""
    return at_least(len(findings), findings)


def some(findings: Findings) -> Finding:
    """One holds: it decides."""
    return at_least(1, findings)


def at_least(needed: int, findings: Findings) -> Finding:
    """At least ``needed`` hold: known as soon as enough pass, or so many fail that the rest cannot do."""
    groups = {passed: [finding for finding in findings if finding.passed is passed] for passed in (True, False, None)}
    held, failed = groups[True], groups[False]
    if len(held) >= needed:
        return _joined(True, held[:needed], findings, needed)
    if len(findings) - len(failed) < needed:
        return _joined(False, failed, findings, needed)
    return _joined(None, groups[None], findings, needed)


def negated(finding: Finding) -> Finding:
    """It does not hold; what is not known stays so."""
    passed = None if finding.passed is None else not finding.passed
    return Finding(
        passed,
        finding.why,
        f"not: {finding.wanted}",
        finding.quotes,
        missed=finding.missed,
        broken=finding.broken,
        reading=finding.reading,
        absent=finding.absent,
    )


def reading_of(deciding: Findings, *, sure: int = 0) -> Family:
    """Return the family that findings which decide together belong to; none where so many of them read no prose that these decide alone.

    Args:
        deciding: the findings that decide.
        sure: how many that read no prose decide alone; 0: all must.
    """
    if sum(not finding.reading for finding in deciding) >= (sure or len(deciding)):
        return ""
    families = {finding.reading for finding in deciding}
    return next(family for family in _GRAVEST if family in families)


def _joined(passed: bool | None, deciding: Findings, findings: Findings, needed: int) -> Finding:
    """Return one finding with the reasons of those that decided, and in what is wanted only what could still change it."""
    asked_for = deciding if passed is not True and needed == len(findings) else findings
    word = " and " if needed == len(findings) else " or "
    wanted = word.join(finding.wanted for finding in asked_for if finding.wanted)
    if 1 < needed < len(findings):
        wanted = f"at least {needed} of: {wanted}"
    sure = len(findings) - needed + 1 if passed is False else needed if passed else 0
    return Finding(
        passed,
        "; ".join(finding.why for finding in deciding if finding.why),
        wanted,
        tuple(quote for finding in deciding for quote in finding.quotes),
        nothing_claimed=passed is True and all(finding.nothing_claimed for finding in deciding),
        missed=tuple(sorted({tool for finding in deciding for tool in finding.missed})),
        broken=any(finding.broken for finding in deciding),
        compared=tuple(line for finding in deciding for line in finding.compared),
        idle=passed is True and all(finding.idle for finding in deciding),
        reading=reading_of(deciding, sure=sure),
        absent=any(finding.absent for finding in deciding),
    )
