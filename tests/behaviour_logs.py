"""Made-up logs of behaviour with habits that are known: users, places, and a share of choices by chance."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

FLAGS = {
    "en": ("quiet", "wifi", "step_free", "dogs", "terrace", "parking", "late_kitchen", "card"),
    "zh": ("安静", "无线网", "无障碍", "可带狗", "露台", "停车", "夜宵", "刷卡"),
}
KINDS = {"en": ("cafe", "restaurant", "bookshop"), "zh": ("咖啡馆", "餐厅", "书店")}
TOWNS = {"en": "Lindenau", "zh": "青砚市"}
STYLES = ("plain", "old", "modern", "garden")
_ZONE = timezone(timedelta(hours=8))


@dataclass(frozen=True)
class Habit:
    """What a user looks for: ``kind`` empty for all kinds of places; from the choice ``first`` to the choice ``last``, as shares of all."""

    field: str
    value: object
    kind: str = ""
    first: float = 0.0
    last: float = 1.0

    def fits(self, place: Mapping[str, object]) -> bool:
        """Return whether a place is as the user likes it."""
        if self.field == "price":
            return place["price"] <= self.value
        return place[self.field] == self.value


@dataclass
class Made:
    """A folder of logs, and what its users look for."""

    folder: Path
    habits: dict[str, list[Habit]] = field(default_factory=dict)
    places: dict[str, dict] = field(default_factory=dict)
    events: list[dict] = field(default_factory=list)


def catalogue(rng: random.Random, language: str, *, related: bool, each: int = 40) -> list[dict]:
    """Return places; with ``related`` attributes most come in pairs: where the first is there, so is the second, mostly."""
    flags = FLAGS[language]
    places = []
    for kind in KINDS[language]:
        for number in range(each):
            row = {
                "id": f"{language}-{kind}-{number}",
                "name": f"{kind.title()} {_name(rng)} {number}",
                "kind": kind,
                "city": TOWNS[language],
                "lon": round(10 + rng.uniform(-0.03, 0.03), 5),
                "lat": round(50 + rng.uniform(-0.02, 0.02), 5),
                "price": rng.randrange(10, 100),
                "rating": round(rng.uniform(3, 5), 1),
                "style": rng.choice(STYLES),
                "tags": rng.sample(["view", "music", "books", "plants", "games"], 2),
                "hours": rng.choice(["08:00-18:00", "10:00-22:00", "12:00-24:00", "24h"]),
            }
            for first, second in zip(flags[::2], flags[1::2], strict=True):
                row[first] = rng.random() < 0.4
                row[second] = rng.random() < ((0.85 if row[first] else 0.15) if related else 0.4)
            places.append(row)
    return places


def _name(rng: random.Random) -> str:
    return "".join(rng.choice("bdfglmnprst") + rng.choice("aeiou") for _ in range(3)).title()


def made_logs(
    folder: Path,
    seed: int,
    *,
    users: int = 10,
    choices: int = 30,
    related: bool = False,
    shown: bool = True,
    languages: Sequence[str] = ("en", "zh"),
    habits_each: int = 1,
) -> Made:
    """Write logs of users with habits of their own; a tenth of their choices is made by chance.

    Of five users the first four have habits of one kind (the fourth has one that ended), the fifth one of all kinds.
    """
    rng = random.Random(seed)
    made = Made(folder)
    rows = {language: catalogue(rng, language, related=related) for language in languages}
    made.places = {row["id"]: row for language in languages for row in rows[language]}
    for number in range(users):
        language = languages[number % len(languages)]
        uid = f"u-{number}"
        made.habits[uid] = habits = list(_habits(rng, number, language, habits_each))
        made.events += _chain(rng, uid, habits, rows[language], language, choices=choices, shown=shown)
    _write(folder / "places.jsonl", made.places.values())
    _write(folder / "users.jsonl", ({"uid": uid, "home": "somewhere"} for uid in made.habits))
    write_events(folder, made.events)
    return made


def write_events(folder: Path, events: Sequence[Mapping], name: str = "events.jsonl") -> None:
    """Write events as they stand."""
    _write(folder / name, events)


def _write(path: Path, rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _habits(rng: random.Random, number: int, language: str, each: int) -> Iterator[Habit]:
    kinds, flags = KINDS[language], FLAGS[language]
    if number % 5 == 4:
        yield Habit(rng.choice(flags), True)
        return
    fields = rng.sample([*flags, "price", "style"], each)
    for kind in kinds[:1] if number % 5 == 3 else kinds[:2]:
        for name in fields if kind == kinds[0] else rng.sample([*flags, "price", "style"], each):
            value = {"price": rng.randrange(30, 60), "style": rng.choice(STYLES)}.get(name, True)
            yield Habit(name, value, kind, last=0.5 if number % 5 == 3 else 1.0)


def _chain(
    rng: random.Random,
    uid: str,
    habits: Sequence[Habit],
    places: Sequence[dict],
    language: str,
    *,
    choices: int,
    shown: bool,
) -> Iterator[dict]:
    """Give the events of one user: a search, some views, and what is taken, ``choices`` times for each kind that has habits of its own."""
    kinds = list(dict.fromkeys(habit.kind for habit in habits if habit.kind))
    across = not kinds
    visits = [(kind, turn / choices) for turn in range(choices) for kind in kinds]
    if across:
        visits = [(KINDS[language][turn % len(KINDS[language])], turn / choices) for turn in range(choices)]
    now = datetime(2026, 1, 3, 9, tzinfo=_ZONE)
    for kind, when in visits:
        now += timedelta(minutes=rng.randrange(300, 2400))
        active = [habit for habit in habits if habit.kind in ("", kind) and habit.first <= when < habit.last]
        of_kind = [place for place in places if place["kind"] == kind]
        offer = rng.sample(of_kind, 12) if shown else of_kind
        fitting = [place for place in offer if all(habit.fits(place) for habit in active)]
        if shown and not fitting:
            fitting = [place for place in of_kind if all(habit.fits(place) for habit in active)] or offer
            offer = [*offer, rng.choice(fitting)]
            fitting = [place for place in offer if all(habit.fits(place) for habit in active)] or offer
        taken = rng.choice(offer if rng.random() < 0.1 else fitting or offer)
        where = {"lon": 10.0, "lat": 50.0, "city": TOWNS[language]}
        search = {"type": "search", "query": _query(rng, kind, language)}
        if shown:
            search["shown"] = [place["id"] for place in offer]
        looked = rng.sample(offer, 2)
        for minutes, event in enumerate([search, *({"type": "view", "place": place["id"]} for place in looked)]):
            yield {"at": (now + timedelta(minutes=minutes)).isoformat(), "user": uid, **event, **where}
        last = (
            {"type": "order", "place": taken["id"]}
            if rng.random() < 0.5
            else {"type": "navigate", "place": taken["id"]}
        )
        yield {"at": (now + timedelta(minutes=9)).isoformat(), "user": uid, **last, **where}


def _query(rng: random.Random, kind: str, language: str) -> str:
    if language == "zh":
        return rng.choice(["附近的{}", "找个{}", "有没有{}"]).format(kind)
    return rng.choice(["a {} near me", "find a {}", "{}s around here"]).format(kind)


def found_and_wanted(made: Made, cases: Sequence[Mapping]) -> tuple[int, int, int]:
    """Return how many hidden requirements of some cases are habits of their users, how many there are, and how many habits there should be.

    Every user has a case for each kind of place that they have a habit of, if it is found; a habit that ended is none.
    """
    right = found = wanted = 0
    hidden = {}
    for case in cases:
        parts = [part for part in case["truth"]["requirements"] if part["kind"] != "asked" and not part.get("draft")]
        key = case["visible"]["context"]["uid"], case["attributes"]["kind"]
        hidden[key] = {(name, json.dumps(match)) for part in parts for name, match in part["check"]["where"].items()}
    for uid, habits in made.habits.items():
        kinds = {event["kind"] for event in _taken(made, uid)}
        for kind in kinds:
            lasting = [habit for habit in habits if habit.kind in ("", kind) and habit.last == 1]
            told = hidden.get((uid, kind), set())
            hits = [habit for habit in lasting if any(_tells(match, name, habit) for name, match in told)]
            right, found, wanted = right + len(hits), found + len(told), wanted + len(lasting)
    return right, found, wanted


def _taken(made: Made, uid: str) -> Iterator[dict]:
    for event in made.events:
        if event["user"] == uid and event["type"] in ("order", "navigate"):
            yield made.places[event["place"]]


def _tells(match: str, name: str, habit: Habit) -> bool:
    wanted = '"max"' if habit.field == "price" else json.dumps(habit.value)
    return name == habit.field and wanted in match
