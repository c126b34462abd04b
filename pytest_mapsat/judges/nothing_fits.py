"""Labels where nothing meets all needs (``truth.none``): one need may be given up, by an offer that keeps the others, and the reply says which one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_mapsat.model import (
    Case,
    Label,
    NothingFits,
    Output,
    Recommends,
    Requirement,
    Says,
    values_at,
)
from pytest_mapsat.reading import fold_phrase

from .context import JudgedDialogue
from .exact import consented
from .findings import Finding, first_few
from .labels import evaluate, label_of, label_valued

#: So many offers of one reply are judged one by one; more must all meet all needs.
_MOST_OFFERS = 50


def relaxed(case: Case, none: NothingFits, context: JudgedDialogue, labels: Sequence[Label]) -> tuple[Label, ...]:
    """Return the labels of a case in which nothing meets all needs.

    Each offer of the last reply is judged on its own. A need that an offer alone breaks is given up: it passes if the reply says so, and if
    the user agreed to each write. Two needs that one offer breaks fail. A need that is kept or undecided keeps its label.
    """
    needs = {each.id: each for each in case.truth.requirements if each.id in none.relax}
    if not needs:  # a baseline plays a part of the requirements
        return tuple(labels)
    before = {label.requirement: label for label in labels if label.requirement in needs}
    offers = [
        {name: label_of(need, offer) for name, need in needs.items()} for offer in _offers(needs.values(), context)
    ] or [before]
    broken = [
        [name for name, label in offer.items() if label.value is not None and label.value < 1] for offer in offers
    ]
    both = {name for names in broken if len(names) > 1 for name in names}
    alone = {name for names in broken for name in names} - both
    still_open = {name for offer in offers for name, label in offer.items() if label.value is None}
    after = {name: min((offer[name] for offer in offers), key=_goodness) for name in needs}
    for name in alone:
        finding = _says_so(name, none, alone, still_open, context)
        if _offers_nothing(context):
            finding = finding._replace(passed=False, why="the replies offer nothing that gives up a need")
        after[name] = label_valued(needs[name], finding, context)
    if not (both or alone or still_open):
        why = "all of them seem to be met, and nothing was to meet them all"
        finding = Finding(False if _offers_nothing(context) else None, why, _wanted(none.relax))
        after[none.relax[0]] = label_valued(needs[none.relax[0]], finding, context)
    agreed = _agreed(none, context)
    if agreed.passed is not True:
        sure = [name for name, label in after.items() if label.value == 1 and name not in alone]
        for name in [name for name in needs if name not in sure] or [*needs][:1]:
            if agreed.passed is False or after[name].value == 1:
                after[name] = label_valued(needs[name], agreed, context)
    return tuple(after.get(label.requirement, label) for label in labels)


def _goodness(label: Label) -> float:
    """Return a key that sorts failed labels first, then undecided ones."""
    return 0.5 if label.value is None else label.value


def _wanted(names: Iterable[str]) -> str:
    """Return in words what is right where nothing meets all of some needs."""
    return f"an offer gives up one of {first_few([*names])}, and the reply says which"


def _agreed(none: NothingFits, context: JudgedDialogue) -> Finding:
    """Judge whether the user agreed to each call that writes, since each row breaks a need."""
    writing = {step.tool for step in context.calls if (tool := context.tool(step)) and tool.effect == "write"}
    tools = writing if none.agreed is None else {*none.agreed}
    if none.agreed == () or (
        not context.trajectory.lacks_calls and tools.isdisjoint(step.tool for step in context.calls)
    ):
        return Finding(True, "")
    finding = consented(tools, context)
    return finding._replace(why=f"{finding.why}; nothing meets all needs")


def _offers_nothing(context: JudgedDialogue) -> bool:
    """Return whether the replies surely offer nothing."""
    output = any(turn.output for turn in context.trajectory.replies)
    return context.names_things(None) and not output and context.silent("any")


def _offers(needs: Iterable[Requirement], context: JudgedDialogue) -> Iterator[JudgedDialogue]:
    """Yield the dialogue once for each of several offers of the last reply, as if it were the only one; nothing for a single offer."""
    checks = [leaf for need in needs for leaf in need.leaves]
    place = next((each.path for each in checks if isinstance(each, Output) and each.tool and not each.entry), "")
    turns = [*context.trajectory.turns]
    at, reply = next(iter(context.turns("last")), (0, turns[0]))
    if place and reply.output and isinstance(entries := reply.output.get(place), list):
        for entry in entries if 1 < len(entries) <= _MOST_OFFERS else ():
            turns[at] = reply.model_copy(update={"output": {**reply.output, place: [entry]}})
            yield replace(context, trajectory=context.trajectory.model_copy(update={"turns": tuple(turns)}))
    elif all(check.turn == "last" for check in checks if isinstance(check, Recommends)):
        things = {key: each for key, each in context.standings("last").items() if key not in context.named_by_user}
        proposed = [key for key, thing in things.items() if thing.proposed]
        if 1 < len(proposed) <= _MOST_OFFERS and all(thing.proposed is not None for thing in things.values()):
            yield from (context.proposing(key) for key in proposed)


def _says_so(name: str, none: NothingFits, alone: set[str], still_open: set[str], context: JudgedDialogue) -> Finding:
    """Judge whether the replies say that a need is given up, and no other one."""
    wanted, lacks = _wanted(none.relax), f"{name} is not met"
    if none.output:
        output = next((turn.output for _, turn in context.turns("last")), None) or {}
        values = values_at(output, none.output)
        said = {fold_phrase(str(each)) for value in values for each in (value if isinstance(value, list) else [value])}
        meant = {fold_phrase(word): each for each in none.relax for word in (each, *none.says.get(each, ()))}
        other = {meant.get(word, word) for word in said} - alone
        passed = False if name not in map(meant.get, said) or not other <= still_open else None if other else True
        return Finding(passed, f"{lacks}, and {none.output} is {first_few(sorted(said)) or 'missing'}", wanted)
    if name in none.says:
        said_of = {
            each: evaluate(Says(kind="says", any=phrases, about=none.about.get(each, ())), context)
            for each, phrases in none.says.items()
        }
        others = [each for each in none.says if said_of[each].passed and each not in alone | still_open]
        unclear = {"passed": None, "why": f"the reply says that {first_few(others)} is given up too"}
        return said_of[name]._replace(**unclear if said_of[name].passed and others else {"wanted": wanted})
    if context.speechless("any"):
        return Finding(False, f"{lacks}, and no reply says so", wanted)
    return Finding(None, f"{lacks}, and it is unclear whether the replies say that it is given up", wanted)
