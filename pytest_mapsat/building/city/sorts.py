"""The sorts of places of a made-up city and the traits that a need can ask of them; what they are called and hold is data in ``sorts.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from math import isqrt
from typing import Any

from pydantic import TypeAdapter

from pytest_mapsat.building.towns import Draws, Town, coined_name, package_data
from pytest_mapsat.model import Json, JsonObject, Match, canonical_json, fits_row

#: How late in the evening a place that is open late closes, and one that is not, in half hours after midnight; the same of opening in the morning.
_CLOSES = {True: (45, 48), False: (36, 41)}
_OPENS = {True: (12, 14), False: (18, 21)}
_NOON = "12:00"


@dataclass(frozen=True)
class Trait:
    """Something that a need can ask of a place of one sort, in one language.

    Attributes:
        name: its key in ``sorts.yaml``, such as ``step_free``.
        column: the column of ``places`` that shows it, which ``place_details`` gives.
        label: what it is called in the language, such as ``step-free entrance``.
        where: the match that holds of places that have it, as checks write it: ``{"step_free": true}``.
        values: what the column of a place is or holds, or from where to where its figure lies: with the trait, and without.
        tenths: whether the figures are tenths.
    """

    name: str
    column: str
    label: str
    where: Mapping[str, Json]
    values: tuple[Any, Any]
    tenths: bool = False

    def holds(self, row: Mapping[str, Json]) -> bool:
        """Return whether a place has the trait."""
        return meets(row, self.where)

    def lay(self, row: JsonObject, draws: Draws, *, has: bool) -> None:
        """Make a place have the trait, or lack it."""
        value = self.values[0 if has else 1]
        if self.column == "hours":
            hours = row["hours"]
            if self.where["hours"]["time"] > _NOON:  # as _traits makes it
                hours[1] = draws.between(*_CLOSES[has])
            else:
                hours[0] = draws.between(*_OPENS[has])
        elif isinstance(value, str):
            row.setdefault(self.column, []).extend([value] if has else [])
        elif isinstance(value, bool):
            row[self.column] = value
        else:
            figure = draws.between(*value)
            row[self.column] = figure / 10 if self.tenths else figure


@dataclass(frozen=True)
class Sort:
    """A sort of places, in one language.

    Attributes:
        name: its key in ``sorts.yaml``, such as ``cafe``.
        kind: the ``kind`` of its places: ``cafe``, 咖啡馆.
        dimension: what habits call it: ``cafes``, 咖啡馆.
        trades: the words that names of such places end in.
        sorts: further sorts that its places belong to.
        hours: when its places open and close, half hours after midnight, each from the first to the last; None: always open.
        price: the least, the most that counts as cheap, and the most, in yuan; None: its places have no price.
        indoor: whether its places lie indoors; None: some do.
        needs: the traits that one of its places can have; of those in one tuple each place in a centre is made for one.
    """

    name: str
    kind: str
    dimension: str
    trades: tuple[str, ...]
    sorts: tuple[str, ...]
    hours: tuple[int, ...] | None
    price: tuple[int, int, int] | None
    indoor: bool | None
    needs: tuple[tuple[Trait, ...], ...]

    @property
    def traits(self) -> dict[str, Trait]:
        """The traits by name."""
        return {trait.name: trait for either in self.needs for trait in either}

    def new_name(self, language: str, draws: Draws, taken: set[str]) -> str:
        """Return a name that no place has, and take it."""
        name = ""
        while not name or name in taken:
            name = joined(language, coined_name(language, draws), draws.choice(self.trades))
        taken.add(name)
        return name


def joined(language: str, stem: str, trade: str) -> str:
    """Return the name of a place, as the language joins it."""
    return f"{stem} {trade}" if language == "en" else f"{stem}{trade}"


def meets(row: Mapping[str, Json], where: Mapping[str, Json]) -> bool:
    """Return whether a row fits matches, written as in checks; no matches, any row does."""
    return not where or fits_row(_matches(canonical_json(dict(where))), row) is True


@cache
def _matches(where: str) -> Mapping[str, Match]:
    return TypeAdapter(dict[str, Match]).validate_json(where)


def document() -> Any:
    """Return what ``sorts.yaml`` says."""
    return package_data(__package__, "sorts.yaml")


@cache
def sorts(language: str) -> Mapping[str, Sort]:
    """Return the sorts of places of a language (``en``, ``zh``), by name."""
    return {name: _sort(name, told, language) for name, told in document()["sorts"].items()}


def _sort(name: str, told: Mapping[str, Any], language: str) -> Sort:
    kind, dimension, *trades = told[language]
    hours, price = told.get("hours"), told.get("price")
    needs = tuple(tuple(_traits(told, either.split("/"), language)) for either in told["traits"])
    return Sort(
        name,
        kind,
        dimension,
        tuple(trades),
        tuple(told.get("sorts", ())),
        tuple(2 * hour for hour in hours) if hours else None,
        tuple(price) if price else None,
        told.get("indoor"),
        needs,
    )


def _traits(sort: Mapping[str, Any], names: list[str], language: str) -> Iterator[Trait]:
    for name in names:
        told = document()["traits"][name]
        column, label = told["column"], told[language]
        if "open" in told:
            yield Trait(name, column, label, {column: {"op": "open_at", "time": told["open"]}}, (True, False))
        elif "list" in told:
            yield Trait(name, column, label, {column: {"op": "contains", "text": label}}, (label, label))
        elif column == "price_yuan":
            least, cheap, most = sort["price"]
            values = (least, cheap), (cheap + cheap // 4 + 1, most)
            yield Trait(name, column, label, {column: {"op": "between", "max": cheap}}, values)
        elif "good" in told:
            bound = {"max": told["most"]} if "most" in told else {"min": told["least"]}
            values = tuple(told["good"]), tuple(told["bad"])
            yield Trait(name, column, label, {column: {"op": "between", **bound}}, values, told.get("tenths", False))
        else:
            value = told.get("value", True)
            yield Trait(name, column, label, {column: value}, (value, not value))


# -- what lies between places ------------------------------------------------------------------------------------------

#: The year of the weather.
YEAR = 2026
#: Centimetres of 0.00001 degrees of longitude and of latitude, near 31 degrees north.
CM = (95, 111)
#: A way is so many tenths as long as the crow flies, so many minutes slower than the quickest, and so many metres a minute quick.
_DRIVES = {"toll": (13, 0), "main": (14, 4), "slow": (17, 9)}
_DRIVE_M, _DRIVE_PLUS = 650, 6
_WALKS = {"steps": 12, "level": 15, "long": 19}
_WALK_M = 75
#: The farthest walk that has ways of its own, and the nearest, in metres.
_WALKED = (250, 4000)
#: Of sorts whose places have ways of their own from their centre.
STEEP = ("viewpoint", "museum", "library", "clinic")


def metres_between(one: tuple[float, float], other: tuple[float, float]) -> int:
    """Return about how many metres lie between two points (longitude, latitude) of a city: a whole number, the same everywhere; right to one in a hundred."""
    across, along = (
        round((left - right) * 100_000) * centimetres for left, right, centimetres in zip(one, other, CM, strict=True)
    )
    return isqrt(across * across + along * along) // 100


class Surroundings:
    """Makes the tables of one town that tell how its places are reached.

    Args:
        key: the seed of the world, and which of its towns this is.
        town: the town.
        centres: the landmarks of its districts.
        landmarks: the places that stand once in the town, each with the number of its district.
        steep: places to which paths with steps lead, by the number of the district.
    """

    def __init__(
        self,
        key: tuple[int, int],
        town: Town,
        *,
        centres: Sequence[JsonObject],
        landmarks: Sequence[tuple[int, JsonObject]],
        steep: Mapping[int, Sequence[JsonObject]],
    ) -> None:
        self._key = key
        self._town, self._centres, self._landmarks, self._steep = town, centres, landmarks, steep
        self._data = package_data(__package__, "surroundings.yaml")
        self._words = self._data[town.language]
        self._streets = [street for district in town.districts for area in district.areas for street in area.streets]
        self._roads: dict[tuple[str, str], str] = {}

    def tables(self) -> dict[str, list[JsonObject]]:
        """Return the rows by table."""
        ways = list(self._ways())
        return {
            "ways": ways,
            "roads": list(self._states()),
            "stops": [
                {
                    "id": stop_of(place["id"]),
                    "name": place["name"],
                    "alias": [place["id"]],
                    "lon": place["lon"],
                    "lat": place["lat"],
                    "city": self._town.name,
                }
                for place in self._stopping()
            ],
            "lines": list(self._lines()),
            "fares": list(self._fares()),
            "weather": list(self._weather()),
        }

    def _road(self, sort: str, key: str) -> str:
        """Return the name of a road, the same for the same key."""
        if (sort, key) not in self._roads:
            draws = Draws(*self._key, "road", sort, key)
            taken = {*self._streets, *self._roads.values()}
            name = ""
            while not name or name in taken:
                name = f"{coined_name(self._town.language, draws)}{draws.choice(self._words['roads'][sort])}"
            self._roads[sort, key] = name
        return self._roads[sort, key]

    def _ways(self) -> Iterator[JsonObject]:
        for at, centre in enumerate(self._centres):
            for district, place in self._landmarks:
                draws = Draws(*self._key, "ways", at, place["id"])
                keys = {"toll": place["id"], "main": f"{at}", "slow": f"{district}"}
                yield from self._drives(centre, place, keys, draws)
                yield from self._walks(centre, place, at, draws)
            for place in self._steep[at]:
                yield from self._walks(centre, place, at, Draws(*self._key, "walks", place["id"]))

    def _drives(
        self, centre: JsonObject, place: JsonObject, keys: Mapping[str, str], draws: Draws
    ) -> Iterator[JsonObject]:
        """Yield the quick road, which costs a toll, the main road, which may be low, and the slow one, which is neither."""
        apart, ends = _apart(centre, place)
        minutes = _DRIVE_PLUS + apart * 13 // 10 // _DRIVE_M
        low = Draws(*self._key, "low", keys["main"]).chance(60)
        for sort, (tenths, slower) in _DRIVES.items():
            row = {**ends, "mode": "driving", "via": self._road(sort, keys[sort])}
            row |= {"distance_m": apart * tenths // 10 + 30, "duration_min": minutes + slower + draws.below(3)}
            row["toll_yuan"] = draws.between(6, 20) if sort == "toll" else 0
            if sort == "main":
                row["max_height_m"] = (22 if low else 42) / 10
            yield row

    def _walks(self, centre: JsonObject, place: JsonObject, at: int, draws: Draws) -> Iterator[JsonObject]:
        """Yield the short path, which has steps, one without, and one that is longer still."""
        apart, ends = _apart(centre, place)
        if not _WALKED[0] <= apart <= _WALKED[1]:
            return
        for sort, tenths in _WALKS.items():
            metres = apart * tenths // 10 + 20
            row = {**ends, "mode": "walking", "via": self._road(sort, f"{at}"), "distance_m": metres}
            steps = draws.between(40, 220) if sort == "steps" else 0
            yield row | {"duration_min": metres // _WALK_M + 1, "steps": steps}

    def _states(self) -> Iterator[JsonObject]:
        """Yield what happens on the roads: of those that ways lead over one in five is closed and one in seven slow; streets are clear."""
        words = self._words
        for road in (*self._roads.values(), *self._streets):
            draws = Draws(*self._key, "state", road)
            share = draws.below(100) if road not in self._streets else 100
            state = "closed" if share < 20 else "slow" if share < 34 else "clear"  # noqa: PLR2004  of a hundred
            event = "" if state == "clear" else draws.choice(words[state])
            until = "" if state == "clear" else f"{draws.between(19, 23)}:{draws.below(4) * 15:02}"
            yield {
                "city": self._town.name,
                "road": road,
                "status": words["status"][state],
                "event": event,
                "until": until,
            }

    def _stopping(self) -> list[JsonObject]:
        return [*self._centres, *(place for _, place in self._landmarks)]

    def _lines(self) -> Iterator[JsonObject]:
        """Yield three lines from every centre to every other stop, and back from the landmarks: a quick one, one that stops early, and one of the night."""
        stopping = self._stopping()
        metros = {place["id"]: at for at, place in enumerate(stopping, start=1)}
        pairs = [(centre, stop) for centre in self._centres for stop in stopping if centre is not stop]
        pairs += [(landmark, centre) for centre in self._centres for _, landmark in self._landmarks]
        for at, (start, end) in enumerate(pairs):
            draws = Draws(*self._key, "lines", start["id"], end["id"])
            lifted = draws.chance(50)
            for sort, told in self._data["lines"].items():
                number = metros[end["id"]] if sort == "metro" else 10 + at
                name = self._words["lines"][sort].format(number=number)
                free = {"metro": lifted, "bus": not lifted or draws.chance(30), "night": draws.chance(70)}[sort]
                row = {
                    "id": f"l{self._key[1]}-{sort}-{at}",
                    "city": self._town.name,
                    "from": [stop_of(start["id"])],
                    "to": [stop_of(end["id"])],
                    "line": name,
                    "kind": self._words["kinds"][sort],
                    "alight": end["name"],
                    **_timetable(told, draws),
                    "ride_min": told["plus"] + _apart(start, end)[0] // told["speed"],
                    "fare_yuan": draws.between(*told["fare"]),
                    "step_free": free,
                    "walk_to_stop_min": draws.between(1, 9),
                    "walk_m": draws.between(2, 18) * 10,
                }
                if sort == "metro" and not free:
                    row["notice"] = self._words["lift"].format(stop=end["name"])
                yield row

    def _fares(self) -> Iterator[JsonObject]:
        """Yield the rides of the town, which drive from everywhere in it; each town has waits and prices of its own."""
        middles = sorted((place["lon"], place["lat"]) for place in self._centres)
        lon, lat = (round(sum(part) / len(middles), 3) for part in zip(*middles, strict=True))
        for at, (name, told) in enumerate(self._data["rides"].items(), start=1):
            draws = Draws(*self._key, "ride", name)
            yield {
                "id": f"f{self._key[1]}-{at}",
                "lon": lon,
                "lat": lat,
                "kind": self._words["rides"][name],
                "seats": told["seats"],
                "bags": told["bags"],
                "wheelchair": told.get("wheelchair", False),
                "wait_min": draws.between(*told["wait"]),
                "child_seat": told.get("child_seat", False),
                "per_person": told.get("per_person", False),
                "start_yuan": told["start"] + draws.below(3),
                "yuan_per_km": (told["tenths"] + draws.below(5)) / 10,
                "longer_min": told.get("longer", 0),
            }

    def _weather(self) -> Iterator[JsonObject]:
        """Yield the weather of every day of the year, in three parts of the day."""
        words = self._words["weather"]
        day = date(YEAR, 1, 1)
        while day.year == YEAR:
            draws = Draws(*self._key, "weather", day.isoformat())
            high = 28 - abs(day.timetuple().tm_yday - 205) * 24 // 160 + draws.between(-3, 3)
            low = high - draws.between(5, 9)
            dry, wet = draws.choice(words["dry"]), draws.choice(words["snow" if high <= 2 else "wet"])  # noqa: PLR2004  degrees
            rain = [draws.chance(26) for _ in range(3)]
            spans = [(f"{6 * at:02}:00", f"{6 * at + 6:02}:00") for at in (1, 2, 3)]
            wet_spans = [span for span, falls in zip(spans, rain, strict=True) if falls]
            if len(wet_spans) in (0, 3) or rain == [True, False, True]:
                rain = [bool(wet_spans)] * 3
                summary = words["whole"].format(sky=wet if wet_spans else dry)
            else:
                summary = words["part"].format(dry=dry, wet=wet, start=wet_spans[0][0], end=wet_spans[-1][1])
            hours = [
                {"from": start, "to": end, "sky": wet if falls else dry, "rain": falls}
                for (start, end), falls in zip(spans, rain, strict=True)
            ]
            yield {
                "city": self._town.name,
                "date": day.isoformat(),
                "summary": summary,
                "high_c": high,
                "low_c": low,
                "hours": hours,
            }
            day += timedelta(days=1)


def stop_of(place: str) -> str:
    """Return the id of the stop at a centre or landmark, by the id of the place."""
    return f"s-{place}"


def _apart(one: JsonObject, other: JsonObject) -> tuple[int, JsonObject]:
    """Return how many metres lie between two places, and the ends of a way between them."""
    apart = metres_between((one["lon"], one["lat"]), (other["lon"], other["lat"]))
    return apart, {"from": f"{one['lon']},{one['lat']}", "to": f"{other['lon']},{other['lat']}"}


def _timetable(told: Mapping[str, Any], draws: Draws) -> JsonObject:
    """Return the time of the last departure of a line and its times by hour."""
    last, every, first = (draws.between(*told[key]) for key in ("last", "every", "first"))
    return timetable(range(last, first, -every))


def timetable(minutes: Sequence[int]) -> JsonObject:
    """Return the time of the last departure of a line and its times by hour; ``minutes``: all departures as minutes after midnight, the last one first."""
    times: dict[str, list[str]] = {}
    for time in map(clock, sorted(minutes)):
        times.setdefault(time[:2], []).append(time[3:])
    return {"last": clock(minutes[0]), "times": times}


def clock(minutes: int) -> str:
    """Return a minute of the day as a time."""
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"
