"""Telephone numbers: each that is stated must be the one that the results give for the place of which it is said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pytest_mapsat.model import Json
from pytest_mapsat.text import Identifier

from .context import Context
from .finding import Finding, cited, unclear

_DIGITS = re.compile(r"\+?\(?[0-9](?:[0-9 ()-]{5,20})[0-9]")
_FEWEST = 7
_WANTED = "telephone numbers that are those of the places of which they are said"


def phones(context: Context) -> Finding:
    """Every stated telephone number stands in the results under the place of which it is said, or the user or the context gave it."""
    told = [(document, one) for document in context.replies for one in document.identifiers if one.kind == "phone"]
    quotes = tuple(document.quote(one.span) for document, one in told)
    if not told:
        return Finding(True, "no reply states a telephone number, so nothing is claimed", _WANTED, vacuous=True)
    owners = _owners(context)
    held = [_held(one, owners, context) for _, one in told]
    for passed, why in ((False, "which the results do not give for it"), (None, "of which it is open whose it is")):
        these = tuple(quote for quote, one in zip(quotes, held, strict=True) if one is passed)
        if these:
            return (
                unclear(these, why, _WANTED)
                if passed is None
                else Finding(False, f"{cited(these)}, {why}", _WANTED, these)
            )
    return Finding(True, cited(quotes), _WANTED, quotes)


def _held(one: Identifier, owners: dict[str, set[str]], context: Context) -> bool | None:
    """Return whether a number is that of its place; of a number that nothing gives, False."""
    whose = owners.get(one.value)
    if whose is None:
        return False
    if not whose:
        return True
    if len(one.subject) == 1 and any(one.subject[0] in others for others in owners.values()):
        return one.subject[0] in whose
    standings = context.standings("any")
    proposed = {key for key, standing in standings.items() if standing.proposed}
    reachable = set(standings) & set().union(*owners.values())
    # That of the only thing named which has a number is said of it.
    return True if whose & proposed or (reachable and reachable <= whose) else None


def _owners(context: Context) -> dict[str, set[str]]:
    """Return the telephone numbers that are known, each with the things in whose records it stands; none for those of the user and the context."""
    owners: dict[str, set[str]] = {}
    for entity in context.entities:
        for number in _numbers(entity.record):
            owners.setdefault(number, set()).add(entity.key)
    told = [turn.text for turn in context.trajectory.turns if turn.role == "user"]
    told += [json.dumps(step.result, ensure_ascii=False) for _, step in context.answered]
    if context.visible is not None:
        told.append(context.visible.model_dump_json())
    for number in (number for text in told for number in _numbers(text)):
        owners.setdefault(number, set())
    return owners


def _numbers(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, str):
        for match in _DIGITS.finditer(value):
            digits = "".join(char for char in match.group() if char.isdigit())
            if len(digits) >= _FEWEST:
                yield digits
