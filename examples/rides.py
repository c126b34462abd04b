"""Rides that everybody and everything fits into, that are there in time, and what they cost for all together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

from .needs import Needs
from .request import Request
from .wording import pick
from .world import Json, World, point


def by_ride(request: Request, needs: Needs, world: World, destination: Json) -> str:
    """Return the cheapest ride that suits everybody; where no single one does, the cheapest two."""
    options = world.ask("get_ride_estimate", origin=world.here, destination=point(destination)).get("options", [])
    usable = [option for option in options if _suits(option, needs, world)]
    fitting = [option for option in usable if _fits((option,), needs)]
    if not fitting:
        return _two(request.language, usable, needs)
    best = min(fitting, key=lambda option: _price(option, needs))
    seat = pick(request.language, ", a child seat", "，配儿童座椅") if needs.child_seat else ""
    return pick(
        request.language,
        f"Take the {best['kind']}: {best['seats']} seats and room for {best['bags']} bags{seat}. The fare is {_price(best, needs):g} yuan. "
        f"It comes in {best['wait_min']} min. The drive takes {best['ride_min']} min.",
        f"建议叫{best['kind']}{seat}，预估{_price(best, needs):g}元。大约等{best['wait_min']}分钟。路上{best['ride_min']}分钟。",
    )


def luggage_question(request: Request, needs: Needs) -> str:
    """Return the question after the luggage of a group, or an empty string."""
    if needs.bags is not None or (needs.people or 1) == 1:
        return ""
    return pick(request.language, "How many bags do you have with you?", "请问有几件行李？")


def _suits(option: Json, needs: Needs, world: World) -> bool:
    """Return whether a kind of ride has what the user needs and is there in time."""
    arrival = world.minute + int(option["wait_min"]) + int(option["ride_min"])
    return (
        (option["child_seat"] or not needs.child_seat)
        and (option.get("wheelchair", True) or not needs.wheelchair)
        and arrival <= (needs.deadline if needs.deadline is not None else arrival)
    )


def _fits(options: Sequence[Json], needs: Needs) -> bool:
    """Return whether all people and bags fit into the rides together."""
    seats, bags = (sum(int(option[what]) for option in options) for what in ("seats", "bags"))
    return seats >= (needs.people or 1) and bags >= (needs.bags or 0)


def _price(option: Json, needs: Needs) -> float:
    """Return what a ride costs for all together, yuan."""
    return float(option["price_yuan"]) * ((needs.people or 1) if option.get("per_person") else 1)


def _two(language: str, usable: Sequence[Json], needs: Needs) -> str:
    """Return the cheapest two rides that take all, and what they cost together."""
    pairs = [pair for pair in combinations_with_replacement(usable, 2) if _fits(pair, needs)]
    if not pairs:
        return pick(language, "I found no ride that takes all of you in time.", "没有找到合适的车。")
    one, other = min(pairs, key=lambda pair: sum(_price(option, needs) for option in pair))
    total = _price(one, needs) + _price(other, needs)
    kinds = pick(language, f"a {one['kind']} and a {other['kind']}", f"{one['kind']}和{other['kind']}各一辆")
    kinds = pick(language, f"two {one['kind']}s", f"两辆{one['kind']}") if one == other else kinds
    return pick(
        language,
        f"No single ride takes all of you; take two: {kinds}, {total:g} yuan in total.",
        f"没有一辆车坐得下，建议分乘两辆：{kinds}，一共{total:g}元。",
    )
