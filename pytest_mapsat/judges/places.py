"""The checks on what is recommended: ``recommends`` and ``avoids``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_mapsat.model import Avoids, Match, Quote, Recommends, Step
from pytest_mapsat.sandbox import satisfies, values_at

from .context import Context
from .describe import matches_in_words, one_of
from .entities import Entity, Recommended, names_of, recommended, short_name
from .finding import Finding, absent
from .fold import fold_phrase
from .phrases import first_standing

_SHOWN_AT_MOST = 5


def recommends(check: Recommends, context: Context) -> Finding:
    """What is recommended is one of ``names`` and has every attribute of ``where``: one such thing, or all."""
    if not context.names_things(check.tool):
        return _undeclared(check.tool)
    found = _recommended(check, context)
    wanted = f"{'only ' if check.quantifier == 'all' else ''}{_thing(check)} recommended"
    if not found:
        nothing = absent(check.if_absent, _nothing(check, context), wanted)
        return replace(nothing, missed=context.only_missed(check.tool))
    held = [_fits(check, one, context.trajectory.calls) for one in found]
    if check.quantifier == "any":
        passed = True if True in held else None if None in held else False
    else:
        passed = False if False in held else None if None in held else True
    deciding = [one for one, fit in zip(found, held, strict=True) if fit is passed]
    return Finding(passed, _why(check, deciding, passed), wanted, _quotes(deciding))


def avoids(check: Avoids, context: Context) -> Finding:
    """No recommended thing is one of ``names``, and none has all attributes of ``where``."""
    wanted = f"{_thing(check)} not recommended"
    named = None if check.where else first_standing(context.read(check.turn), check.names)
    if not context.names_things(check.tool):
        return _undeclared(check.tool)
    found = _recommended(check, context)
    held = [_fits(check, one, context.trajectory.calls, either=True) for one in found]
    for passed, fit in ((False, True), (None, None)):
        deciding = [one for one, is_fit in zip(found, held, strict=True) if is_fit is fit]
        if deciding:
            return Finding(passed, _why(check, deciding, fit), wanted, _quotes(deciding))
    if named is not None and not _known(check.names, context):
        return Finding(False, named[0].cite(named[1]), wanted, (named[0].quote(named[1]),))
    return Finding(True, f"none of the {len(found)} things recommended is {_thing(check)}", wanted)


def _recommended(check: Recommends | Avoids, context: Context) -> tuple[Recommended, ...]:
    entities = [entity for entity in context.entities if check.tool in (None, entity.tool)]
    return recommended(context.read(check.turn), entities)


def _fits(check: Recommends | Avoids, one: Recommended, calls: Sequence[Step], *, either: bool = False) -> bool | None:
    """Return whether a recommended name is what the check describes.

    Where several things of one name differ in ``where``, it cannot be told which one is meant. ``either``: the name alone, or
    ``where`` alone, is enough.
    """
    named = _is_named(one.name, check.names)
    if either and check.names and named:
        return True
    if not either and check.names and not named:
        return False
    if not check.where:
        return bool(check.names) and named
    by_id: dict[str, list[bool | None]] = {}
    for entity in one.entities:
        by_id.setdefault(entity.id, []).append(_has(entity, check.where, calls))
    fits = {True if True in held else None if None in held else False for held in by_id.values()}
    return fits.pop() if len(fits) == 1 else None


def _has(entity: Entity, where: Mapping[str, Match], calls: Sequence[Step]) -> bool | None:
    """Return whether a record has every attribute."""
    fields = entity.record if isinstance(entity.record, dict) else None
    held: list[bool | None] = []
    for path, match in where.items():
        values = values_at(entity.record, path) or [None]
        fits = [satisfies(match, value, arguments=fields, results=calls) for value in values]
        held.append(True if True in fits else None if None in fits else False)
    return False if False in held else None if None in held else True


def _is_named(name: str, names: Sequence[str]) -> bool:
    """Return whether one of the author's names means the thing: in full, or without what its name has in brackets."""
    forms = {*names_of(name), short_name(name)}
    return any(fold_phrase(wanted) in forms for wanted in names)


def _known(names: Sequence[str], context: Context) -> bool:
    return any(_is_named(entity.name, names) for entity in context.entities)


def _thing(check: Recommends | Avoids) -> str:
    named = one_of(check.names) if check.names else "a thing"
    return named + (f" with {matches_in_words(check.where)}" if check.where else "")


def _nothing(check: Recommends, context: Context) -> str:
    named = first_standing(context.read(check.turn), check.names)
    if named is not None:
        return f"{named[0].cite(named[1])}, which is ruled out or is nothing that a tool returned"
    return "nothing that a tool returned is recommended"


def _why(check: Recommends | Avoids, deciding: Sequence[Recommended], fit: bool | None) -> str:
    shown = "; ".join(one.reading.cite(one.mention) for one in deciding[:_SHOWN_AT_MOST])
    more = f" and {len(deciding) - _SHOWN_AT_MOST} more" if len(deciding) > _SHOWN_AT_MOST else ""
    says = {True: "which is", False: "which is not", None: "of which it cannot be told whether it is"}[fit]
    return f"{shown}{more}, {says} {_thing(check)}"


def _quotes(found: Sequence[Recommended]) -> tuple[Quote, ...]:
    return tuple(one.reading.quote(one.mention) for one in found[:_SHOWN_AT_MOST])


def _undeclared(tool: str | None) -> Finding:
    where = f"the tool {tool}" if tool else "no tool of the suite"
    return Finding(
        None,
        f"{where} {'does not declare' if tool else 'declares'} where its results name things, so nothing can be looked up",
    )
