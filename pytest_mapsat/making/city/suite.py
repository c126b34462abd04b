"""The suite of a made-up city: its cases, whose truth follows from the tables as the tools read them, with their queries, and briefs by which other people write queries."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints

from pytest_mapsat.formats import PlacedNoun, add_files, package_data, parse_yaml, read_nouns
from pytest_mapsat.making.worlds import BuildRequest, Draws
from pytest_mapsat.model import (
    SUITE_SCHEMA,
    Case,
    Json,
    JsonObject,
    Noun,
    SuiteManifest,
    Tool,
    UsageError,
    hint_at,
    shown,
)
from pytest_mapsat.sandbox import RecordedSandbox, Table
from pytest_mapsat.sandbox.routes import Computed
from pytest_mapsat.suite import asking, to_yaml

from .places import DAYS, MadeUpWorld, tool_files, world_of
from .plans import PlanKind, PlannedNeed, Scene, Scenes, filled, kinds, names_one, plan_data, schedule

#: A search goes so far, in metres.
_RADIUS = 2000
#: How the fare of the right ride and the user's own figure lie apart, in yuan.
_SPARE = (2, 6)
#: What the queries of a family ask for, where it is not called as the family is.
_ASKED = {"outing": ("first", "second")}
#: Every so many cases a question is worth while.
_ASKS = 3


class Writer:
    """Turns scenes into cases as JSON data, and adds their users to the tables.

    Args:
        tables: the tables of the world with all options of all scenes.
        manifest: that of the suite.
    """

    def __init__(self, tables: Mapping[str, list[JsonObject]], manifest: SuiteManifest) -> None:
        documents = (document.data for name, data in tool_files() for document in parse_yaml(data, name))
        self._tools = {tool.name: tool for tool in map(Tool.model_validate, documents)}
        own = ("users", "activities")
        self._tables = {name: Table(name, tuple(rows)) for name, rows in tables.items() if name not in own}
        self._manifest = manifest
        self._users, self._activities = tables["users"], tables["activities"]

    def case(self, scene: Scene, number: int, query: str, *, written: bool) -> JsonObject:
        """Return the case of a scene as JSON data, and add its user to the tables.

        Args:
            scene: its scene.
            number: its number in the suite.
            query: the user's first message.
            written: whether a person wrote the query for this case.
        """
        visible = self._visible(scene, query)
        case: JsonObject = {
            "id": scene.id,
            "domains": list(scene.kind.domains),
            "difficulty": f"L{len({need.source for need in scene.needs}) + 1}",
            "language": scene.language,
            "attributes": {
                "kind": scene.kind.name,
                "query": "written" if written else "worded",
                "slot": _slot(scene.minute),
                "day": "weekend" if scene.day.weekday() > 4 else "weekday",  # noqa: PLR2004  Saturday and Sunday
            },
            "visible": visible,
        }
        truth = _Truth(scene, self._sandbox(scene, visible), visible)
        case["truth"] = truth.data(asks=number % _ASKS == 0)
        if scene.patches:
            case["world"] = {"rows": scene.patches}
        self._add_user(scene, visible["context"]["uid"], truth)
        return case

    def _visible(self, scene: Scene, query: str) -> JsonObject:
        """Return the visible part of a case: the query and the context, with the user's earlier remarks."""
        remarks = [remark for need in scene.needs if (remark := need.remark(scene.draws))]
        context: JsonObject = {
            "now": scene.now,
            "location": {"lon": scene.here[0], "lat": scene.here[1], "name": scene.spot},
            "city": scene.town.name,
            **({"history": remarks} if remarks else {}),
            "uid": f"user-{Draws(scene.world.seed, 'user', scene.id).below(1 << 32):08x}",
            "locale": "zh-CN" if scene.language == "zh" else "en",
        }
        return {"query": query, "context": context}

    def _sandbox(self, scene: Scene, visible: JsonObject) -> RecordedSandbox:
        """Return a sandbox that answers tool calls from the tables with the scene's patches."""
        data = {"id": scene.id, "visible": visible, "truth": {"requirements": []}, "world": {"rows": scene.patches}}
        case = Case.model_validate(data)
        computed = Computed(self._tools, self._tables, case.world.rows, case.visible.context, self._manifest)
        sandbox = RecordedSandbox(self._tools, (), computed)
        sandbox.begin(case)
        return sandbox

    def _add_user(self, scene: Scene, uid: str, truth: _Truth) -> None:
        """Add the user of a scene to ``users`` and ``activities``."""
        user: JsonObject = {"uid": uid, "home": {"name": scene.draws.choice(scene.town.streets)}}
        parks = any(need.column == "parking" for need in scene.needs)
        user["travel"] = {"usual_mode": scene.kind.mode or ("driving" if parks else "walking")}
        for need in scene.needs:
            for key, value in need.of_user().items():
                user[key] = [*user.get(key, []), *value] if isinstance(value, list) else user.get(key, {}) | value
        self._users.append(user)
        self._activities.append({"uid": uid, "days": DAYS, "visits": [], "habits": truth.habits})


class _Truth:
    """Builds the truth of one case: requirements with evidence, tools, the user's answers and the oracle dialogue."""

    def __init__(self, scene: Scene, sandbox: RecordedSandbox, visible: JsonObject) -> None:
        self._scene, self._sandbox, self._uid = scene, sandbox, visible["context"]["uid"]
        self._asking = asking(visible["query"], scene.language)
        measures = plan_data()["measures"].items()
        self._measures = [
            name for name, words in measures if re.search(words[scene.language], visible["query"].lower())
        ]
        self._zh = scene.language == "zh"
        self.calls: list[JsonObject] = []
        self.habits: list[JsonObject] = []
        self._figures: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}

    def data(self, *, asks: bool) -> JsonObject:
        """Return the truth as JSON data; ``asks``: whether the case rewards a clarifying question."""
        scene = self._scene
        self._look_up()
        hidden = [self._hidden(need) for need in scene.needs]
        hidden += [self._figure_requirement()] if scene.tell else []
        idle = scene.draws.choice(plan_data()["idle"][scene.language])
        self._habit((idle[0], idle[1]), 4, 9)
        truth: JsonObject = {
            "intent": self._intent(),
            "persona": scene.draws.choice(plan_data()["moods"][scene.language]),
            "use": self._facts(),
            "requirements": [*self._asked(), *hidden],
            "tools": list(self._tools()),
            "user": self._answers(),
            "oracle": [{"calls": self.calls, "say": self._say()}],
        }
        if asks:
            truth["clarification"] = {"max_turns": 1, "reference_turns": 2}
        return truth

    def _intent(self) -> str:
        """Return all needs of the scene in one sentence."""
        holds = ("，" if self._zh else ", and it ").join(need.holds for need in self._scene.needs)
        return f"要的是：{holds}。" if self._zh else f"What is needed: it {holds}."

    # What the oracle looks up

    def _call(self, tool: str, **arguments: Json) -> Any:
        """Call a tool, record the call for the oracle and return the result. Raises ValueError if the call is not answered."""
        answer = self._sandbox.call(tool, arguments)
        if answer.status != "ok":
            what = f"{tool}({arguments}) is answered with {answer.status}: {answer.result}"
            raise ValueError(f"case {self._scene.id}: {what}")
        self.calls.append({"tool": tool, "arguments": arguments})
        return answer.result

    def _look_up(self) -> None:
        """Record all calls of the oracle: profile, activity, weather if rain matters, then the calls of the plan's family."""
        scene = self._scene
        self.calls.append({"tool": "get_user_profile", "arguments": {"uid": self._uid}})
        self.calls.append({"tool": "get_recent_activity", "arguments": {"uid": self._uid}})
        if any("day" in need.reason for need in scene.needs):
            self._call("get_weather", city=scene.town.name, date=scene.day.isoformat())
        getattr(self, f"_look_up_{scene.kind.family}")()

    @property
    def _here(self) -> str:
        """The user's position as an argument of tools: ``longitude,latitude``."""
        return f"{self._scene.here[0]},{self._scene.here[1]}"

    def _search(self, what: str) -> None:
        """Record the oracle's search for places of the plan's first or second sort near the user, and keep their names."""
        lon, lat = self._scene.here
        kind = self._scene.town.sorts[getattr(self._scene.kind, what)].kind
        places = self._call("search_nearby", query=kind, lon=lon, lat=lat, radius_m=_RADIUS)["places"]
        self._names[what] = [place["name"] for place in places if place["kind"] == kind]

    def _look_up_place(self) -> None:
        """Search for the place, inspect every option, and keep the figures of the right option for the oracle's reply."""
        scene = self._scene
        self._search("sort")
        for row, _ in scene.options:
            place = self._call("place_details", place_id=row["id"])
            if row is scene.right:
                self._figures |= {name: place[name] for name in ("phone", "name", "address")}
                self._figures |= {"closing": place["hours"][-5:], "price": f"{place.get('price_yuan')}"}
        if scene.kind.mode and scene.kind.family == "place":
            end, mode = _point(scene.right), scene.kind.mode
            (route, *_) = self._call("get_route", origin=self._here, destination=end, mode=mode)["routes"]
            self._figures |= {"minutes": f"{route['duration_min']}", "metres": f"{route['distance_m']}"}

    def _look_up_outing(self) -> None:
        """Look up both places and the walk between them, and keep the figures for the oracle's reply."""
        scene = self._scene
        self._look_up_place()
        self._search("second")
        for row in scene.second:
            self._call("place_details", place_id=row["id"])
        first, second, self._figures["other"] = scene.right, scene.second[0], scene.second[0]["name"]
        if "order" in scene.asks:
            for start, end, name in ((self._here, first, "minutes"), (_point(first), second, "later")):
                found = self._call("get_route", origin=start, destination=_point(end), mode=scene.kind.mode)
                self._figures[name] = f"{found['routes'][0]['duration_min']}"
            return
        walks = self._call("plan_visit_order", start=self._here, place_ids=[first["id"], second["id"]])["walks"]
        self._figures |= {"minutes": f"{walks[0]['min']}", "stop": walks[0]["to"]}
        self._figures |= {"later": f"{walks[1]['min']}", "last": walks[1]["to"]}

    def _look_up_way(self) -> None:
        """Look up the routes and their traffic, and keep the figures of the right route for the oracle's reply."""
        scene, goal = self._scene, self._scene.goal
        routes = self._call("get_route", origin=self._here, destination=_point(goal), mode=scene.kind.mode)["routes"]
        for route in routes:
            self._call("get_traffic", road=route["via"], city=scene.town.name)
        right = next(route for route in routes if route["via"] == scene.right["via"])
        self._figures |= {"name": right["via"], "goal": goal["name"]}
        self._figures |= {"minutes": f"{right['duration_min']}", "metres": f"{right['distance_m']}"}

    def _look_up_line(self) -> None:
        """Look up the transit lines, and keep the figures of the right line for the oracle's reply."""
        scene, goal = self._scene, self._scene.goal
        city, end = scene.town.name, goal["name"]
        answer = self._call("get_transit_lines", city=city, origin=scene.spot, destination=end)
        right = next(line for line in answer["lines"] if line["line"] == scene.right["line"])
        self._figures |= {"name": right["line"], "spot": scene.spot, "goal": goal["name"], "next": right["next"][0]}
        self._figures |= {"minutes": f"{right['ride_min']}", "fare": f"{right['fare_yuan']}"}

    def _look_up_ride(self) -> None:
        """Look up the rides, add the need for a fare slightly above the right ride's, and keep its figures for the reply."""
        scene, goal = self._scene, self._scene.goal
        options = self._call("get_ride_estimate", origin=self._here, destination=_point(goal))["options"]
        right = next(option for option in options if option["kind"] == scene.right["kind"])
        fails = {row["kind"]: failed for row, failed in scene.options}
        most = max(option["price_yuan"] for option in options if "fare" not in fails[option["kind"]])
        limit = int(most) + scene.draws.between(*_SPARE)
        where: JsonObject = {"price_yuan": {"op": "between", "max": limit}}
        scene.needs = [replace(need, limit=limit, where=where) if need.name == "fare" else need for need in scene.needs]
        self._figures |= {"name": right["kind"], "fare": f"{right['price_yuan']}", "wait": f"{right['wait_min']}"}

    # What is required

    def _asked(self) -> Iterator[JsonObject]:
        """Yield the requirements that the query itself states, from the templates of the plan's family."""
        scene, tells = self._scene, plan_data()["tells"]
        figures: dict[str, Any] = {f"{what}s": "|".join(names) for what, names in self._names.items()}
        figures |= {what: scene.town.sorts[getattr(scene.kind, what)].kind for what in self._names}
        for name in (*_ASKED.get(scene.kind.family, (scene.kind.family,)), *scene.asks):
            entry = (plan_data()["asked"] | tells)[name]
            if entry.get("asking") in (None, *self._asking):
                if name == "to" and len(self._measures) == 1:
                    entry = plan_data()["asked"][f"to_{self._measures[0]}"]
                text, check = filled(entry[scene.language], figures), filled(entry["check"], figures)
                own = f"asks-{name}".replace("_", "-") if name in tells else name
                yield {"id": own, "kind": "asked", "text": text, "check": check}

    def _hidden(self, need: PlannedNeed) -> JsonObject:
        """Return a need as a hidden requirement with evidence and check."""
        family = self._scene.kind.family
        noun = plan_data()["nouns"][family][self._scene.language]
        check: Any = {"kind": "recommends", "only": True, "where": need.where}
        tools = {"line": "get_transit_lines", "ride": "get_ride_estimate", "way": "get_route"}
        if family in tools:
            check["tool"] = "get_traffic" if need.name == "clear" else tools[family]
        if need.name == "clear":
            check = [{"kind": "calls", "tool": "get_traffic", "answered": True}, check]
        return {
            "id": need.name.replace("_", "-"),
            "kind": "hard" if need.hard else "soft",
            "text": f"{noun}：{need.holds}" if self._zh else f"{noun} {need.holds}",
            "source": need.source,
            "evidence": list(self._evidence(need, soft=not need.hard)),
            "check": check,
        }

    def _evidence(self, need: PlannedNeed, *, soft: bool) -> Iterator[JsonObject]:
        """Yield the evidence for a need: its reason, the profile's statements, and counts of the habit that shows the need."""
        draws, because = self._scene.draws, need.filled(need.reason["because"][self._scene.language])
        if need.source != "profile":
            weak = {"relevance": "weak", "recency": "recent", "need": "related"}
            yield {"text": because, **(weak if soft else weak | {"relevance": "strong"})}
            return
        if "user" in need.reason and not soft:
            yield {"text": because, "relevance": "strong", "need": "direct"}
        habit = need.habit()
        if habit is None:
            return
        total = draws.between(10, 16)
        counted = self._habit(
            habit, -(-total * draws.between(62, 85) // 100) if soft else total - draws.below(2), total
        )
        times = f"{total}次里{counted['count']}次" if self._zh else f"{counted['count']} times of {total}"
        grade = {"recency": "habit", "need": "related"} if soft else {"recency": "recent", "need": "direct"}
        yield {"text": f"{because}，{times}" if self._zh else f"{because}, {times}", **counted, **grade}

    def _habit(self, habit: tuple[str, str], count: int, total: int) -> JsonObject:
        """Add a habit to the user's activity, and return its counts in the form of evidence."""
        early = count // 2 - self._scene.draws.below(2)
        split = {"early": early, "late": count - early}
        dimension, choice = habit
        self.habits.append({"dimension": dimension, "choice": choice, "times": count, "of": total, **split})
        return {"count": count, "total": total, **split}

    def _figure_requirement(self) -> JsonObject:
        """Return the soft requirement that the reply states the figure that this kind of user wants to hear."""
        scene = self._scene
        tell, total = plan_data()["tells"][scene.tell], scene.draws.between(10, 16)
        dimension, choice = tell["habit"][scene.language]
        counted = self._habit((dimension, choice), -(-total * scene.draws.between(62, 85) // 100), total)
        count = counted["count"]
        times = f"{total}次里{count}次：{choice}" if self._zh else f"{choice}: {count} times of {total}"
        evidence = {"text": times, **counted, "recency": "habit", "need": "related"}
        return {
            "id": f"tells-{scene.tell}",
            "kind": "soft",
            "text": tell[scene.language],
            "source": "profile",
            "evidence": [evidence],
            "check": tell["check"],
        }

    def _facts(self) -> list[str]:
        """Return the names of the common requirements on facts that the case uses."""
        kind = self._scene.kind
        facts = ["of-places" if kind.family == "outing" else f"of-{kind.family}s"]
        return [*facts, "of-ways"] if kind.family == "outing" or (kind.family == "place" and kind.mode) else facts

    def _tools(self) -> Iterator[JsonObject]:
        """Yield the tools that the oracle called, each with its required parameters."""
        for tool in dict.fromkeys(call["tool"] for call in self.calls):
            match = {"mode": self._scene.kind.mode} if tool == "get_route" else {}
            required = list(self._sandbox.tools[tool].parameters.get("required", ()))
            yield {"name": tool, "required": required, **({"match": match} if match else {})}

    def _answers(self) -> list[JsonObject]:
        """Return the user's answers to questions about each need."""
        return [
            {"asked": need.told["asked"][need.language], "say": need.filled(need.reason["say"][need.language])}
            for need in self._scene.needs
        ]

    # What the oracle says

    def _say(self) -> str:
        """Return the oracle's reply: the right option, the needs it meets and the figure that the user wants to hear."""
        scene, says, tells = self._scene, plan_data()["says"], plan_data()["tells"]
        plain = [need.holds for need in scene.needs if not ("at_most" in need.told or "yuan" in need.column)]
        joined = "，".join(plain) if self._zh else " and ".join(filter(None, (", ".join(plain[:-1]), *plain[-1:])))
        figures = {**self._figures, "holds": joined}
        figures["also"] = filled(says["also"][scene.language], figures) if plain else ""
        figures["costs"] = plan_data()["costs"].get(scene.kind.sort, "人均")
        told = [tells[name]["say"][scene.language] for name in (*scene.asks, scene.tell) if name in tells]
        figures["tell"] = filled(("" if self._zh else " ").join(told), figures)
        text: str = filled(says["ordered" if "order" in scene.asks else scene.kind.family][scene.language], figures)
        if scene.kind.family == "place" and scene.kind.mode:
            text += filled(says["to"][scene.language][scene.kind.mode], figures)
        return " ".join(text.split())


def _point(row: JsonObject) -> str:
    """Return the coordinates of a row as an argument of tools: ``longitude,latitude``."""
    return f"{row['lon']},{row['lat']}"


def _slot(minute: int) -> str:
    """Return the part of the day (``morning`` to ``night``) for a minute after midnight."""
    slots = ((12, "morning"), (17, "afternoon"), (21, "evening"), (24, "night"))
    return next(name for until, name in slots if minute < until * 60)


# -- the suite of them --------------------------------------------------------------------------------------------------

#: How many towns a suite has, and the most cases: the spots for users are not more.
_TOWNS, _MOST = 4, 1000
#: How many places of a group of a world stand in the suite.
_KEPT = 3


def build_suite(request: BuildRequest, folder: Path) -> dict[str, int]:
    """Write a suite of a made-up city: manifest, tools, tables, requirements and cases.

    Args:
        request: what is asked for; ``cases`` says how many cases.
        folder: an empty folder.

    Returns:
        The number of rows by table, and of cases.

    Raises:
        UsageError: so many cases cannot be made, or a line of ``request.queries`` is of no case, empty, or one that stands twice.
        SuiteError: the file of queries cannot be read, or a line is no JSON.
    """
    count = request.cases or 0
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; cases need a folder of their own")
    queries = _written_queries(request.queries)
    world, scenes = scenes_of(request, {case: placed.noun.query for case, placed in queries.items()})
    names = {scene.id for scene in scenes}
    for name, entry in queries.items():
        if name not in names:
            raise UsageError(f"{entry.place}: case {shown(name)} is none of the suite{hint_at(name, sorted(names))}")
    of_seed = {"schema_version": SUITE_SCHEMA, "version": f"seed-{request.seed}", "cases": count}
    manifest = SuiteManifest.model_validate({**of_seed, **plan_data()["manifest"]})
    writer = Writer(world.tables, manifest)
    wordings = _Wordings(request.seed, [placed.noun.query for placed in queries.values()])
    by_file: dict[str, list[JsonObject]] = {}
    for number, scene in enumerate(scenes):
        written = queries.get(scene.id)
        keeps = written is not None and fits(written.noun.query, scene)
        query = written.noun.query if written and keeps else wordings.query(scene)
        case = writer.case(scene, number, query, written=keeps)
        by_file.setdefault(f"{_rarest_domain(scene.kind)}/{scene.language}.jsonl", []).append(case)
    content = {f"tools/{name}": data for name, data in tool_files()}
    content |= {f"state/{name}.jsonl": lines_of(rows) for name, rows in world.tables.items()}
    content |= {name: lines_of(cases) for name, cases in by_file.items()}
    content["requirements/facts.yaml"] = (files(__package__) / "facts.yaml").read_bytes()
    content["suite.yaml"] = to_yaml(manifest.to_json())
    put(folder, content)
    return {name: len(rows) for name, rows in world.tables.items()} | {"cases": count}


def briefs_of(request: BuildRequest, take: int) -> Iterator[JsonObject]:
    """Yield briefs for people who write queries: the user's situation and mood, without the hidden needs.

    Args:
        request: that of the suite.
        take: for how many of its cases, spread over all kinds and languages.
    """
    _, scenes = scenes_of(request)
    left = take
    languages = list(dict.fromkeys(scene.language for scene in scenes))
    for at, language in enumerate(languages):
        spoken = [scene for scene in scenes if scene.language == language]
        wanted = min(left // (len(languages) - at), len(spoken))
        left -= wanted
        for number, scene in enumerate(spoken):
            if (number + 1) * wanted // len(spoken) > number * wanted // len(spoken):
                yield {"case": scene.id, "language": language, "situation": _situation(scene)}


def scenes_of(request: BuildRequest, queries: Mapping[str, str] | None = None) -> tuple[MadeUpWorld, list[Scene]]:
    """Return the world of a suite and the scenes of its cases; the options of the scenes are in the world's tables.

    Args:
        request: that of the suite.
        queries: what somebody wrote for its cases, by id.

    Raises:
        UsageError: so many cases cannot be made.
    """
    count = request.cases or 0
    if not 1 <= count <= _MOST:
        raise UsageError(f"--cases: found {count}, expected 1 to {_MOST}")
    world = world_of(request.seed, towns=request.cities or _TOWNS, language=request.language)
    languages = tuple(dict.fromkeys(town.language for town in world.towns))
    _thin_out(world)
    maker = Scenes(world, queries or {})
    return world, [maker.scene(*part) for part in schedule(count, languages)]


def _rarest_domain(kind: PlanKind) -> str:
    """Return the folder for cases of a kind: the kind's domain that is rarest among all kinds."""
    cases = Counter(domain for other in kinds().values() for domain in other.domains for _ in range(other.share))
    return min(kind.domains, key=cases.__getitem__)


def _thin_out(world: MadeUpWorld) -> None:
    """Keep only the first grouped places of each sort that plans look for, with their deals; remove all ways."""
    wanted = {sort for kind in kinds().values() for sort in (kind.sort, kind.second) if sort}
    kept = {place for (_, sort), group in world.groups.items() if sort in wanted for place in group.ids[:_KEPT]}
    grouped = {place for group in world.groups.values() for place in group.ids}
    for table, column in (("places", "id"), ("deals", "place_id")):
        rows = world.tables[table]
        rows[:] = [row for row in rows if row[column] in kept or row[column] not in grouped]
    world.tables["ways"].clear()


def _situation(scene: Scene) -> str:
    """Return a scene's brief for a query writer in the scene's language: time, place, situation and mood."""
    told, kind, zh = wordings(scene.language), scene.kind, scene.language == "zh"
    asks = [_tail(scene, ask) for ask in scene.asks]
    asks += ["any"] if asks == ["walks"] else []
    own = {**told["asks"], **told[kind.name]}
    facts = [_named(own[name], scene) for name in ("situation", *asks)]
    mood = Draws(scene.world.seed, "mood", scene.id).choice(plan_data()["moods"][scene.language])
    time = scene.now[11:16]
    if zh:
        return f"{time}，{scene.town.name}，你在{scene.spot}。{'。'.join(facts)}。语气：{mood}。"
    return f"It is {time}. You are in {scene.town.name}, at {scene.spot}. {'. '.join(facts)}. Mood: {mood}."


def _named(text: str, scene: Scene) -> str:
    """Return a text with ``{here}`` and ``{goal}`` replaced by the names of the scene's places."""
    goal = scene.goal["name"] if scene.goal else ""
    return text.replace("{here}", scene.spot).replace("{goal}", goal)


class _Wordings:
    """Picks a query from the wordings of a kind for each case without a written query; queries never repeat and never name hidden needs.

    Args:
        seed: the seed of the suite.
        taken: queries that stand already.
    """

    def __init__(self, seed: int, taken: Iterable[str]) -> None:
        self._seed, self._taken = seed, set(taken)

    def query(self, scene: Scene) -> str:
        """Return an unused query for a scene. Raises UsageError when all wordings are used up."""
        told, zh = wordings(scene.language), scene.language == "zh"
        own = told[scene.kind.name]
        draws = Draws(self._seed, "wordings", scene.id)
        parts = [own["ordered"] if "order" in scene.asks else own["queries"]]
        parts += [told["tails"][name] for ask in scene.asks if (name := _tail(scene, ask)) in told["tails"]]
        for texts in product(*(draws.sample(part, len(part)) for part in parts)):
            query = _named(("" if zh else " ").join(texts), scene)
            if query not in self._taken and fits(query, scene):
                self._taken.add(query)
                return query
        raise UsageError(f"--cases: there are no more wordings for cases of {scene.kind.name}")


def _tail(scene: Scene, ask: str) -> str:
    """Return the name in the wordings for a query's questions besides the option itself."""
    return scene.kind.mode if ask == "to" else ask


def fits(query: str, scene: Scene) -> bool:
    """Return whether a query names the user's destination but nothing that the case hides, and asks only questions that a check can judge."""
    goal, spot = scene.goal.get("name", "").casefold(), scene.spot.casefold()
    bare = query.casefold().replace(goal or spot, "").replace(spot, "")
    named = names_one(bare, (need.name for need in scene.needs), scene.language)
    may = {(plan_data()["asked"] | plan_data()["tells"])[ask]["asking"] for ask in scene.asks}
    may |= {"way"} if scene.kind.family in ("way", "line", "ride") else set()
    return goal in query.casefold() and not named and may.issuperset(asking(bare, scene.language))


def wordings(language: str) -> Any:
    """Return the wordings of a language, by kind of plan."""
    return package_data(__package__, f"wordings_{language}.yaml")


class _Query(Noun):
    """A query that a person wrote for a case."""

    case: str
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _written_queries(path: Path | None) -> dict[str, PlacedNoun[_Query]]:
    """Return the queries in a JSON lines file, by case; empty for None. Raises UsageError, SuiteError."""
    queries: dict[str, PlacedNoun[_Query]] = {}
    texts: set[str] = set()
    for placed in read_nouns(path, _Query) if path else ():
        case, query = placed.noun.case, placed.noun.query
        if case in queries or query in texts:
            what = "" if case in queries else "the query of "
            raise UsageError(f"{placed.place}: {what}case {shown(case)} stands twice")
        texts.add(query)
        queries[case] = placed
    return queries


def lines_of(rows: Iterable[Mapping[str, Json]]) -> bytes:
    """Return rows as JSON lines."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files into a folder, or none. Raises UsageError."""
    try:
        add_files(folder, files)
    except OSError as error:
        raise UsageError(f"{folder}: the files cannot be written: {error.strerror or error}") from error
