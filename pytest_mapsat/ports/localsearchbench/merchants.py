"""Made-up merchants: the 28 fields of LocalSearchBench's records (figure 14 of the paper) and an id, in its six categories.

Among them stand traps for a search: twins that differ in one field, firms that have one name in several towns, and descriptions that promise what the fields deny.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pytest_mapsat.formats import package_data
from pytest_mapsat.making import TOWNS, BuildRequest, Draws, Town, coined_name, town
from pytest_mapsat.model import JsonObject, UsageError
from pytest_mapsat.suite import write_bytes, write_rows

#: The most merchants of a town.
MOST = 200_000
_TOWNS, _EACH = 9, 3000
_CHAINS = 12
#: How often, in percent: a firm of a chain, a description that promises too much, other hours at weekends, a pair of twins among 20 merchants.
_OF_CHAIN, _PROMISING, _SPLIT, _TWINS = 4, 5, 12, 50
#: The categories whose merchants may deliver, by their place in the file of a language: dining, shopping, healthcare.
_DELIVERS = (0, 2, 4)


class MerchantSort(NamedTuple):
    """A kind of merchant: its category and subcategory, whether it may deliver, and its words from the language's file."""

    category: str
    subcategory: str
    delivers: bool
    words: Mapping[str, Any]


def build_merchants(request: BuildRequest, folder: Path) -> dict[str, int]:
    """Write the tables ``merchants`` and ``merchant_words`` and the tools that search them; one merchant is in memory at a time.

    Args:
        request: what is asked for; 9 towns of 3,000 merchants unless it says otherwise.
        folder: the folder of a suite. A ``tools.yaml`` that it has stays.

    Returns:
        The number of rows by table.

    Raises:
        UsageError: cases are asked for, there are no so many towns or merchants, or a table is there already or cannot be written.
    """
    request.only("cities", "each", what="merchants")
    cities = _TOWNS if request.cities is None else request.cities
    each = _EACH if request.each is None else request.each
    for option, value, most in (("--cities", cities, TOWNS), ("--each", each, MOST)):
        if not 1 <= value <= most:
            raise UsageError(f"{option}: found {value}, expected 1 to {most:,}")
    languages = ("zh", "en") if request.language == "mixed" else (request.language,)
    towns = [town(request.seed, number, languages[number % len(languages)]) for number in range(cities)]
    tables = {name: folder / "state" / f"{name}.jsonl" for name in ("merchant_words", "merchants")}
    for path in tables.values():
        if path.exists():
            raise UsageError(f"{path} already exists; remove it to build it again")
    tables["merchants"].parent.mkdir(exist_ok=True)
    merchants = (row for number, place in enumerate(towns) for row in _of_town(request.seed, number, place, each))
    words = list(_words(languages))
    try:
        write_rows(tables["merchant_words"], words)
        write_rows(tables["merchants"], merchants)
    except BaseException as error:
        tables["merchant_words"].unlink(missing_ok=True)  # with a half of the tables the next attempt would be refused
        if isinstance(error, OSError):
            raise UsageError(f"{folder}: the tables cannot be written: {error.strerror or error}") from error
        raise
    if not (folder / "tools.yaml").exists():
        write_bytes(folder / "tools.yaml", (files(__package__) / "tools.yaml").read_bytes())
    return {"merchants": cities * each, "merchant_words": len(words)}


def _words(languages: Sequence[str]) -> Iterator[JsonObject]:
    """Yield a row for each kind of merchant with the words that searches may use for it."""
    for language in sorted(languages):
        for kind in kinds(language):
            yield {"sort": kind.subcategory, "words": kind.words["also"]}


def _data(language: str) -> Any:
    """Return the words and categories of a language from its YAML file."""
    return package_data(__package__, f"merchants_{language}.yaml")


@cache
def kinds(language: str) -> tuple[MerchantSort, ...]:
    """Return the kinds of merchants of a language (``en``, ``zh``), by category."""
    return tuple(
        MerchantSort(category, subcategory, at in _DELIVERS, words)
        for at, (category, below) in enumerate(_data(language)["categories"].items())
        for subcategory, words in below.items()
        if subcategory != "share"
    )


def _of_town(seed: int, number: int, place: Town, each: int) -> Iterator[JsonObject]:
    """Yield the merchants of a town, mixed by the categories' shares; a greater number only adds merchants at the end."""
    categories = _data(place.language)["categories"]
    deal = [category for category, below in categories.items() for _ in range(below["share"])]
    for start in range(0, each, len(deal)):
        draws = Draws(seed, "deal", number, start)
        dealt = draws.sample(deal, len(deal))
        pair = [at for at, category in enumerate(dealt) if category == deal[0]][:2] if draws.chance(_TWINS) else []
        first: JsonObject = {}
        for at, category in enumerate(dealt[: each - start]):
            own = Draws(seed, "merchant", number, start + at)
            twin = pair[1:] == [at]
            row = _twin(first, place, own) if twin else _merchant(seed, place, category, own)
            poi_id = f"p{Draws(seed, 'id', number, start + at).below(1 << 52):013x}"
            row = {**row, "poi_id": poi_id, "email": f"hello@{poi_id}.example"}
            first = row if pair[:1] == [at] else first
            yield row


def _merchant(seed: int, place: Town, category: str, draws: Draws) -> JsonObject:
    """Return a merchant without its id and email, with its fields in the order of the paper."""
    data = _data(place.language)
    kind, name = _firm(seed, place.language, category, draws)
    district = draws.choice(place.districts)
    area = draws.choice(district.areas)
    latitude, longitude = area.point(draws)
    tags = draws.sample(kind.words["tags"], draws.between(5, 6))
    products = _products(data, kind, draws)
    prices = [product["price"] for product in products]
    delivers = kind.delivers and draws.chance(60)
    words = {"subcategory": kind.subcategory, "product": products[0]["name"], "tag": tags[0]}
    row = {
        "poi_id": "",
        "name": name,
        "category": category,
        "subcategory": kind.subcategory,
        "description": draws.choice(data["describe"]).format(**words),
        "address": place.address(area, draws),
        "city": place.name,
        "district": district.name,
        "business_area": area.name,
        "landmark": draws.choice(area.landmarks),
        "business_hours": _hours(data, kind, draws),
        "price_range": data["currency"].format(low=min(prices), high=max(prices)),
        "avg_price": sum(prices) // len(prices),
        "rating": _rating(draws),
        "review_count": draws.between(1, 100) * draws.between(1, 100),
        "tags": tags,
        "facilities": draws.sample(data["facilities"], draws.between(5, 10)),
        "phone": f"0{draws.below(10**7):07}",  # neither begins like a number that somebody could have
        "mobile": f"100{draws.below(10**8):08}",
        "email": "",
        "latitude": latitude,
        "longitude": longitude,
        "delivery_available": delivers,
        "delivery_range": draws.between(10, 250) / 10 if delivers else None,
        "delivery_fee": draws.between(0, 12) if delivers else None,
        "min_order_amount": draws.between(2, 60) if delivers else None,
        "promotions": draws.sample(data["promotions"], draws.between(0, 3)),
        "products": products,
        "group_deals": _deals(data, products, draws),
    }
    promises = [data["promise"][name] for name in _untrue(row)] if draws.chance(_PROMISING) else []
    if promises:
        space = " " if place.language == "en" else ""
        row["description"] = f"{row['description']}{space}{draws.choice(promises)}"
    return row


def _firm(seed: int, language: str, category: str, draws: Draws) -> tuple[MerchantSort, str]:
    """Return a merchant's kind and name: usually its own, sometimes those of a chain with one name in several towns."""
    if draws.chance(_OF_CHAIN):
        draws = Draws(seed, "chain", language, category, draws.below(_CHAINS))
    kind = draws.choice([kind for kind in kinds(language) if kind.category == category])
    space = " " if language == "en" else ""
    return kind, f"{coined_name(language, draws)}{space}{draws.choice(kind.words['trade'])}"


def _products(data: Any, kind: MerchantSort, draws: Draws) -> list[JsonObject]:
    """Return three to five products of a merchant, with prices around the merchant's usual level."""
    low, high = kind.words["price"]
    usual = draws.between(low, high)
    first, last = max(low, usual * 3 // 5), min(high, usual * 7 // 5)
    names = draws.sample(kind.words["products"], draws.between(3, 5))
    texts = {name: data["product"].format(product=name) for name in names}
    return [{"name": name, "price": draws.between(first, last), "description": texts[name]} for name in names]


def _deals(data: Any, products: Sequence[JsonObject], draws: Draws) -> list[JsonObject]:
    """Return up to two deals on products; each discount is the deal's price as a share of the product's price."""
    deals = []
    for product in draws.sample(products, draws.between(0, 2)):
        price = product["price"] * draws.between(60, 90) // 100
        words = {key: form.format(product=product["name"]) for key, form in data["deals"].items()}
        deals.append({**words, "price": price, "discount": round(price / product["price"], 2)})
    return deals


def _rating(draws: Draws) -> float:
    """Return a rating from 3.0 to 5.0 in steps of 0.1, most often about 4.3."""
    return (30 + draws.below(11) + draws.below(11)) / 10 if draws.chance(90) else draws.between(45, 50) / 10


def _hours(data: Any, kind: MerchantSort, draws: Draws) -> str:
    """Return opening hours as text: around the clock, the same every day, or other hours at weekends."""
    ranges = package_data(__package__, "words.yaml")["hours"][kind.words["hours"]]
    opens, closes = (draws.between(*ends) for ends in ranges)
    if kind.words["hours"] == "always":
        return f"{data['days']['all']}0:00-24:00"
    half = 30 * draws.below(2)
    week = _span(opens * 60 + half, closes * 60)
    if not draws.chance(_SPLIT):
        return f"{data['days']['all']}{week}"
    form: str = data["days"]["split"]
    return form.format(week=week, weekend=_span(opens * 60 + 60, closes * 60 + 60))


def _span(opens: int, closes: int) -> str:
    """Return opening hours as ``HH:MM-HH:MM``, from minutes after midnight; closing may be past midnight."""
    closes = closes if closes <= 24 * 60 else closes - 24 * 60
    return f"{opens // 60:02}:{opens % 60:02}-{closes // 60:02}:{closes % 60:02}"


def _untrue(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the promises that a merchant's fields contradict."""
    denied = {
        "hours": not row["business_hours"].endswith("0:00-24:00"),
        "price": min(product["price"] for product in row["products"]) > 10,  # noqa: PLR2004  as the promise says
        "rating": row["rating"] < 5,  # noqa: PLR2004  likewise
        "delivery": not row["delivery_available"],
    }
    return (name for name, untrue in denied.items() if untrue)


def _twin(row: JsonObject, place: Town, draws: Draws) -> JsonObject:
    """Return a copy of a merchant that differs in one searchable field."""
    column = draws.choice(("rating", "avg_price", "business_hours", "landmark"))
    if column == "rating":
        other: Any = row["rating"] - 0.5 if row["rating"] > 4 else row["rating"] + 0.5  # noqa: PLR2004  the middle
        other = round(other, 1)
    elif column == "avg_price":
        other = row["avg_price"] + draws.between(5, 40)
    elif column == "business_hours":
        data = _data(place.language)
        other = f"{data['days']['all']}{_span(draws.between(9, 11) * 60, draws.between(15, 16) * 60)}"
    else:
        areas = [area for district in place.districts for area in district.areas]
        landmarks = next(area.landmarks for area in areas if area.name == row["business_area"])
        other = next(name for name in landmarks if name != row["landmark"])
    return {**row, column: other}
