"""Whatever a reply or a result holds, grounding ends, soon, and quotes what is written."""

import pytest
from generated import generated
from grounding_sandbox import PLACES, STEPS, TOOLS, call, claims, tool
from hypothesis import given
from hypothesis import strategies as st
from step_count import steps_of

PIECES = [
    "青石寺", "半亩茶馆（东门店）", "枫林公园", "Harbour Noodles ", "Golden Lantern Restaurant ", "1480米", "1.5 km", "约", "10-15分钟", "三点半", "18:30", "-22:00",
    "24小时营业", "评分4.6", "¥68", "68元", "电话：", "0571-88001234", "120.01,30.01", "地址：", "柳桥路120号", "2号线", "18路", "→", "\n", "\n- ", "1. ", "：", "。", "?",
    "我可以帮你：", "附近", "一带", "共", "each ", "total ", "(", "（", "多", "内", "7个红绿灯", "½", "\u0301", "\u202e", "\x00", "| ", "The ", "Mill ", "Road ", "1200", "从", "到", "省", "区",
]  # fmt: skip
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40).map("".join)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(PIECES), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "x",
                    "y",
                    "lon",
                    "lat",
                    "location",
                    "tel",
                    "distance",
                    "from",
                    "to",
                    "time",
                    "cost",
                    "rating",
                    "mode",
                ]
            ),
            inner,
        ),
    ),
    max_leaves=12,
)


@generated(150)
@given(hostile)
def test_every_claim_quotes_the_reply_as_it_was_written(reply):
    for one in claims(reply):
        span = one.span
        assert one.text == reply[span.start : span.end] != ""
        assert one.type in ("name", "quantity", "time", "point", "identifier")
        assert one.verdict in ("supported", "contradicted", "unsupported", "undecided")
        assert one.why


KINDS = [
    "name",
    "alias",
    "id",
    "kind",
    "address",
    "phone",
    "lon",
    "lat",
    "point",
    "distance",
    "price",
    "clock",
    "hours",
    "text",
    "mode",
    "end",
]
declared = st.dictionaries(
    st.sampled_from(["name", "x", "tel", "from", "to", "time", "*", "*.name", "*.x", "*.*", "name.*.time"]),
    st.sampled_from(KINDS),
    max_size=6,
)


@generated(150)
@given(json_values, declared, st.dictionaries(st.sampled_from(["mode", "end_name", "at"]), json_values, max_size=3))
def test_no_result_breaks_it_whatever_is_declared_of_it(result, fields, arguments):
    match = {"at": {"type": "point"}, "mode": {"type": "enum"}}
    odd = tool("any", ["mode", "end_name", "at"], fields=fields, match=match, about=["end_name", "at"], mode="mode")
    reply = "青石寺离这里1480米，开车16分钟，评分4.6，电话0571-88001234。"
    steps = (call("search_poi", PLACES), call("any", result, **arguments))
    assert claims(reply, steps=steps, tools={**TOOLS, "any": odd})


def test_a_result_nested_deeply_is_read_without_recursion():
    result = {"distance": 1480}
    for _ in range(5_000):
        result = {"next": [result]}
    deep = tool("deep", [], fields={"next": "text"})
    assert claims("1480米", steps=(call("deep", result),), tools={"deep": deep}) is not None
    assert claims("1480米", steps=(call("deep", result),), tools={"deep": tool("deep", [])}) is not None


def test_numbers_beyond_measure_are_no_evidence():
    places = {
        "pois": [{"name": "青石寺", "distance": 10**400, "business": {"rating": float("inf"), "cost": float("nan")}}]
    }
    assert {one.verdict for one in claims("青石寺离这里1480米，评分4.6分", steps=(call("search_poi", places),))} <= {
        "supported",
        "undecided",
        "unsupported",
    }


@generated(60)
@given(hostile)
def test_the_same_reply_has_the_same_claims(reply):
    said = [[(one.span, one.verdict, one.why, one.evidence) for one in claims(reply)] for _ in range(2)]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "piece",
    [
        *(pytest.param(piece, marks=pytest.mark.long_proof(in_turn=True)) for piece in PIECES),
        "枫林公园，300米\n",
        "- 青石寺：1480米，18:30\n",
        "Try the Old Mill Inn, 2 km. ",
        "我可以：\n- ",
        "听雨新村、",
    ],
)
def test_work_grows_with_the_length_of_the_reply_and_not_faster(piece):
    short, long = (
        steps_of(lambda size=size: claims(piece * (size // len(piece)), steps=STEPS)) for size in (600, 2_400)
    )
    assert long < 5 * short


@pytest.mark.parametrize(
    "char", ["0", "1.", "a ", "A ", "路", "市", "区", "青", "站", "-", " ", "(", "1 ", "0-", "Aa ", "公园", "约", "12:"]
)
def test_a_long_reply_of_one_thing_is_judged(char):
    assert claims(char * (8_000 // len(char))) is not None
