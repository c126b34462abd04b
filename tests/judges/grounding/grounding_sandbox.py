"""A small sandbox in two languages, and what grounding says of one reply about it."""

from pytest_mapsat.judges import JudgedDialogue
from pytest_mapsat.model import Step, Tool, Trajectory, Turn, Visible

VISIBLE = Visible.model_validate(
    {
        "query": "我想去青石寺看看，再找个吃饭的地方。We are 4 people.",
        "context": {
            "now": "2026-05-20T10:00:00+08:00",
            "location": {"lon": 120.0, "lat": 30.0, "name": "云州市南浦区柳桥路云湖花园"},
            "city": "云州市",
            "history": ["用户在8分钟3秒前驾车导航去了「松涛垂钓园」。距离约12.4km。"],
        },
    }
)
PLACES = {
    "count": 4,
    "pois": [
        {
            "name": "青石寺", "address": "柳桥路120号", "x": 120.01, "y": 30.01, "distance": "1480", "adname": "南浦区",
            "business": {"tel": "0571-88001234", "rating": "4.6", "cost": "25.00", "opentime_today": "08:30-17:00"},
        },
        {
            "name": "半亩茶馆(东门店)", "address": "东门街7号2楼", "x": 120.02, "y": 30.0, "distance": "2150",
            "business": {"tel": "13900001111;13900002222", "rating": "4.2", "cost": "68", "opentime_today": "10:00-14:00,17:00-22:30"},
        },
        {
            "name": "Harbour Noodles", "address": "18 Quay Road", "x": 120.03, "y": 30.02, "distance": "860",
            "business": {"tel": "+44 20 7946 0123", "rating": "4.5", "cost": "40", "opentime_today": "11:00-21:30"},
        },
        {"name": "柳桥停车场", "address": "柳桥路118号(柳桥地铁站B口步行90米)", "distance": "1500", "business": {"opentime_today": "24小时营业"}},
    ],
}  # fmt: skip
DRIVE = [
    "驾车路线;青石寺;预计的到达时间10:16;路线的耗时16分钟;路线的长度3.6公里;路线的花费0元;经过的路:柳桥路,环湖大道,青石路;红绿灯:7"
]
BUS = [
    "公交路线;青石寺;路线的耗时35分钟;路线的长度4.1公里;路线的花费2元;经过的路:步行至云湖站,乘坐地铁2号线,换乘18路,青石寺站下车"
]


def tool(name, parameters, **declared):
    properties = {key: {} for key in parameters}
    return Tool.model_validate(
        {"name": name, "description": name, "parameters": {"type": "object", "properties": properties}, **declared}
    )


ROUTE = {
    "kind": "labelled",
    "labels": {
        "驾车路线": {"kind": "mode", "mode": "driving"},
        "公交路线": {"kind": "mode", "mode": "transit"},
        "预计的到达时间": {"kind": "clock", "role": "arrival"},
        "路线的耗时": "duration",
        "路线的长度": "distance",
        "路线的花费": "price",
        "经过的路": "text",
        "红绿灯": {"kind": "count", "noun": "个"},
    },
}
TOOLS = {
    one.name: one
    for one in (
        tool(
            "search_poi",
            ["query"],
            entities=[
                {
                    "items": "pois",
                    "fields": {
                        "address": "address", "x": "lon", "y": "lat", "distance": {"kind": "distance", "mode": "straight"},
                        "adname": "text", "business.tel": "phone", "business.rating": "rating", "business.cost": "price",
                        "business.opentime_today": "hours",
                    },
                }
            ],
            fields={"count": "ignored"},
        ),
        tool("navigate", ["end_name", "mode"], fields={"*": ROUTE}, about=["end_name"]),
        tool(
            "walk",
            ["destination"],
            match={"destination": {"type": "point"}},
            fields={"mode": "mode", "routes.*.distance_m": "distance", "routes.*.duration_min": "duration"},
            about=["destination"],
        ),
    )
}  # fmt: skip


def call(tool, result, **arguments):
    return Step(kind="call", tool=tool, arguments=arguments, result=result)


STEPS = (
    call("search_poi", PLACES, query="青石寺"),
    call("navigate", DRIVE, end_name="青石寺", mode="驾车"),
    call("navigate", BUS, end_name="青石寺", mode=["公交"]),
    call("walk", {"mode": "walking", "routes": [{"distance_m": 900, "duration_min": 12}]}, destination="120.03,30.02"),
)


def context_of(*replies, steps=STEPS, visible=VISIBLE, tools=TOOLS):
    """A dialogue of these replies; the steps belong to the first one."""
    turns = []
    for index, reply in enumerate(replies):
        turns += [
            Turn(role="user", text="Where to?"),
            Turn(role="agent", text=reply, steps=steps if index == 0 else ()),
        ]
    language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in replies[-1]) else "en"
    return JudgedDialogue(Trajectory(case="c1", turns=tuple(turns)), tools, visible, language=language)


def claims(reply, **fields):
    """The claims of one reply with their verdicts."""
    return context_of(reply, **fields).claims


def verdicts(reply, **fields):
    """(sort, words, verdict) of each claim."""
    return [(one.sort, one.text, one.verdict) for one in claims(reply, **fields)]


def of_verdict(reply, *wanted, **fields):
    """(sort, words) of the claims with one of these verdicts."""
    return [(sort, words) for sort, words, verdict in verdicts(reply, **fields) if verdict in wanted]


def wrong(reply, **fields):
    """(sort, words) of what is called wrong."""
    return [(one.sort, one.text) for one in claims(reply, **fields) if one.wrong]
