"""Lint: everything that can be said of a suite without running it, with places and severities."""

import json

import pytest
from suite_maker import MANIFEST, TOOLS, case_data, case_line, case_yaml, make_suite, recording_line

from pytest_mapsat.cli import main
from pytest_mapsat.suite import RULES, lint, open_suite

COMPLETE = """\
id: good
domains: [search]
visible: {query: eat, context: {now: 2026-05-07T12:30:00+08:00}}
truth:
  requirements:
    - {id: e1, kind: asked, text: a place, check: {kind: says, any: [place]}}
    - {id: z1, kind: hard, text: near, evidence: [{text: said so, relevance: strong}], check: {kind: says, any: [near]}}
    - {id: z2, kind: soft, text: nice, weight: 1, levels: [{level: 1, check: {kind: says, any: [nice]}}]}
  clarification: {max_turns: 1}
  tools: [{name: find, required: [query]}, {name: route}]
  user: {answers: [{asked: [where], say: near}]}
  oracle: [{say: a nice place near, calls: [{tool: find, arguments: {query: eat}}]}]
"""
GOOD = {
    "good.yaml": COMPLETE,
    "recordings/r.jsonl": recording_line("good", "find", {"query": "eat"}, 1) + recording_line("good", "route", {}, 2),
}


def findings(root, files):
    return lint(open_suite(make_suite(root, files)))


def the(found, rule):
    (finding,) = [finding for finding in found if finding.rule == rule]
    return finding


def test_nothing_is_said_of_a_complete_suite(tmp_path):
    assert findings(tmp_path, GOOD) == []


def test_what_a_case_lacks_is_noted(tmp_path):
    found = findings(tmp_path, {"a.yaml": case_yaml("a")})
    assert [(finding.rule, finding.severity) for finding in found if finding.problem.path.endswith("a.yaml")] == [
        ("no-check", "note"),
        ("no-clarification", "note"),
        ("no-oracle", "note"),
        ("no-script", "note"),
    ]
    assert "1 of 1 requirements have no check and need a judge: e1" in the(found, "no-check").problem.message
    assert {finding.problem.line for finding in found if finding.rule == "no-oracle"} == {7}


def test_a_type_that_json_schema_does_not_know_is_warned_of_wherever_it_stands(tmp_path):
    stop = {"type": "object", "properties": {"type": {"type": ["str", "null"]}, "at": {"anyOf": [{"type": "float"}]}}}
    properties = {"minutes": {"type": "int"}, "stops": {"type": "array", "items": stop}, "any": {}, "all": True}
    tool = {"name": "plan", "description": "Plans.", "parameters": {"type": "object", "properties": properties}}
    found = [
        one.problem
        for one in findings(tmp_path, {"tools.yaml": json.dumps([tool])})
        if one.rule == "unknown-type" and one.severity == "warning"
    ]
    places = ["minutes", "stops.items.properties.at.anyOf.0", "stops.items.properties.type"]
    assert [one.message.split(": ")[1] for one in found] == [f"parameters.properties.{place}.type" for place in places]
    assert "found 'int', expected one or several of string, number, integer" in found[0].message
    assert found[0].message.endswith("did you mean 'integer'?")
    assert {one.line for one in found} == {1}


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ("required: [query]", "required: [qwery]", "unknown-parameter", 10),
        ("{name: route}", "{name: route, match: {t: {op: present}}}", "unknown-parameter", 10),
        ("{name: route}", "{name: route, prose: [[t, must be there]]}", "unknown-parameter", 10),
        ("arguments: {query: eat}", "arguments: {qurey: eat}", "unknown-parameter", 12),
        (
            "{name: route}",
            "{name: route, match: {to: {op: within_m, lon: 1, lat: 2, metres: 3, lat_from: t}}}",
            "unknown-parameter",
            10,
        ),
    ],
)
def test_a_doubtful_case_is_warned_of_at_its_line(tmp_path, old, new, rule, line):
    (finding,) = findings(tmp_path, {**GOOD, "good.yaml": COMPLETE.replace(old, new)})
    assert (finding.rule, finding.severity, finding.problem.line) == (rule, "warning", line)


def test_evidence_may_be_left_out(tmp_path):
    evidence = ", evidence: [{text: said so, relevance: strong}]"
    assert findings(tmp_path, {**GOOD, "good.yaml": COMPLETE.replace(evidence, "")}) == []


MATCHED = TOOLS.replace("city: {type: string}", "city: {type: string}\n  match: {query: {type: text}}")


def test_a_time_that_no_case_has_and_a_place_in_no_coordinates_are_warned_of(tmp_path):
    timeless = COMPLETE.replace("context: {now: 2026-05-07T12:30:00+08:00}", "context: {location: {lon: 1, lat: 2}}")
    clock = timeless.replace("check: {kind: says, any: [near]}", 'check: {kind: clock_time, before: "20:00"}')
    manifest = MANIFEST.replace("coordinates: wgs84\n", "")
    found = findings(tmp_path, GOOD | {"suite.yaml": manifest, "good.yaml": clock})
    assert [(one.rule, one.problem.line) for one in found] == [("no-coordinates", 3), ("no-time", 7)]
    assert "z1 checks a time of day" in the(found, "no-time").problem.message


@pytest.mark.parametrize("truth", ["  intent: eat\n", "  requirements: [{id: f1, kind: fact, text: it is open}]\n"])
def test_a_case_without_requirements_of_the_user_is_an_error(tmp_path, truth):
    text = COMPLETE.partition("  requirements")[0] + truth
    found = the(findings(tmp_path, {"a.yaml": text}), "no-requirements")
    assert (found.severity, "no requirement of kind asked, hard or soft" in found.problem.message) == ("error", True)


@pytest.mark.parametrize(
    ("line", "rule", "words"),
    [
        (recording_line("gone", "find", {}, 1), "orphan", "the suite has no case 'gone'"),
        (recording_line("good", "fnd", {}, 1), "unknown-tool", "the suite has no tool 'fnd'"),
        (
            recording_line("good", "find", {"qurey": 1}, 1),
            "unknown-parameter",
            "the tool find has no parameter 'qurey'",
        ),
        (recording_line("good", "find", {"query": "eat"}, 1), "duplicate-recording", "recordings/r.jsonl:1"),
    ],
)
def test_a_doubtful_recording_is_warned_of(tmp_path, line, rule, words):
    (finding,) = findings(tmp_path, {**GOOD, "tools.yaml": MATCHED, "recordings/s.jsonl": line})
    assert (finding.rule, finding.severity, finding.problem.line) == (rule, "warning", 1)
    assert words in finding.problem.message
    assert finding.problem.path.endswith("recordings/s.jsonl")


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ([9], ["conflict"]),
        ([9, 9], ["conflict", "duplicate-recording"]),
        ([1, 9], ["conflict", "conflict"]),  # "pending" twice, and then "done"
        ([1, 1], ["duplicate-recording", "duplicate-recording"]),
        ([9, 1], ["conflict", "conflict"]),
    ],
)
def test_several_recordings_of_one_request_are_a_note_and_only_what_can_change_no_answer_is_a_warning(
    tmp_path, results, told
):
    spelt = [recording_line("good", "find", {"query": " EAT ", "city": None}, result) for result in results]
    found = findings(tmp_path, {**GOOD, "tools.yaml": MATCHED, "recordings/s.jsonl": "".join(spelt)})
    assert [(one.rule, one.severity, one.problem.line) for one in found] == [
        (rule, "note" if rule == "conflict" else "warning", line) for line, rule in enumerate(told, 1)
    ]
    assert all("recordings/r.jsonl:1" in one.problem.message for one in found)


def test_tools_without_recordings_are_told_apart_by_whether_a_case_expects_them(tmp_path):
    found = findings(
        tmp_path, {"good.yaml": COMPLETE, "tools/x.yaml": TOOLS.split("- name: route")[0].replace("find", "spare")}
    )
    rules = {finding.problem.message.split()[2]: (finding.rule, finding.severity) for finding in found}
    assert rules == {
        "find": ("no-recordings", "warning"),
        "route": ("no-recordings", "warning"),
        "spare": ("unused-tool", "note"),
    }


@pytest.mark.parametrize(
    ("tool", "description", "words"),
    [
        ("cancel_order", "Cancels an order.", "cancel, 取消"),
        ("create_booking", "Books a table.", "book, 预订"),
        ("zap", "取消一个预约。", "cancel, 取消"),
        ("dispute", "Disputes a charge.", "cancel, 取消"),
    ],
)
def test_a_tool_that_writes_and_is_to_be_agreed_to_should_say_with_which_words_it_is_asked_for(
    tmp_path, tool, description, words
):
    written = {
        "name": tool,
        "description": description,
        "effect": "write",
        "parameters": {"type": "object", "properties": {}},
    }
    data = case_data("a")
    data["truth"]["requirements"][0]["check"] = {"kind": "calls", "tool": tool, "agreed": True}
    case = json.dumps(data)
    note = the(findings(tmp_path, {"tools.yaml": json.dumps([written]), "a.yaml": case}), "no-asks")
    assert (note.severity, note.problem.hint) == ("note", f"add asks: [{words}]")
    asked = json.dumps([{**written, "asks": ["zap"]}])
    assert not [one for one in findings(tmp_path, {"tools.yaml": asked, "a.yaml": case}) if one.rule == "no-asks"]


def test_errors_of_all_files_are_reported_together(tmp_path):
    found = findings(
        tmp_path,
        {
            **GOOD,
            "a.yaml": case_yaml("a").replace("query", "qurey"),
            "b.jsonl": case_line("b", domains=["nowhere"]) + case_line("good"),
            "c.jsonl": case_line("c", domains=["nowhere"]),
            "recordings/s.jsonl": '{"case": "good", "tool": 1}\n',
        },
    )
    errors = {
        (finding.problem.path.rsplit("/", 1)[1], finding.rule) for finding in found if finding.severity == "error"
    }
    assert errors == {
        ("a.yaml", "case"),
        ("b.jsonl", "case"),
        ("good.yaml", "case"),
        ("c.jsonl", "case"),
        ("s.jsonl", "recording"),
    }


def test_a_suite_without_cases_is_an_error(tmp_path):
    assert the(findings(tmp_path, {}), "empty").severity == "error"


def test_a_link_out_of_the_suite_is_an_error(tmp_path):
    root = make_suite(tmp_path / "s", GOOD)
    (tmp_path / "x.yaml").write_text("", encoding="utf-8")
    (root / "x.yaml").symlink_to(tmp_path / "x.yaml")
    assert the(lint(open_suite(root)), "file").severity == "error"


@pytest.mark.parametrize("name", ["recordings/more.json", "recordings/more.yaml", "tools/x.jsonl"])
def test_a_file_that_is_not_read_although_it_stands_among_tools_or_recordings_is_warned_of(tmp_path, name):
    found = the(findings(tmp_path, {**GOOD, name: "[]"}), "not-read")
    assert found.severity == "warning"
    assert found.problem.path.endswith(name)


def test_findings_are_sorted_by_place(tmp_path):
    found = findings(tmp_path, {"b.yaml": case_yaml("b"), "a.yaml": case_yaml("a")})
    places = [(finding.problem.path, finding.problem.line) for finding in found]
    assert places == sorted(places)


ORDERS = [
    {
        "name": "order",
        "description": "Orders.",
        "parameters": {
            "type": "object",
            "properties": {
                "shop": {"type": "string", "enum": ["Thai Garden", "Soup Bar"]},
                "table": {"type": "integer", "minimum": 1, "maximum": 20},
                "note": {"type": "string"},
                "gift": {"type": "boolean"},
                "paid": {"anyOf": [{"type": "number"}, {"type": "string"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"dish": {"type": "string"}, "count": {"type": "integer"}},
                    },
                },
            },
        },
    },
]


def with_matches(tmp_path, matches, kind="calls"):
    case = COMPLETE.replace("{kind: says, any: [place]}", f"{{kind: {kind}, tool: order, with: {matches}}}")
    rules = ("never-matches", "unknown-parameter")
    return [
        one
        for one in findings(tmp_path, {**GOOD, "good.yaml": case, "tools/order.yaml": json.dumps(ORDERS)})
        if one.rule in rules
    ]


@pytest.mark.parametrize(
    ("matches", "told"),
    [
        ("{tabel: 3}", "the tool order has no parameter 'tabel' (did you mean 'table'?)"),
        ("{table: three}", "found 'three', but the schema allows integer only"),
        ("{table: 2.5}", "found 2.5, but the schema allows integer only"),
        ("{table: 40}", "the schema allows at most 20"),
        ("{table: {op: between, min: 21}}", "the schema allows at most 20"),
        ("{table: {op: between, max: 0}}", "the schema allows at least 1"),
        ("{note: {op: between, min: 3, max: 2}}", "no number is at least 3 and at most 2"),
        (
            "{shop: Thai Gardens}",
            "none of the allowed values fits: 'Thai Garden', 'Soup Bar' (did you mean 'Thai Garden'?)",
        ),
        ("{shop: {op: contains, text: Pizza}}", "none of the allowed values fits"),
        ("{shop: [Pizza Hut, Sushi Bar]}", "none of the allowed values fits"),
        ("{gift: maybe}", "found 'maybe', but the schema allows boolean only"),
        ("{gift: {op: between, min: 1}}", "a value of type boolean can never fulfil between"),
        ("{table: {op: open_at, time: '09:00'}}", "a value of type integer can never fulfil open_at"),
        ("{items: soup}", "found 'soup', but the schema allows array only"),
        ("{items.dish: soup}", "items is a list: it has no 'dish' (write *.dish: that of every element)"),
        ("{items.*.dihs: soup}", "items.* has no 'dihs' (did you mean 'dish'?)"),
        ("{items.*.count: many}", "found 'many', but the schema allows integer only"),
        ("{note.text: soup}", "note is of type string: it has no 'text'"),
    ],
)
@pytest.mark.parametrize("kind", ["calls", "calls, at_most: 0"])
def test_a_match_that_no_call_can_fulfil_is_an_error_at_its_line(tmp_path, matches, told, kind):
    (finding,) = with_matches(tmp_path, matches, kind)
    assert finding.severity == "error"
    assert finding.problem.line == 6
    assert told in str(finding.problem)


@pytest.mark.parametrize(
    "matches",
    [
        "{table: '3'}",
        "{table: 3.0}",
        "{table: {op: between, min: 20}}",
        "{table: [three, 3]}",
        "{table: {op: absent}}",
        "{shop: thai garden}",
        "{shop: {op: contains, text: thai}}",
        "{gift: 'true'}",
        "{note: 7}",
        "{paid: [1]}",
        "{paid.anything: 1}",
        "{tags: {op: contains, text: hot}}",
        "{tags.0: hot}",
        "{items.*.dish: soup, items.0.count: 2}",
        "{items: {op: has, where: {dish: soup, count: {op: between, min: 2}}}}",
        "{items.*.spice: hot}",
        "{table: {op: bound, tool: order, path: table}}",
    ],
)
def test_a_match_that_some_call_can_fulfil_is_none(tmp_path, matches):
    assert with_matches(tmp_path, matches) == []


def test_an_output_that_no_agent_can_give_is_an_error(tmp_path):
    schema = (
        "{type: object, properties: {total: {type: number, minimum: 0}, lines: {type: array, items: {type: string}}}}"
    )
    text = COMPLETE.replace("visible: {", f"visible: {{output_schema: {schema}, ")
    for check, told in (
        ("{kind: output, path: total, equals: much}", "found 'much', but the schema allows number only"),
        ("{kind: output, path: total, equals: -1}", "the schema allows at least 0"),
        ("{kind: output, path: lines.name, equals: x}", "lines is a list: it has no 'name'"),
    ):
        case = text.replace("{kind: says, any: [place]}", check)
        (finding,) = [one for one in findings(tmp_path, {**GOOD, "good.yaml": case}) if one.rule == "never-matches"]
        assert finding.severity == "error"
        assert told in str(finding.problem)


def test_a_suite_without_a_license_loads_with_a_note(tmp_path):
    found = findings(tmp_path, GOOD | {"suite.yaml": MANIFEST.replace("license: MIT\n", "")})
    assert [(one.rule, one.severity) for one in found] == [("no-license", "note")]


def test_the_rules_are_listed_with_severity_and_what_each_looks_at(capsys):
    assert main(["lint", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("never-fails "))
    assert line.split(maxsplit=3) == ["never-fails", "warning", "requirement", "a check holds whatever an agent does"]
    assert {line.split()[0] for line in lines} >= {*RULES, "localsearchbench"}
    assert main(["lint"]) == 2
    assert "name a suite, or give --list" in capsys.readouterr().err


def test_a_finding_is_as_severe_as_the_table_says(tmp_path):
    root = make_suite(tmp_path, {"one.yaml": case_yaml("one"), "more.yaml.bak": "id: two\n"})
    found = lint(open_suite(root), dialogues=True)
    assert {"not-read", "no-oracle"} <= {finding.rule for finding in found}
    assert all(finding.severity == RULES[finding.rule].severity for finding in found)
