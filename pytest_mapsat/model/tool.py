"""A tool as data: what an agent is told of it, and how its recorded calls may be matched.

All that is special about maps lives in specs like this one; the sandbox knows canonical types only.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from .base import Identifier, Json, JsonObject, Level, Noun, Text

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
        covers: the recorded list was made for a greater value of this parameter and may be cut to a smaller one.
        subset: for ``set``: a record made for more members may be cut to those asked for, by the result's own labels.
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
    covers: CutByDistance | None = None
    subset: CutByLabel | None = None


class CutByDistance(Noun):
    """Where in a result the distance-sorted list stands that a smaller radius cuts.

    ``items``: dotted path of the list; ``distance``: key in an item, metres; ``lon``/``lat``: dotted keys of an item's own point;
    ``count``: dotted path of a number that must follow the length; ``centre``: the ``lon`` or ``point`` parameter the circle is drawn around.
    """

    items: str
    distance: str
    lon: str | None = None
    lat: str | None = None
    count: str | None = None
    centre: str


class CutByLabel(Noun):
    """Where in a result the list stands whose elements begin with a label for each member of a set.

    ``items``: dotted path ("" for the result itself); ``labels``: member -> the text its elements begin with.
    """

    items: str = ""
    labels: dict[str, str]


class Entities(Noun):
    """Where in a result things with a name stand, so that a judge can find what an answer recommends.

    ``items``: dotted path of a list or object (``*`` for every element); ``name``, ``id``: keys of an item. ``sort``: what is listed there; a check
    without a ``tool`` recommends places only. ``leg``: the items are stretches between things that are listed elsewhere, and name no thing themselves.
    """

    items: str
    name: str = "name"
    id: str | None = None
    sort: Literal["place", "ride", "line", "road", "deal", "leg"] = "place"


class Tool(Noun):
    """One tool of a suite.

    ``parameters`` is the JSON Schema shown to the agent; ``match`` says, by parameter, how calls are matched. ``answers_about`` names the parameter
    that must be the case's own user (a profile tool), so that no user's data is served for another.
    """

    name: Identifier
    description: Text
    effect: Literal["read", "write"] = "read"
    profile: bool = False
    parameters: JsonObject
    match: dict[str, ParameterMatch] = Field(default_factory=dict)
    entities: tuple[Entities, ...] = ()

    @model_validator(mode="after")
    def _known_parameters(self) -> Tool:
        properties = self.parameters.get("properties", {})
        if self.parameters.get("type") != "object" or not isinstance(properties, dict):
            raise ValueError("parameters is a JSON Schema of type object with properties")
        for name, match in self.match.items():
            for wanted in (name, match.pair, match.covers.centre if match.covers else None):
                if wanted is not None and wanted not in properties:
                    raise ValueError(f"match names the parameter {wanted!r}, which parameters does not have")
        return self


class Record(Noun):
    """A recorded call of one case with the result that the world gave.

    ``writes`` is the digest of the writes before it, empty in a world that is only read. ``synonyms``: further values of an argument that
    ask for the same (an id under which the source knew the user). ``simulated``: an LLM gave the result, not the world.
    """

    case: Identifier
    tool: Identifier
    arguments: JsonObject
    result: Json
    writes: str = ""
    synonyms: dict[str, tuple[Json, ...]] = Field(default_factory=dict)
    simulated: bool = False


ParameterMatch.model_rebuild()
