"""A tool as data: its description for agents, and how its recorded calls may be matched.

All that is special about maps lives in specs like this one; the sandbox knows canonical types only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, model_validator

from .base import SCALARS, FieldUnit, FigureRole, Identifier, Json, JsonObject, Level, Noun, Text, TimeRole, shown
from .computing import ToolAnswer

#: Key in ``Tool.meanings`` that stands for an item of entities.
ITEM = "[]"

#: text: compared after normalisation. place: text with declared suffixes cut (a city with or without "市").
#: number, boolean: numeric or boolean text counts. enum: one word, with synonyms. set: an unordered list of words, or text joined
#: by commas. ids: identity, case kept. lon, lat: one coordinate each, joined by ``pair``. point: "lon,lat" or an object.
#: points: an ordered list of points. time: ISO 8601 or epoch milliseconds. json: any value, keys sorted.
ParameterType = Literal[
    "text", "place", "number", "boolean", "enum", "set", "id", "lon", "lat", "point", "points", "time", "json"
]


class ParameterMatch(Noun):
    """How one parameter of a call may be matched with a recorded one.

    Attributes:
        type: the canonical type.
        role: ``essential`` must match within its tolerance; ``preference`` may differ and makes the answer near, by name;
            ``ignored`` is not compared.
        default: the value that a call without the parameter stands for.
        pair: for ``lon``: the name of the latitude parameter it makes a point with.
        within_m: for lon, point, points: how far a recorded point may lie, metres. 0: equal to about a metre only.
        near: for text: the least similarity, 0 to 1, of a near answer; none: text must be equal. A token that was asked
            for is never dropped, and text is near only where every location-like essential parameter is within its tolerance.
        synonyms: word -> the words that mean the same.
        suffixes: for place and text: endings that do not count.
        prefixes: likewise beginnings.
        generic: words that say only what sort of thing is meant ("shop"), which may be absent on either side.
        named: for point: a value that is no point may name a place, where the tool's ``answer`` says how.
        covers: the recorded list was made for a greater value of this parameter and may be cut to a smaller one.
        open: a call and a recording of which only one gives it are near: it steers a search and limits nothing.
        subset: for ``set``: a recording made for more members may be cut to those asked for, by the result's own labels.
    """

    type: ParameterType = "text"
    role: Literal["essential", "preference", "ignored"] = "essential"
    default: Json = None
    pair: str | None = None
    within_m: float = Field(default=0, ge=0)
    near: Level | None = None
    synonyms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    suffixes: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    generic: tuple[str, ...] = ()
    named: bool = False
    open: bool = False
    covers: CutByDistance | None = None
    subset: CutByLabel | None = None


class CutByDistance(Noun):
    """Where in a result the distance-sorted list stands that a smaller radius cuts.

    ``items``: dotted path of the list; ``distance``: key in an item, metres; ``lon``/``lat``: dotted keys of an item's own point, or ``point`` the one
    of both. A list without distances is cut by the points alone, and may lack what lies nearer than its last item.
    ``count``: dotted path of a number that must follow the length; ``centre``: the ``lon`` or ``point`` parameter the circle is drawn around.
    """

    items: str
    distance: str | None = None
    lon: str | None = None
    lat: str | None = None
    point: str | None = None
    count: str | None = None
    centre: str

    @model_validator(mode="after")
    def _placed(self) -> CutByDistance:
        if self.distance is None and self.point is None and (self.lon is None or self.lat is None):
            raise ValueError("covers needs distance, lon and lat, or point: what says how far an item lies")
        return self


class CutByLabel(Noun):
    """Where in a result the list stands whose elements begin with a label for each member of a set.

    ``items``: dotted path ("" for the result itself); ``labels``: member -> the text its elements begin with.
    """

    items: str = ""
    labels: dict[str, str]


#: What a value of a result is. name, alias (several joined by ``|``), id, kind (a word for the sort of thing), address: of the thing of
#: their object. end: the name of another thing that it belongs to as well (an end of a way). distance ... frequency: figures. clock: a time of day. hours: opening hours in words. lon, lat, point ("lon,lat"): a
#: place on the map. phone, line, platform: identifiers. mode: the way of travelling of all figures beside and below. text: running
#: words. labelled: text whose parts begin with a label. flag: true or false. ignored: nothing that an answer may rest on, with all below.
FieldKind = Literal[
    "name", "end", "alias", "id", "kind", "address", "phone", "line", "platform", "lon", "lat", "point",
    "distance", "duration", "price", "rating", "count", "capacity", "percent", "temperature", "age", "headroom", "frequency", "number",
    "clock", "hours", "mode", "text", "labelled", "flag", "ignored",
]  # fmt: skip
FieldRole = FigureRole | TimeRole
#: kind -> the unit it is written in and what it is a figure of, unless the declaration says otherwise.
_FIGURES: dict[str, tuple[FieldUnit, FieldRole | None]] = {
    "distance": ("m", "travel_distance"),
    "duration": ("min", "travel_time"),
    "price": ("yuan", "price"),
    "rating": ("star", "rating"),
    "count": ("count", "count"),
    "capacity": ("people", "capacity"),
    "percent": ("percent", None),
    "temperature": ("celsius", "temperature"),
    "age": ("year", "age"),
    "headroom": ("m", "headroom"),
    "frequency": ("min", "frequency"),
    "number": ("count", None),
}


class Meaning(Noun):
    """What the values at one path of a result mean. A kind alone may be written as a word: ``rating: rating``.

    ``unit``: the one they are written in; ``scale``: what they are multiplied with first (0.01 for cents). ``role``: what they are
    said of their thing, by kind unless given. ``mode``: the way of travelling they hold for ("walking", "driving", "cycling", "transit";
    "straight" as the crow flies). ``noun``: what is counted. ``words``: what single values stand for ("驾车" for driving); a value that stands for
    nothing ("") says nothing. ``labels``: for labelled text, label -> what stands behind it, up to one of ``ends``.
    """

    kind: FieldKind
    unit: FieldUnit | None = None
    scale: float = Field(default=1, gt=0)
    role: FieldRole | None = None
    mode: str = ""
    noun: str = ""
    words: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, Meaning] = Field(default_factory=dict)
    ends: tuple[Text, ...] = (";", "；", "\n")

    @model_validator(mode="before")
    @classmethod
    def _word(cls, data: Any) -> Any:
        """Fill in the unit and the role that a kind has by itself."""
        data = {"kind": data} if isinstance(data, str) else data
        if isinstance(data, dict) and data.get("kind") in _FIGURES:
            unit, role = _FIGURES[data["kind"]]
            return {"unit": unit, "role": role, **data}
        return data

    @model_validator(mode="after")
    def _fitting(self) -> Meaning:
        if (self.kind == "labelled") != bool(self.labels):
            raise ValueError("labels belong to the kind labelled, which needs them")
        if self.unit and self.kind not in _FIGURES:
            raise ValueError(f"a field of kind {self.kind} has no unit")
        return self

    @property
    def measures(self) -> bool:
        """Whether the values are figures."""
        return self.kind in _FIGURES


Fields = dict[str, Meaning]
#: Keys of paths, each with the tree below it; under "" the meaning of what lies here.
MeaningTree = dict[str, Any]


class Entities(Noun):
    """Where in a result things with a name stand, so that a judge can find what an answer recommends.

    ``items``: dotted path of a list or object (``*`` for every element); ``name``, ``id``: keys of an item. ``sort``: what is listed there; a check
    without a ``tool`` recommends places only. ``leg``: the items are stretches between things that are listed elsewhere, and name no thing themselves. ``fields``: dotted
    path in an item -> what its values mean.
    """

    items: str
    name: str = "name"
    id: str | None = None
    fields: Fields = Field(default_factory=dict)
    sort: Literal["place", "ride", "line", "road", "deal", "person", "product", "service", "leg"] = "place"


class Tool(Noun):
    """One tool of a suite.

    ``parameters`` is the JSON Schema shown to the agent; ``match`` says, by parameter, how calls are matched. ``answers_about`` names the parameter
    that must be the case's own user (a profile tool), so that no user's data is served for another.

    A result is evidence as far as it is declared: ``entities`` and ``fields`` (dotted path in the result, ``*`` for every member -> what its
    values mean); ``about`` names the parameters that say, by id, point or name, which things it is said of; ``mode`` the one with the
    way of travelling; ``answer`` how it is computed from the suite's tables. What lies together in a member of a list belongs to the names in it, else to those around it.

    ``secrets``: parameters, and dotted paths of a result, whose values no recording keeps. Such a parameter is not compared.
    ``aliases``: other names that a call may give; it is kept under the tool's own. ``strict``: arguments are taken as ``parameters`` says, and not fitted
    to it (``"2"`` for 2); the suite's ``arguments: strict`` says so for all of its tools.
    ``asks``: the words with which its go-ahead is asked for (cancel, 取消): a user agrees to a call only where one of them stands in the question.
    ``by``: who may call it: the agent, the simulated user, both, or neither (``world``): then it only prepares a case. An agent learns nothing of a tool that is not its own.
    """

    name: Identifier
    aliases: tuple[Identifier, ...] = ()
    strict: bool = False
    by: Literal["agent", "user", "both", "world"] = "agent"
    description: Text
    effect: Literal["read", "write"] = "read"
    profile: bool = False
    parameters: JsonObject
    match: dict[str, ParameterMatch] = Field(default_factory=dict)
    entities: tuple[Entities, ...] = ()
    fields: Fields = Field(default_factory=dict)
    about: tuple[str, ...] = ()
    mode: str | None = None
    answer: ToolAnswer | None = None
    secrets: tuple[Text, ...] = ()
    asks: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _known_parameters(self) -> Tool:
        properties = self.parameters.get("properties", {})
        if self.parameters.get("type") != "object" or not isinstance(properties, dict):
            raise ValueError("parameters is a JSON Schema of type object with properties")
        if wrong := next((name for name, part in properties.items() if not isinstance(part, (dict, bool))), None):
            raise ValueError(f"the parameter {wrong!r} has {shown(properties[wrong])}, expected a JSON Schema")
        required = self.parameters.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise ValueError(f"required is a list of names of parameters, not {shown(required)}")
        for name, match in self.match.items():
            for wanted in (name, match.pair, match.covers.centre if match.covers else None):
                if wanted is not None and wanted not in properties:
                    raise ValueError(f"match names the parameter {wanted!r}, which parameters does not have")
        for wanted in (*self.about, *((self.mode,) if self.mode else ())):
            if wanted not in properties:
                raise ValueError(f"about or mode names the parameter {wanted!r}, which parameters does not have")
        return self

    @property
    def for_agent(self) -> bool:
        """Whether the agent may call it."""
        return self.by in ("agent", "both")

    @property
    def for_user(self) -> bool:
        """Whether the simulated user may call it."""
        return self.by in ("user", "both")

    @cached_property
    def meanings(self) -> MeaningTree:
        """What the values of a result mean, as a tree by the keys of their paths; :data:`ITEM` leads to the items of entities."""
        tree: MeaningTree = {}
        for path, meaning in self.fields.items():
            _plant(tree, path.split("."), meaning)
        for entity in (entity for entity in self.entities if entity.sort != "leg"):
            named = {entity.name: Meaning(kind="name"), **({entity.id: Meaning(kind="id")} if entity.id else {})}
            for path, meaning in {**named, **entity.fields}.items():
                _plant(tree, [*entity.items.split("."), ITEM, *path.split(".")], meaning)
        return tree

    def undeclared(self, result: Json) -> Iterator[str]:
        """Yield the paths of the values in a result of which nothing says what they mean, ``*`` for members of lists."""
        waiting: list[tuple[Json, list[MeaningTree], tuple[str, ...]]] = [(result, [self.meanings], ())]
        while waiting:
            value, nodes, path = waiting.pop()
            kinds = {node[""].kind for node in nodes if "" in node}
            if type(value) in SCALARS or not isinstance(value, (dict, list, Mapping)):
                if value is not None and not kinds:
                    yield ".".join(path)
            elif not kinds & {"ignored", "text"} and (isinstance(value, Mapping) or not kinds):
                waiting += [(member, below, (*path, str(key))) for key, member, below in _members(value, nodes)]


def _members(
    value: Mapping[str, Json] | list[Json], nodes: list[MeaningTree]
) -> list[tuple[str, Json, list[MeaningTree]]]:
    """Return key, value and declarations of the members of an object or a list."""
    items = [node[ITEM] for node in nodes if ITEM in node]
    if isinstance(value, list):
        below = [*items, *(node["*"] for node in nodes if "*" in node)]
        return [("*", member, below) for member in value]
    single = [tree for tree in items if name_of(tree) in value]
    inner = [tree for tree in items if name_of(tree) not in value]
    return [(key, member, meanings_below([*nodes, *single], key) + inner) for key, member in value.items()]


def name_of(item: MeaningTree) -> str:
    """Return the key of the name in the declaration of an item of entities."""
    return next((key for key, node in item.items() if key and "" in node and node[""].kind == "name"), "")


def meanings_below(nodes: Sequence[MeaningTree], key: str) -> list[MeaningTree]:
    """Return what is declared of a member of an object: by its key, else of all members."""
    return [node[key if key in node else "*"] for node in nodes if key in node or "*" in node]


def _plant(tree: MeaningTree, keys: list[str], meaning: Meaning) -> None:
    for key in filter(None, keys):
        tree = tree.setdefault(key, {})
    tree[""] = meaning


def tool_name(tools: Mapping[str, Tool], name: str) -> str:
    """Return the own name of the tool that a name or an alias means; the name itself where no tool has it."""
    if name in tools:
        return name
    return next((own for own, tool in tools.items() if name in tool.aliases), name)


class Recording(Noun):
    """A recorded call of one case with the result that the service gave.

    ``writes`` is the digest of the writes before it, empty in a sandbox that is only read. ``synonyms``: further values of an argument that
    ask for the same (an id under which the source knew the user). ``simulated``: an LLM gave the result, not the service. ``live``: a tool of
    the user's own gave it, asked by ``mapsat record`` or in a run. ``cut``: the source holds a part of the result only; it is kept and never served.
    """

    case: Identifier
    tool: Identifier
    arguments: JsonObject
    result: Json
    writes: str = ""
    synonyms: dict[str, tuple[Json, ...]] = Field(default_factory=dict)
    simulated: bool = False
    live: bool = False
    cut: bool = False
