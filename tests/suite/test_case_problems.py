"""What is wrong with a case is said with file, line, path, found, expected, and did you mean."""

import pytest
from suite_maker import TOOLS, case_line, case_yaml, make_suite

from pytest_mapsat.model import SuiteError
from pytest_mapsat.suite import open_suite


def problems_of(root, text, name="a.yaml"):
    suite = open_suite(make_suite(root, {name: text}))
    with pytest.raises(SuiteError) as caught:
        list(map(suite.load, suite.entries(root / name)))
    return caught.value.problems


def problem_of(root, text):
    (problem,) = problems_of(root, text)
    return problem


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "hint"),
    [
        ("query:", "qurey:", 4, "visible.qurey: is not a known field", "did you mean 'query'?"),
        ("    now: 2026-05-07T12:30:00+08:00", "    now: noon", 6, "visible.context.now: found 'noon', expected a moment such as", ""),
        ("query: somewhere to eat", "query: 2000", 4, "visible.query: found 2000, expected text", "put it in quotes"),
        ("query: somewhere to eat", "query:", 4, "visible.query: found nothing (null), expected text", ""),
        ("query: somewhere to eat", "query: [a]", 4, "visible.query: found a list, expected text", ""),
        ("domains: [search]", "domains: search", 2, "domains: found 'search', expected a list", ""),
        ("domains: [search]", "domains: [serch]", 2, "domains[0]: the manifest has no domain 'serch'; it has: search, navigation", "did you mean 'search'?"),
        ("id: a", "id: a b", 1, "id: found 'a b', expected 1 to 80 of A-Z", ""),
        ("id: a", "id: a-t1", 1, "id: 'a-t1' ends like the mark of a trial", "choose another end"),
        ("id: e1", "id:", 9, "truth.requirements[0].id: found nothing (null), expected text", ""),
        ("kind: asked", "severity: hard", 10, "truth.requirements[0].severity: is not a known field, and kind is missing", "known fields: "),
        ("kind: asked", "kind: aksed", 10, "truth.requirements[0].kind: found 'aksed', expected one of asked, hard, soft, fact, policy", "did you mean 'asked'?"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_explained(tmp_path, old, new, line, message, hint):  # noqa: PLR0917  a table
    problem = problems_of(tmp_path, case_yaml("a").replace(old, new))[-1]
    assert problem.path.endswith("a.yaml")
    assert problem.line == line
    assert problem.message.startswith(message)
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("check", "message", "hint"),
    [
        ("{kind: sayd, any: [x]}", "check.kind: found 'sayd', expected one of addressed, all, any", "did you mean 'says'?"),
        ("{any: [x]}", "check.kind: is missing", ""),
        ("{kind: says, any: [x], trun: last}", "check.trun: is not a known field", "did you mean 'turn'?"),
        ("{kind: says, any: [x], turn: lst}", "check.turn: found 'lst', expected one of any, first, last, since_event, a number from 1", "did you mean 'last'?"),
        ("{kind: recommends, tool: a}", "check: recommends needs any_of", ""),
        ("{kind: recommends, only: true, none_of: [a]}", "check: only needs any_of or where", ""),
        ("{kind: recommends, any_of: [a], at_least: 2}", "check: at_least and at_most count things of all_of", ""),
        ("{kind: calls, tool: a, steps: [b]}", "check: give tool, or steps", ""),
        ("{kind: calls, steps: [b], agreed: true}", "check: agreed belong to a tool", ""),
        ("{kind: output, path: a}", "check: path needs equals, or id and tool", ""),
        ("{kind: says}", "check: says needs phrases in any, all or none", ""),
        ("{kind: says, any: [1]}", "check.any[0]: found 1, expected text", "put it in quotes"),
        ("{kind: not, check: {kind: says, any: x}}", "check.check.any: found 'x', expected a list", ""),
        ("{kind: any, checks: [{kind: recommends, all_of: [[a]], at_lest: 1}]}", "check.checks[0].at_lest: is not a known field", "did you mean 'at_least'?"),
        ("{kind: any, checks: []}", "check.checks: found a list of 0, expected at least 1", ""),
        ("{kind: number, unit: mile, min: 1}", "check.unit: found 'mile', expected one of m, km", ""),
        ("{kind: number, unit: m, min: few}", "check.min: found 'few', expected a number", ""),
        ("{kind: clock_time, after: 25:00}", "check.after: found '25:00', expected a time of day such as 18:30", ""),
        ("{kind: calls, tool: fnd}", "check.tool: the suite has no tool 'fnd'", "did you mean 'find'?"),
        ("{kind: calls, tool: find, with: {query: {op: equals, value: 1}}}", "check.with.query.op: found 'equals', expected one of equal, one_of", "did you mean 'equal'?"),
        ("{kind: calls, tool: find, with: {query: {op: equal, valu: 1, value: 2}}}", "check.with.query.valu: is not a known field", "did you mean 'value'?"),
        ("{kind: recommends, only: true, where: {status: {opp: equal, value: 1}}}", "check.where.status.opp: is not a known field", "did you mean 'op'?"),
        ("{kind: recommends, only: true, where: {status: {value: 1}}}", "check.where.status.op: is missing", "it says which sort this is"),
        ("{kind: recommends, only: true, where: {status: []}}", "check.where.status: found a list of 0, expected at least 1", ""),
        ("{kind: state, table: t, where: {id: {op: eqal, value: 1}}}", "check.where.id.op: found 'eqal', expected one of equal", "did you mean 'equal'?"),
        ("{kind: calls, steps: [find, {tool: find, with: {query: {op: equal}}}]}", "check.steps[1].with.query.value: is missing", ""),
        ("{kind: output, path: a, equals: {op: between, min: x}}", "check.equals.min: found 'x', expected a number", ""),
        ("{kind: output}", "check.kind: the case has no schema that an output could fit", "add visible.output_schema"),
        ("{kind: matches, pattern: '(a'}", "check.pattern: found '(a', expected a regular expression in RE2's syntax: missing ): (a", ""),
        ("{kind: matches, pattern: '(?=a)'}", "check.pattern: found '(?=a)', expected a regular expression in RE2's syntax: invalid", ""),
        ("{kind: number, unit: m, equals: [{op: bound, tool: find}]}", "check.equals[0].path: is missing", ""),
        ("{kind: recommends, only: true, any_of: [x], tool: zzz}", "check.tool: the suite has no tool 'zzz'", "known tools: find, route"),
        ("{kind: all, checks: [{kind: recommends, none_of: [x], tool: rout}]}", "check.checks[0].tool: the suite has no tool 'rout'", "did you mean 'route'?"),
        ("{kind: number, unit: m, equals: {op: bound, tool: rte, path: a}}", "check.equals.tool: the suite has no tool 'rte'", ""),
    ],
)  # fmt: skip
def test_a_wrong_check_is_explained(tmp_path, check, message, hint):
    problem = problem_of(tmp_path, case_yaml("a") + f"      check: {check}\n")
    assert problem.line == 12
    assert problem.message.startswith(f"truth.requirements[0].{message}")
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("  tools: [{name: fnd}]", "truth.tools[0].name: the suite has no tool 'fnd'"),
        ("  oracle: [{say: x, calls: [{tool: fnd}]}]", "truth.oracle[0].calls[0].tool: the suite has no tool 'fnd'"),
        ("    - {id: e1, kind: hard, text: x, weight: 1}", "truth: two requirements have the id 'e1'"),
        ("    - {id: f1, kind: fact, text: x, weight: 1}", "truth.requirements[1].weight: only hard and soft requirements have it, and this is of kind fact"),
        ("    - {id: h1, kind: hard, text: x, levels: [{level: 1, check: {kind: asked}}]}", "truth.requirements[1]: a hard requirement holds or not"),
        ("  clarification: {max_turns: -1}", "truth.clarification.max_turns: found -1: "),
        ("    - {id: p1, kind: policy, text: x, scope: answer}", "truth.requirements[1].scope: found 'answer', expected trajectory"),
        ("  tools: [{name: find, id: a}, {name: find, id: a}]", "truth.tools[1].id: another expected tool has the id 'a'"),
        ("  tools: [{name: find, id: there, after: [thre]}]", "truth.tools[0].after[0]: no expected tool has the id or name 'thre'"),
        ("  tools: [{name: find}, {name: find}, {name: route, after: [find]}]", "truth.tools[2].after[0]: several expected tools are 'find'"),
        ("  tools: [{name: find, after: [route]}, {name: route, after: [find]}]", "truth.tools[0].after: goes in a circle: find after route after find"),
        ("  tools: [{name: find, id: a, after: [a]}]", "truth.tools[0].after: goes in a circle: a after a"),
        ("  tools: [{name: find, evidence: [e2]}]", "truth.tools[0].evidence[0]: the case has no requirement 'e2'"),
        ("  tools: [{name: find, match: {query: {op: within, text: a}}}]", "truth.tools[0].match.query.op: found 'within'"),
    ],
)  # fmt: skip
def test_a_wrong_truth_is_explained(tmp_path, more, message):
    problem = problem_of(tmp_path, case_yaml("a") + f"{more}\n")
    assert problem.message.startswith(message)
    assert problem.line == (7 if message.startswith("truth: ") else 12)


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("explicit", "kind: asked"),
        ("implicit", "kind: hard or kind: soft"),
        ("hard", "kind: hard"),
        ("soft", "kind: soft"),
        ("facts", "kind: fact"),
        ("policies", "kind: policy"),
    ],
)
def test_a_list_of_one_kind_is_refused_with_the_form_of_today(tmp_path, key, kind):
    (problem,) = problems_of(tmp_path, case_yaml("a") + f"  {key}: [{{id: z1, text: x}}]\n")
    assert (problem.line, problem.message) == (12, f"truth.{key}: is now requirements, with {kind}")


def test_an_output_of_the_truth_that_the_case_does_not_ask_for_is_explained(tmp_path):
    asks = "{type: object, required: [plan], properties: {intent: {enum: [route, search]}, plan: {}}}"
    text = case_yaml("a").replace("visible:\n", f"visible:\n  output_schema: {asks}\n", 1)
    wrong, stray = problems_of(tmp_path, text + "  output:\n    intent: rout\n    plant: []\n")
    assert wrong.message.startswith("truth.output.intent: found 'rout', expected one of ['route', 'search'] (did you")
    assert (stray.message, stray.hint) == (
        "truth.output.plant: the case does not ask for this",
        "did you mean 'plan'?",
    )
    assert (wrong.line, stray.line) == (14, 15)


def test_all_problems_of_a_file_are_reported_up_to_a_limit(tmp_path):
    three = case_yaml("a").replace("query", "qurey").replace("now:", "nwo:")
    assert len(problems_of(tmp_path / "one", three)) == 2, "a misspelt field is not told as missing, too"
    many = "---\n".join(case_yaml(f"c{n}").replace("query", "qurey") for n in range(30))
    assert len(problems_of(tmp_path / "two", many)) == 20


def test_a_parameter_that_a_tool_does_not_have_does_not_keep_a_case_from_loading(tmp_path):
    text = case_yaml("a") + "  tools: [{name: find, required: [qwery]}]\n"
    suite = open_suite(make_suite(tmp_path, {"a.yaml": text}))
    assert suite.load(suite.entries(tmp_path / "a.yaml")[0]).truth.tools[0].required == ("qwery",)


def test_a_case_in_jsonl_is_validated_when_it_is_loaded(tmp_path):
    line = case_line("a", domains=["search"]).replace('"text"', '"txet"')
    problems = problems_of(tmp_path, "\n" + line, "a.jsonl")
    assert {problem.line for problem in problems} == {2}
    assert any("truth.requirements[0].txet: is not a known field" in problem.message for problem in problems)


def test_an_unknown_domain_in_jsonl_is_found_when_the_case_is_loaded(tmp_path):
    (problem,) = problems_of(tmp_path, case_line("a", domains=["serch"]), "a.jsonl")
    assert problem.message.startswith("domains[0]: the manifest has no domain 'serch'")


def test_an_id_that_stands_twice_is_reported_with_both_places(tmp_path):
    suite = open_suite(make_suite(tmp_path, {"a.yaml": case_yaml("x"), "b.jsonl": case_line("y") + case_line("x")}))
    suite.entries(tmp_path / "a.yaml")
    with pytest.raises(SuiteError) as caught:
        suite.entries(tmp_path / "b.jsonl")
    (problem,) = caught.value.problems
    assert (problem.path.endswith("b.jsonl"), problem.line) == (True, 2)
    assert problem.message.startswith("the id 'x' is taken: ")
    assert problem.message.endswith("a.yaml:1 has it")


def test_an_id_that_stands_twice_in_one_file_is_reported_with_both_lines(tmp_path):
    (problem,) = problems_of(tmp_path, case_line("x") + case_line("x"), "b.jsonl")
    assert problem.line == 2
    assert problem.message.endswith("b.jsonl:1 has it")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (TOOLS, "a tool belongs in tools/ or tools.yaml"),
        ("{case: a, tool: b, arguments: {}, result: 1}", "recordings belong in recordings/*.jsonl"),
        ("{name: x, schema_version: 1}", "the manifest is the file suite.yaml"),
        ("{services: {web: 1}}", "every YAML and JSONL file below a suite's folder holds cases"),
        ("plain text", "every YAML and JSONL file below a suite's folder holds cases"),
    ],
)
def test_a_file_of_something_else_says_where_that_belongs(tmp_path, text, hint):
    problem = problems_of(tmp_path, text)[0]
    assert problem.message.startswith("this is not a case")
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("name", "text"), [("a.yaml", "# nothing yet\n"), ("a.yaml", "---\n"), ("a.jsonl", "\n\n"), ("a.yaml", "[]")]
)
def test_a_file_without_a_case_says_so(tmp_path, name, text):
    (problem,) = problems_of(tmp_path, text, name)
    assert problem.message == "the file has no case"


SCHEMA = "{type: object, properties: {total: {type: number}, items: {type: array, items: {type: object, properties: {id: {}}}}}}"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("totl", "did you mean 'total'?"),
        ("price", "there are: total, items"),
        ("items.*.ids", "did you mean 'id'?"),
        ("total", None),
        ("items.*.id", None),
        ("items.0.id", None),
    ],
)
def test_a_path_that_no_output_of_the_case_has_is_explained(tmp_path, path, hint):
    text = case_yaml("a").replace("visible:\n", f"visible:\n  output_schema: {SCHEMA}\n", 1)
    text += f"      check: {{kind: output, path: {path}, equals: 1}}\n"
    if hint is None:
        suite = open_suite(make_suite(tmp_path, {"a.yaml": text}))
        assert [suite.load(entry).id for entry in suite.entries(tmp_path / "a.yaml")] == ["a"]
        return
    problem = problem_of(tmp_path, text)
    assert problem.message == f"truth.requirements[0].check.path: visible.output_schema has no {path!r}"
    assert (problem.line, problem.hint) == (13, hint)
