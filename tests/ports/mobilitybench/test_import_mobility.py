"""The importer of MobilityBench against a made-up table: what rows become, what answers calls, what answers earn, every damage."""

import json
from pathlib import Path

import pytest
from mobility_table import CODE, DOUBTFUL, HERE, driven, route, row, rows, traffic, write_table

from pytest_mapsat.judges.context import JudgedDialogue
from pytest_mapsat.judges.labels import labels_of
from pytest_mapsat.model import Step, SuiteError, Trajectory, Turn
from pytest_mapsat.ports.mobilitybench.importer import import_mobilitybench
from pytest_mapsat.sandbox import make_sandbox
from pytest_mapsat.suite import lint, open_suite


class Imported:
    """A made-up table, imported, with its cases by the short names of its rows."""

    def __init__(self, root: Path) -> None:
        made = rows()
        self.report = import_mobilitybench(
            write_table(root / "src" / "data" / "datasets", *made.values()), root / "dest"
        )
        self.suite = open_suite(root / "dest")
        loaded = [self.suite.load(entry) for path in self.suite.files() for entry in self.suite.entries(path)]
        self.cases = {name: next(c for c in loaded if c.attributes["row"] == str(n)) for n, name in enumerate(made, 1)}
        self.sandboxes = {name: make_sandbox(case, self.suite) for name, case in self.cases.items()}

    def answered(self, name: str, text: str, *, calls: bool = True) -> dict[str, str]:
        """Return the outcomes of the labels of an answer that rests on the expected calls, or on none."""
        case = self.cases[name]
        steps = [self.step(name, call.tool, call.arguments) for call in case.truth.oracle[0].calls if calls]
        turns = (Turn(role="user", text=case.visible.query), Turn(role="agent", text=text, steps=tuple(steps)))
        context = JudgedDialogue.of(case, Trajectory(case=case.id, turns=turns), self.suite.tools)
        return {label.requirement: label.outcome for label in labels_of(case, context)}

    def step(self, name: str, tool: str, arguments: dict[str, object]) -> Step:
        answer = self.sandboxes[name].call(tool, arguments)
        return Step(kind="call", tool=tool, arguments=arguments, result=answer.result, status=answer.status)

    def earned(self, name: str, text: str, *, calls: bool = True) -> str:
        """Return green where every required label passed, red where one failed, open otherwise."""
        truth = self.cases[name].truth
        required = {requirement.id for requirement in (*truth.required, *truth.policies)}
        found = {
            outcome
            for requirement, outcome in self.answered(name, text, calls=calls).items()
            if requirement in required
        }
        return "red" if "failed" in found else "green" if found == {"passed"} else "open"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return Imported(tmp_path_factory.mktemp("mobility"))


def test_rows_become_cases_of_the_papers_families(imported):
    cases = imported.cases
    assert {name: case.domains for name, case in cases.items() if name in ("traffic", "far", "via", "lines")} == {
        "traffic": ("basic_information_retrieval",),  # the row says otherwise
        "far": ("route_dependent_information_retrieval",),
        "via": ("basic_route_planning",),
        "lines": ("preference_constrained_route_planning",),
    }
    assert cases["drive"].attributes == {"scenario": "Point-to-Point Planning", "city": "云水市", "row": "8"}
    assert {name for name, case in cases.items() if case.attributes.get("gold") == "doubtful"} == set(DOUBTFUL)
    assert {name for name, case in cases.items() if case.attributes.get("results") == "cut"} == {"cut"}
    assert len({note.place for note in imported.report.notes if note.kind == "doubtful"}) == len(DOUBTFUL)
    assert [one for one in lint(imported.suite) if one.rule != "unused-tool"] == []


def test_contexts_have_a_moment_only_where_the_row_has_a_whole_one(imported):
    none, timed, dated = (imported.cases[name].visible.context for name in ("far", "drive", "leave"))
    assert (none.now, none.details) == (None, {})
    assert (timed.now, timed.details) == (None, {"start_datetime": "12:10:34.372"})
    assert dated.now == "2025-11-03T20:50:58+08:00"
    assert dated.details == {"start_datetime": "2025-11-03 20:50:58.839", "travel_tool": "驾车"}
    assert (f"{none.location.lon},{none.location.lat}", none.city) == (HERE, "云水市")


def test_what_is_asked_tells_nothing_of_the_case_and_the_truth_has_the_output(imported):
    asks = {json.dumps(case.visible.output_schema) for case in imported.cases.values()}
    assert len(asks) == 1
    output = {name: case.truth.output["constraints"] for name, case in imported.cases.items()}
    assert output["via"] == {"destination": "月湖", "waypoints": ["松桥"]}
    assert output["lines"] == {"destination": "西门(地铁站)", "avoid_lines": ["1号线"]}
    assert output["turned"] == {"destination": "西门(地铁站)", "take_lines": ["1号线"]}  # as the user has it
    assert output["nearby"] == {"place": "茶馆", "near": "西门"}
    assert output["weather"] == {"city": "云水市"}
    assert output["where"] == {}
    expected = imported.cases["via"].truth.tools
    assert [(tool.name, tool.id, tool.after) for tool in expected] == [
        ("query_poi", "c1", ()),
        ("driving_route", "c2", ("c1",)),
    ]
    assert imported.cases["traffic"].truth.tools[1].name == "traffic_status"  # the row has another name of it
    assert imported.suite.manifest.episode.user == "silent"
    assert {case.truth.policies[-1].id for case in imported.cases.values()} == {"asks_nothing"}
    assert imported.suite.manifest.misses == "agent"


def test_an_id_is_the_rows_wherever_it_stands(tmp_path):
    made = list(rows().values())
    ids = []
    for name, listed in (("one", made), ("other", [made[3], *made[::-1]])):
        import_mobilitybench(write_table(tmp_path / name, *listed), tmp_path / f"{name}-suite")
        suite = open_suite(tmp_path / f"{name}-suite")
        ids.append({entry.id for path in suite.files() for entry in suite.entries(path)})
    assert ids[0] == ids[1]
    assert "duplicate_case" in (tmp_path / "other-suite" / "import.json").read_text()


def test_two_imports_write_the_same_bytes(tmp_path, imported):
    again = tmp_path / "again"
    import_mobilitybench(imported.suite.root.parent / "src", again)
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()} == {
        path.relative_to(imported.suite.root): path.read_bytes()
        for path in imported.suite.root.rglob("*")
        if path.is_file()
    }


def test_expected_calls_are_answered_exactly_or_their_miss_is_explained(imported):
    kinds: dict[str, list[str]] = {}
    for name, case in imported.cases.items():
        for call in case.truth.oracle[0].calls:
            kinds.setdefault(imported.sandboxes[name].call(call.tool, call.arguments).provenance.kind, []).append(name)
    assert sorted(kinds) == ["exact", "miss"]
    assert kinds["miss"] == ["traffic", "mixed", "cut", "other_road"]
    call = imported.cases["cut"].truth.oracle[0].calls[1]
    missed = imported.sandboxes["cut"].call(call.tool, call.arguments)
    assert "holds a part of its result only, and is never served" in missed.provenance.note
    (kept,) = [one for one in imported.suite.recordings(imported.cases["cut"].id) if one.cut]
    assert len(kept.result) == 32_767


def test_near_calls_of_a_sensible_agent_are_answered_and_others_are_not(imported):
    def status(row, tool, **arguments):
        answer = imported.sandboxes[row].call(tool, arguments)
        return answer.provenance.kind if answer.provenance else answer.status

    ends = {"origin": "110.1000,30.2000", "destination": "110.5004,30.6"}
    assert status("drive", "driving_route", **ends) == "near"
    assert status("drive", "driving_planning", **ends) == "near"  # the paper's name of the tool
    assert status("drive", "driving_route", **ends, strategy=["不走高速"]) == "miss"
    assert status("drive", "driving_route", **ends, strategy=["快点"]) == "error"
    assert status("drive", "driving_route", **ends, speed=80) == "error"
    assert status("drive", "driving_route", origin=HERE, destination="110.502,30.6") == "miss"
    assert status("wish", "driving_route", **ends) == "miss"
    assert status("wish", "driving_route", **ends, strategy=["no_highway"]) == "near"
    assert status("via", "driving_route", **ends, waypoints=["110.4003,30.4"]) == "near"
    assert status("drive", "query_poi", keywords="月湖", city="云水") == "exact"
    assert status("drive", "query_poi", keywords="月湖市") == "near"
    assert status("drive", "query_poi", keywords="月湖", city="别市") == "miss"
    assert status("nearby", "search_around_poi", location="110.3001,30.3", keywords="茶馆店", radius=500) == "composed"
    assert status("lines", "query_poi", keywords="西门地铁站", city="云水市") == "near"  # the recording names no city
    assert status("traffic", "traffic_status", name="环山路", city="云水") == "exact"
    assert status("traffic", "traffic_status", name="湖滨路", city="云水") == "miss"
    assert status("weather", "weather_query", city="云水") == "exact"
    assert status("weather", "weather_query", city="湖北省云水市") == "exact"
    assert status("weather", "weather_query", city="云水市", need_forecast=True) == "miss"


#: Right answers whose states of the weather or the traffic no sentence plainly affirms: they stay undecided.
IN_NO_CLOSED_SENTENCE = {
    "云水市现在多云，零下4度，湿度39%。",
    "多云，-4℃，注意保暖。",
    "环山路目前不堵，双向畅通。",
    "环山路双向畅通，拥堵和缓行的比例都是0。",
    "湖滨路轻度拥堵，由东向西方向堵得厉害，其余路段畅通。",
    "明天白天多云，夜间有小雨，12到20度。",
    "明天多云转小雨，最高20℃。",
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("poi", "找到了，青石茶馆在南湖区环山路5号。"),
        ("poi", "您要找的地方坐标是110.3011,30.3006。"),
        ("poi", "地点：经度110.301000，纬度30.300500。"),
        ("where", "您在云水市南湖区的环山路，旁边是青石茶馆。"),
        ("where", "现在的位置：白河省云水市南湖区青石镇，靠近云月高速。"),
        ("nearby", "西门附近有青石茶馆(南门店)，地址环山路5号。"),
        ("nearby", "附近的茶馆：\n1. 月下茶社\n2. 青石茶馆"),
        ("weather", "云水市现在多云，零下4度，湿度39%。"),
        ("weather", "多云，-4℃，注意保暖。"),
        ("traffic", "环山路目前不堵，双向畅通。"),
        ("traffic", "环山路双向畅通，拥堵和缓行的比例都是0。"),
        ("far", "开车去月湖大约60公里，要1个小时。"),
        ("far", "距离约55公里。"),
        ("leave", "开车约1小时，建议早上7:50出发。"),
        ("drive", "驾车路线：全程60公里，预计1小时，过路费20元。"),
        ("via", "先到松桥，再到月湖市，全程60公里，约1小时。"),
        ("wish", "不走高速的路线全程55公里，约1小时15分钟。"),
        ("lines", "不坐1号线的话，可以乘1路公交，约55分钟，票价2元。"),
        ("lines", "先坐22路，再换乘轨道交通3号线，全程50分钟。"),
        ("turned", "坐地铁1号线直达西门，30分钟，票价3元。"),
        ("no_weather", "抱歉，暂时没有查到云水市的天气数据。"),
        ("mixed", "湖滨路轻度拥堵，由东向西方向堵得厉害，其余路段畅通。"),
        ("forecast", "明天白天多云，夜间有小雨，12到20度。"),
        ("forecast", "明天多云转小雨，最高20℃。"),
        ("fare", "打车去月湖大约88元，60公里。"),
    ],
)  # fmt: skip
def test_right_answers_pass(imported, name, text):
    expected = "open" if text in IN_NO_CLOSED_SENTENCE else "green"
    assert imported.earned(name, text) == expected, imported.answered(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("poi", "您要找的地方坐标是110.3211,30.3006。"),
        ("poi", "已经找到青石茶馆，点击卡片即可导航。"),
        ("where", "您在云水市北湖区的环山路。"),
        ("where", "您在云水市南湖区的中山路。"),
        ("nearby", "西门附近推荐听雨茶楼(北门店)。"),
        ("nearby", "西门附近没有茶馆。"),
        ("weather", "云水市现在晴，零下4度。"),
        ("weather", "云水市现在多云，气温4℃。"),
        ("weather", "云水市现在多云，零下14度。"),
        ("traffic", "环山路现在比较堵，建议绕行。"),
        ("far", "开车去月湖大约90公里。"),
        ("far", "开车去月湖大约1小时。"),
        ("leave", "开车约1小时，建议早上8:50出发。"),
        ("drive", "驾车路线：全程60公里，预计需要3小时。"),
        ("drive", "建议坐火车去月湖，大约60公里。"),
        ("via", "到月湖市全程60公里，约1小时。"),
        ("lines", "乘坐地铁1号线直达西门，30分钟，票价3元。"),
        ("turned", "可以乘1路公交，约55分钟，票价2元。"),
        ("no_weather", "云水市今天晴，25℃。"),
        ("mixed", "湖滨路全程畅通，不堵。"),
        ("forecast", "明天晴，25度。"),
        ("fare", "打车去月湖大约150元，60公里。"),
    ],
)  # fmt: skip
def test_wrong_answers_never_pass(imported, name, text):
    assert imported.earned(name, text) in ("red", "open"), imported.answered(name, text)  # open: suspect


def test_answers_that_cannot_be_read_are_left_open(imported):
    assert imported.earned("leave", "开车约1小时，九点要到的话建议提前一个多小时走。") == "open"
    assert imported.earned("cut", "大约60公里。") == "open"  # the route is not to be had
    assert imported.earned("lines", "乘1路公交，大概要坐85分钟，9公里。") != "green"


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        '{"route_index": "0"}',
        "您好，全程约60公里，预计1小时，道路畅通，天气多云，气温-4℃，位于南湖区环山路，坐标110.301,30.3005，途经松桥，乘1路。",
    ],
)
def test_one_sentence_for_all_earns_nothing(imported, sentence):
    assert "green" not in {imported.earned(name, sentence, calls=False) for name in imported.cases}


@pytest.mark.parametrize(
    ("described", "overall"),
    [
        ("湖滨路：双向畅通。", "畅通"),
        ("湖滨路：由东向西严重拥堵，其余路段畅通。", "轻度拥堵"),
        ("湖滨路：由东向西行驶缓慢。", "拥堵"),
        ("湖滨路：双向缓行，车流缓慢，局部比较堵。", "缓行"),
        ("湖滨路：双向畅通。", "轻度拥堵"),
        ("湖滨路：路况良好，正常通行。", "畅通"),
    ],
)
def test_a_tools_own_words_never_break_the_status_of_traffic(tmp_path, described, overall):
    import_mobilitybench(write_table(tmp_path / "table", traffic("湖滨路", described, overall)), tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    (case,) = [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]
    for text in (described, f"{described}整体{overall}。"):
        turns = (Turn(role="user", text=case.visible.query), Turn(role="agent", text=text))
        context = JudgedDialogue.of(case, Trajectory(case=case.id, turns=turns), suite.tools)
        assert {label.requirement: label.outcome for label in labels_of(case, context)}["status"] != "failed", text


@pytest.mark.parametrize(
    "empty",
    [
        row("湖滨路堵不堵", "Traffic Info Query", [("traffic_status", {"name": "湖滨路", "city": "云水市"})], road="湖滨路", ans={"trafficinfo": {"description": "", "evaluation": {"expedite": "0.00%", "status": "0", "description": ""}}}),
        row("附近有茶馆吗", "Nearby Query", [("search_around_poi", {"location": "110.3,30.3", "keywords": "茶馆"})], near_poi_ans={"status": 0, "data": {"status": "1", "pois": []}, "error": None}),
        row("我在哪", "Geolocation Query", [("reverse_geocoding", {"longitude": "110.1", "latitude": "30.2"})], location_ans={"status": "1", "regeocode": {"addressComponent": {}}}),
        row("今天天气怎么样", "Weather Query", [("weather_query", {"city": "云水市"})], weather={"status": 0, "data": None, "error": None}),
        driven("开车去月湖", "Point-to-Point Planning", route()),
        driven("开车去月湖", "Point-to-Point Planning", {"status": "0", "info": "failed"}),
    ],
)  # fmt: skip
def test_a_row_with_an_empty_recorded_answer_is_doubtful(tmp_path, empty):
    report = import_mobilitybench(write_table(tmp_path / "table", empty), tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    (case,) = [suite.load(entry) for path in suite.files() for entry in suite.entries(path)]
    assert case.attributes["gold"] == "doubtful"
    assert any("returned nothing to tell" in note.message for note in report.notes)


def test_the_strategy_must_stand_in_the_call(imported):
    case, text = imported.cases["wish"], "不走高速的路线全程55公里，约1小时15分钟。"
    call = case.truth.oracle[0].calls[1]
    answer = imported.sandboxes["wish"].call(call.tool, call.arguments)
    plain = {name: value for name, value in call.arguments.items() if name != "strategy"}
    outcomes = []
    for arguments in (call.arguments, plain):
        step = Step(kind="call", tool=call.tool, arguments=arguments, result=answer.result, status="ok")
        turns = (Turn(role="user", text=case.visible.query), Turn(role="agent", text=text, steps=(step,)))
        context = JudgedDialogue.of(case, Trajectory(case=case.id, turns=turns), imported.suite.tools)
        outcomes.append({label.requirement: label.outcome for label in labels_of(case, context)}["strategy"])
    assert outcomes == ["passed", "failed"]


def test_the_oracle_of_every_sound_row_passes(imported):
    earned = {name: imported.earned(name, case.truth.oracle[0].say) for name, case in imported.cases.items()}
    assert {name for name, colour in earned.items() if colour != "green"} == {"cut"}


@pytest.mark.parametrize(
    ("column", "cell", "found"),
    [
        ("tool_list", "[{'name': 'query_poi'", "tool_list: is not a Python literal"),
        ("tool_list", "__import__('os').abort()", "found \"__import__('os').abort()\" at character 1"),
        ("tool_list", "[" * 5000, "lists and objects are nested more than 64 deep"),
        ("tool_list", "[]", "tool_list: found no call of a known tool, expected a list of"),
        ("tool_list", "[{'name': 'fly'}]", "as call 1, expected {'name', 'arguments'}"),
        ("context", "{'city': 1" + "0" * 500 + "}", "context: holds a number of 501 characters"),
        ("std_end", "{'name': 'a', 'name': 'b'}", "std_end: the key 'name' occurs twice"),
        ("route_ans", "'" + "x" * 9_000_000 + "'", "route_ans: has 9000002 characters, more than"),
        ("task_scenario", "Nearby Qery", "found 'Nearby Qery', expected a scenario of the paper (did you mean 'Nearby Query'"),
        ("query", " ", "query: found nothing, expected the user's words"),
    ],
)  # fmt: skip
def test_a_broken_cell_leaves_its_row_out_and_is_told_with_its_place(tmp_path, column, cell, found):
    broken = {**driven("开车去月湖", "Point-to-Point Planning"), column: cell}
    table = write_table(tmp_path, rows()["weather"], broken)
    report = import_mobilitybench(table, tmp_path / "suite")
    (note,) = [one for one in report.notes if one.kind == "unparsable"]
    assert (note.place, report.cases, report.not_carried) == ("sample.csv:3", 1, {"rows": 1})
    assert found in note.message
    with pytest.raises(SuiteError, match=r"sample\.csv:2"):
        import_mobilitybench(write_table(tmp_path / "alone", broken), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_literals_of_another_shape_break_nothing(tmp_path):
    """Whatever plain data a cell holds, its row becomes a sound case or is left out with its column."""
    odd = [
        "None",
        "[]",
        "{}",
        "5",
        "'x'",
        "[5, {'name': 3}]",
        "{'status': 1, 'data': None}",
        "{'route': {'paths': [5, {'cost': 3}]}}",
    ]
    odd += [
        "{'route': {'transits': [{'segments': [5, {'bus': {'buslines': [1, {'name': ''}]}}], 'cost': []}]}}",
        "{'location': 'x,y', 'name': 5}",
    ]
    odd += [
        "{'regeocode': {'addressComponent': {'district': []}, 'roads': 'x', 'pois': [5]}}",
        "{'trafficinfo': {'evaluation': 3}}",
    ]
    odd += ["[{'name': 'driving_route', 'arguments': {'origin': 5, 'waypoints': [None], 'strategy': 'a'}}]"]
    made = rows()
    columns = (
        "context",
        "std_end",
        "tool_list",
        "route_ans",
        "ans",
        "location_ans",
        "poi_result",
        "near_poi_ans",
        "strategy_list",
        "weather",
    )
    listed = [
        made[name] | {column: cell}
        for name in ("where", "lines", "wish", "traffic", "nearby")
        for column in columns
        for cell in odd
    ]
    report = import_mobilitybench(write_table(tmp_path, *listed), tmp_path / "suite")
    assert {note.message.partition(":")[0] for note in report.notes if note.kind == "unparsable"} == {"tool_list"}
    assert [one for one in lint(open_suite(tmp_path / "suite")) if one.severity == "error"] == []


def test_other_columns_are_told(tmp_path):
    columns = tuple("task_scenarios" if name == "task_scenario" else name for name in rows()["poi"])
    with pytest.raises(
        SuiteError, match=r"sample\.csv:1: has no column 'task_scenario'.*did you mean 'task_scenarios'"
    ):
        import_mobilitybench(write_table(tmp_path, rows()["poi"], columns=columns), tmp_path / "suite")
    with pytest.raises(SuiteError, match=r"holds no table"):
        import_mobilitybench(tmp_path / "suite-that-is-not", tmp_path / "suite")
    more = import_mobilitybench(
        write_table(tmp_path / "m", rows()["poi"] | {"x": "1"}, columns=(*rows()["poi"], "x")), tmp_path / "s"
    )
    assert more.not_carried == {"column x": 1}


def test_ground_truth_stands_in_nothing_that_an_agent_is_handed(imported):
    seen = "".join(case.visible.model_dump_json() for case in imported.cases.values())
    assert not [
        word for word in ("110.5,30.6", "doubtful", CODE["formatted_address"], "青石茶馆(南门店)") if word in seen
    ]
