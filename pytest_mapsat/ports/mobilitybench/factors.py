"""Factors and checks as plain data: what the checks of all scenarios are made of."""

from __future__ import annotations

from pytest_mapsat.model import JsonObject

Checks = list[JsonObject]
#: Explicit factors, and facts.
Made = tuple[Checks, Checks]


def factor(name: str, text: str, check: JsonObject) -> JsonObject:
    """Return a factor: its id, the requirement in words, its check."""
    return {"id": name, "text": text, "check": check}


def any_of(*checks: JsonObject) -> JsonObject:
    """Return the check that one of these holds."""
    return checks[0] if len(checks) == 1 else {"kind": "any", "checks": list(checks)}


def all_of(*checks: JsonObject) -> JsonObject:
    """Return the check that each of these holds."""
    return checks[0] if len(checks) == 1 else {"kind": "all", "checks": list(checks)}


def said_by(tool: str, *checks: JsonObject) -> JsonObject:
    """Return the checks with the one that a tool said so: what is told without having asked is a guess."""
    return all_of({"kind": "called", "tool": tool, "answered": True}, *checks)


def grounded(*claims: str) -> JsonObject:
    """Return the check that every claim of these types is borne out."""
    return {"kind": "grounded", "claims": list(claims)}
