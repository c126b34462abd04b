"""VitaBench 1.0 and 2.0: its metrics, and the check that compares the orders at the end; its tasks and worlds are in modules beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pytest_mapsat import Episode, Finding
from pytest_mapsat.judges import matching
from pytest_mapsat.metrics import (
    Given,
    Measure,
    MetricInput,
    MetricSet,
    achieved,
    not_applicable,
    share_of,
    weighted_share,
)
from pytest_mapsat.model import Json, JsonObject, canonical_json, fold
from pytest_mapsat.ports import packaged_metrics

#: The id of the requirement that compares the orders at the end.
ORDERS = "orders"
#: The ids of rubrics begin with this; a number follows.
RUBRIC = "rubric-"
_METRICS = packaged_metrics(__package__)


def _measure(metric_input: MetricInput) -> Mapping[str, Given]:
    """Return the metrics of an episode: orders, rubrics and reward."""
    if metric_input.fault is not None:
        nothing = Measure(0.0, why=metric_input.fault.message)
        return {"vita_memory": _memory(metric_input), **_failures(metric_input, nothing)}
    readings = metric_input.readings
    orders = [(1.0, readings[ORDERS])] if ORDERS in readings else []
    rubrics = [(1.0, reading) for name, reading in readings.items() if name.startswith(RUBRIC)]
    share = weighted_share(rubrics, "the case has no rubrics")
    reward = _reward(metric_input, share)
    return {
        "vita_orders": weighted_share(orders, "the case has no orders that can be compared"),
        "vita_rubrics": share,
        "vita_reward": reward,
        "vita_memory": _memory(metric_input),
        **_failures(metric_input, reward),
    }


def _memory(metric_input: MetricInput) -> Measure:
    """Return the share of the user's true preferences that the memory gave the agent (2.0, table 6), before the first turn or by its tools.

    A preference is given where the words of its tag are. Other words may say it, too: without them it is open, unless the memory gave nothing at all.
    """
    given = metric_input.trajectory.memory
    if given is None or not metric_input.case.truth.preferences:
        return not_applicable("the agent has no memory" if given is None else "the case says no preferences")
    steps = [step for reply in metric_input.trajectory.replies for step in reply.steps if step.kind == "memory"]
    text = fold(" ".join([given.text, *(canonical_json(step.result) for step in steps)]))
    tags = [fold(preference.partition(": ")[2] or preference) for preference in metric_input.case.truth.preferences]
    return share_of([True if tag in text else None if text.strip() else False for tag in tags], "")


def _failures(metric_input: MetricInput, reward: Measure) -> dict[str, Given]:
    """Return what an episode without its reward surely failed by (2.0, figure 5): tools (A), preferences (B), 1 or 0, or bounds where neither is sure.

    By tools: a tool failed and never succeeded afterwards; not, where no call failed. By preferences: a rubric that has the words of a true preference fails.
    """
    if reward.value != 0:
        why = "every rubric holds" if reward.value else "whether every rubric holds is not decided, or there is none"
        return dict.fromkeys(("vita_fails_tools", "vita_fails_preferences"), not_applicable(why))
    last = {call.tool: call.status for call in metric_input.calls}
    failed = [call for call in metric_input.calls if call.status in ("error", "refused")]
    tools = True if {*last.values()} & {"error", "refused"} else None if failed else False
    tags = [fold(preference.partition(": ")[2] or preference) for preference in metric_input.case.truth.preferences]
    broken = [
        fold(requirement.text)
        for requirement in metric_input.case.truth.requirements
        if requirement.id.startswith(RUBRIC) and metric_input.readings[requirement.id].value == 0
    ]
    preferences = True if any(tag in rubric for tag in tags for rubric in broken) else None
    return {
        "vita_fails_tools": share_of([tools], ""),
        "vita_fails_preferences": share_of([preferences], "")
        if tags
        else not_applicable("the case says no preferences"),
    }


def _reward(metric_input: MetricInput, share: Measure) -> Measure:
    """Return 1 where all rubrics hold, 0 where one fails or the dialogue was cut off, and bounds where one is undecided."""
    ending = metric_input.trajectory.ending
    if ending not in ("done", "stalled"):
        return Measure(0.0, why=f"the dialogue did not end by itself: {ending}")
    return achieved(share)


#: Orders, rubrics and reward.
VITA = MetricSet("vita", _METRICS, _measure, of_calls=("vita_fails_tools",))


Standing = Literal["unpaid", "paid", "cancelled"]
#: The tables that are compared, each with the column of its time.
_TIMES: Mapping[str, str] = {"orders": "", "books": "book_time", "reservations": "reservation_time"}
_WANTED = "the orders, bookings and reservations of the reference, and no others"
_MOST = 200


def standing(status: str) -> Standing:
    """Return ``unpaid`` or ``cancelled`` for an order with this status, and ``paid`` for every other, such as delivered ones."""
    return "unpaid" if status == "unpaid" else "cancelled" if status == "cancelled" else "paid"


def new_forms(rows: Iterable[tuple[str, Mapping[str, Json]]]) -> list[JsonObject]:
    """Return the forms of new rows: those of their values that are compared with the reference.

    A delivery is one form. Other orders, of which one call orders one product, are added up where they are equal. Orders that were cancelled again
    are left out.

    Args:
        rows: each with the name of its table.
    """
    forms: list[JsonObject] = []
    counted: Counter[tuple[str, ...]] = Counter()
    for table, row in rows:
        stands = standing(row["status"])
        if stands == "cancelled":
            continue
        if table != "orders":
            when = {"time": row[_TIMES[table]], "people": row["customer_count"]}
            forms.append({"kind": table[:-1], "shop": row["shop_id"], **when, "stands": stands})
        elif row["kind"] == "delivery":
            forms.append(_delivery(row, stands))
        else:
            for product in row["products"]:
                key = row["kind"], row["shop_id"], product["product_id"], product.get("date", ""), stands
                counted[key] += product["quantity"]
    names = ("kind", "shop", "product", "date", "stands")
    forms += [{**dict(zip(names, key, strict=True)), "count": count} for key, count in sorted(counted.items())]
    return forms


def choice(product: Mapping[str, Json]) -> str:
    """Return a product's id with the attributes that were chosen for it, casefolded."""
    return f"{product['product_id']}: {product.get('attributes', '')}".casefold()


def _delivery(row: Mapping[str, Json], stands: Standing) -> JsonObject:
    """Return the form of a delivery order: shop, items, choices, place, time, whether it has a note, and standing."""
    items: Counter[str] = Counter()
    for product in row["products"]:
        items[product["product_id"]] += product["quantity"]
    return {
        "kind": "delivery",
        "shop": row["shop_id"],
        "items": dict(sorted(items.items())),
        "choices": sorted(choice(product) for product in row["products"]),
        "place": row["place"],
        "time": row["dispatch_time"],
        "note": bool(row["note"].strip()),
        "stands": stands,
    }


def _fits(wanted: JsonObject, form: JsonObject) -> bool:
    """Return whether a form has all wanted values; its choices may be more than the wanted ones."""
    return all(
        set(value) <= set(form.get(name, ())) if name == "choices" else form.get(name) == value
        for name, value in wanted.items()
    )


def vita_orders(
    episode: Episode,
    placed: Sequence[JsonObject] = (),
    earlier: Mapping[str, JsonObject] | None = None,
    optional: Sequence[JsonObject] = (),
) -> Finding:
    """Check that the episode ends with the orders, bookings and reservations of the reference, and no others.

    Args:
        episode: the dialogue with its changes.
        placed: what must be new, in the forms of ``new_forms``; what a form lacks may be anything.
        earlier: how orders that were there before must stand, by id; all others stay as they are.
        optional: what may be new besides.
    """
    earlier = earlier or {}
    changes = [change for change in episode.changes if change.table in _TIMES]
    if len(changes) > _MOST:
        return Finding(False, f"{len(changes)} orders, bookings and reservations are new or changed", _WANTED)
    new = (change for change in changes if change.before is None)
    forms = new_forms((change.table, change.after) for change in new if change.after is not None)
    pairs = matching([[_fits(wanted, form) for form in forms] for wanted in (*placed, *optional)])
    missing = [wanted for place, wanted in enumerate(placed) if place not in pairs]
    extra = [form for at, form in enumerate(forms) if at not in pairs.values()]
    compared = [(_in_words(wanted), "nothing") for wanted in missing] + [("nothing", _in_words(form)) for form in extra]
    seen: set[str] = set()
    for change in changes:
        if change.before is not None:
            seen.add(change.id)
            compared += _changed(change.id, change.before, change.after, earlier.get(change.id, {}))
    compared += [(f"{name} {_in_words(wanted)}", "as it was") for name, wanted in earlier.items() if name not in seen]
    if compared:
        why = "; ".join(f"expected {wanted}, found {ended}" for wanted, ended in compared[:3])
        return Finding(False, why, _WANTED, compared=(("reference", "episode"), *compared[:20]))
    idle = not changes and not placed and not earlier
    return Finding(True, f"{len(forms)} new, {len(seen)} changed, as in the reference", _WANTED, idle=idle)


def _changed(
    name: str, before: Mapping[str, Json], after: Mapping[str, Json] | None, wanted: Mapping[str, Json]
) -> list[tuple[str, str]]:
    """Return a pair of expected and found value for each part of an earlier order that does not end as wanted."""
    if after is None:
        return [(f"{name} {_in_words(wanted)}", "it is gone")]
    was, ends = _state(before), _state(after)
    if wanted.get("note"):
        was.pop("note")
        ends["note"] = bool(str(ends["note"]).strip())
    expected = {**was, **wanted}
    differing = [column for column in expected if expected[column] != ends.get(column)]
    return [(f"{name} {column} {expected[column]}", f"{column} {ends.get(column)}") for column in differing]


def _state(row: Mapping[str, Json]) -> dict[str, Json]:
    """Return the parts of an order, booking or reservation that a call can change."""
    products = sorted(f"{product['product_id']} x {product['quantity']}" for product in row.get("products", ()))
    when = next((row[column] for column in _TIMES.values() if column and column in row), "")
    kept = {"note": row.get("note", ""), "time": when, "people": row.get("customer_count", 0)}
    return {"stands": standing(row["status"]), "products": products, **kept}


def _in_words(form: Mapping[str, Json]) -> str:
    """Return a form as text, ``name=value`` for each value that is not empty."""
    return " ".join(f"{name}={value}" for name, value in form.items() if value not in ("", [], {}))
