"""A small made-up sandbox for the tests of the sandbox: one town, one coast, nothing borrowed."""

from math import cos, radians

from pytest_mapsat.model import Recording, Tool, distance_m
from pytest_mapsat.sandbox import RecordedSandbox

#: The middle of the made-up town.
LON, LAT = 10.0, 50.0
_M_PER_DEGREE = 111_194.9


def north(metres, lat=LAT):
    return lat + metres / _M_PER_DEGREE


def east(metres, lon=LON, lat=LAT):
    return lon + metres / (_M_PER_DEGREE * cos(radians(lat)))


AROUND = Tool.model_validate(
    {
        "name": "around",
        "description": "Find places around a point.",
        "parameters": {
            "type": "object",
            "required": ["x", "y"],
            "properties": {
                "query": {"type": "string"},
                "x": {},
                "y": {},
                "range": {"type": "number"},
                "sort": {"type": "string"},
                "label": {"type": "string"},
            },
        },
        "match": {
            "query": {
                "type": "text",
                "near": 0.4,
                "generic": ["店", "shop"],
                "synonyms": {"咖啡": ["咖啡馆", "coffee"], "充电站": ["汽车充电站"], "酒店": []},
            },
            "x": {"type": "lon", "pair": "y", "within_m": 200},
            "y": {"type": "lat"},
            "range": {
                "type": "number",
                "default": 5000,
                "covers": {
                    "items": "found.pois",
                    "distance": "distance",
                    "lon": "x",
                    "lat": "y",
                    "count": "count",
                    "centre": "x",
                },
            },
            "sort": {
                "type": "enum",
                "role": "preference",
                "default": "distance",
                "synonyms": {"distance": ["1"], "weight": ["0"]},
            },
            "label": {"role": "ignored"},
        },
    }
)

ROUTE = Tool.model_validate(
    {
        "name": "route",
        "description": "Plan a route.",
        "parameters": {
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": {}, "b": {}, "mode": {}, "via": {}, "wish": {}},
        },
        "match": {
            "a": {"type": "point", "within_m": 50},
            "b": {"type": "point", "within_m": 50},
            "via": {"type": "points", "within_m": 50},
            "mode": {
                "type": "set",
                "default": ["car", "walk"],
                "synonyms": {"car": ["drive"], "walk": ["on foot"]},
                "subset": {"labels": {"car": "CAR:", "walk": "WALK:"}},
            },
            "wish": {"type": "enum", "role": "preference"},
        },
    }
)

PROFILE = Tool.model_validate(
    {
        "name": "profile",
        "description": "Tell who a user is.",
        "profile": True,
        "parameters": {"type": "object", "required": ["uid"], "properties": {"uid": {"type": "string"}}},
        "match": {"uid": {"type": "id"}},
    }
)

TOOLS = {tool.name: tool for tool in (AROUND, ROUTE, PROFILE)}


def recording(tool, arguments, result, **more):
    return Recording(case="c1", tool=tool, arguments=arguments, result=result, **more)


def places(*metres, lon=LON, lat=LAT, order=None):
    """A result with one place so many metres north of the centre for each figure."""
    pois = [{"name": f"p{int(m)}", "x": lon, "y": north(m, lat), "distance": str(int(m))} for m in order or metres]
    return {"status": "1", "count": str(len(pois)), "found": {"pois": pois}}


def around(query="咖啡", radius=1000, result=None, **more):
    arguments = {"query": query, "x": LON, "y": LAT, "range": radius} | more
    return recording("around", arguments, places(100, 400, 900) if result is None else result)


def sandbox(*recordings):
    return RecordedSandbox(TOOLS, recordings)


def names(answer):
    return [poi["name"] for poi in answer.result["found"]["pois"]]


def farthest_m(answer, lon, lat):
    return max((distance_m(poi["x"], poi["y"], lon, lat) for poi in answer.result["found"]["pois"]), default=0.0)
