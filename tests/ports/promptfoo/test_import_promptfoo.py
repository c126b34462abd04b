"""mapsat import promptfoo: tests become cases, assertions checks, and what has no counterpart is named with its line."""

import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_mapsat.cli import main
from pytest_mapsat.model import SuiteError
from pytest_mapsat.ports import promptfoo
from pytest_mapsat.ports.promptfoo import import_promptfoo
from pytest_mapsat.suite import lint, open_suite

SHOP = Path(__file__).parent / "shop"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The suite of the shop's tests, with the report of the import."""
    folder = tmp_path_factory.mktemp("promptfoo") / "suite"
    report = import_promptfoo(SHOP, folder)
    suite = open_suite(folder)
    return {entry.id: suite.load(entry) for entry in suite.readable()}, report, folder


def write(folder, text, **files):
    for name, content in {"promptfooconfig.yaml": text, **files}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def checks(case):
    return [
        requirement.check.model_dump(mode="json", exclude_defaults=True, by_alias=True) if requirement.check else None
        for requirement in case.truth.requirements
    ]


def test_a_configuration_becomes_a_suite_that_lints_without_errors(shop) -> None:
    cases, report, folder = shop
    assert not [finding for finding in lint(open_suite(folder)) if finding.severity == "error"]
    assert report.cases == len(cases) == 23
    assert report.not_carried == {"assertions": 7, "providers": 1, "scenarios": 1, "tests": 4}


def test_what_is_refused_is_named_with_its_line(shop) -> None:
    told = [(note.place, note.message) for note in shop[1].notes if note.kind == "refused"]
    lines = (SHOP / "promptfooconfig.yaml").read_text(encoding="utf-8").splitlines()
    for place, words in told:
        name, _, line = place.partition(":")
        assert words.endswith("left out")
        assert name == "more.csv" or lines[int(line) - 1].strip()
    messages = "\n".join(f"{place}: {message}" for place, message in told)
    for words in (
        "more.csv:6: similar measures likeness",
        "regex has a pattern that RE2 does not read",
        "python runs code of the configuration",
        "cost is a ceiling of a run here",
        "names 'file://../../../../pyproject.toml', which is not in the folder of the configuration",
        "the test has no assertion",
        "only names of variables are filled in",
        "transforms the output",
        "scenarios are not read: write their tests out",
        "assert-set is a set of assertions: write them out",
    ):
        assert words in messages


@pytest.mark.parametrize(
    ("name", "number", "check"),
    [
        ("hours", 1, {"kind": "matches", "pattern": "9\\:00"}),
        ("exact-answer", 1, {"kind": "matches", "pattern": "\\AYes\\z"}),
        ("greeting", 1, {"kind": "matches", "pattern": "\\AHello"}),
        ("slash-pattern", 1, {"kind": "matches", "pattern": "(?i)call \\d+"}),
        ("order-as-data", 1, {"kind": "output"}),
        ("any-data", 1, {"kind": "output", "equals": {"op": "present"}}),
        ("no-promise", 2, None),
        (
            "looks-the-price-up",
            3,
            {"kind": "calls", "tool": "find_item", "with": {"name": {"op": "equal", "value": "black tea"}}},
        ),
        ("never-orders-by-itself", 1, {"kind": "not", "check": {"kind": "calls", "tool": "place_order"}}),
        ("sizes-2", 1, {"kind": "matches", "pattern": "(?i)large"}),
        ("from-a-file", 1, {"kind": "matches", "pattern": "Sunday"}),
        (
            "breads",
            1,
            {"kind": "all", "checks": [{"kind": "matches", "pattern": "rye"}, {"kind": "matches", "pattern": "wheat"}]},
        ),
    ],
)
def test_each_assertion_is_the_check_that_asks_the_same(shop, name, number, check) -> None:
    case = shop[0][name]
    assert checks(case)[0] == {"kind": "not", "check": {"kind": "matches", "pattern": "(?i)as an AI"}}
    assert checks(case)[number] == check


def test_queries_are_prompts_with_their_variables(shop) -> None:
    cases = shop[0]
    assert cases["hours"].visible.query == "When does Corner Shop open?"
    assert cases["sizes-2"].visible.query == "Do you have large cups?"
    assert cases["from-a-file"].visible.query == "Is the shop open on Sundays?"
    assert cases["order-as-data"].visible.output_schema["required"] == ["items"]
    assert Counter(case.attributes["assertions"] for case in cases.values()) == {"all": 17, "some": 6}


def test_the_suite_judges_an_agent(shop, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        clerk="def agent(message, tools):\n    return 'Yes' if message.startswith('Answer') else 'We open at 9:00, rye and wheat.'"
    )
    result = pytester.runpytest(
        "--mapsat-cases",
        str(shop[2]),
        "--mapsat-agent=clerk:agent",
        "-k",
        "hours or exact or breads or greeting",
        "-p",
        "no:cacheprovider",
    )
    result.assert_outcomes(passed=3, failed=1)


def test_messages_and_several_prompts(tmp_path) -> None:
    text = "prompts: [file://chat.json, file://say.txt, file://parts.txt, file://run.py]\ntests: [{description: one, vars: {q: Tea?}, assert: [{type: contains, value: tea}]}]\n"
    chat = json.dumps(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "{{q}}"},
        ]
    )
    write(
        tmp_path,
        text,
        **{
            "chat.json": chat,
            "say.txt": "Say: {{q}}\n",
            "parts.txt": "Say: {{q}}\n---\nAsk: {{q}}\n",
            "run.py": "boom",
        },
    )
    report = import_promptfoo(tmp_path, tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    first, *rest = [suite.load(entry).visible for entry in suite.readable()]
    assert (first.query, first.instructions, first.context.history) == (
        "Tea?",
        "Be brief.",
        ("user: Hi", "assistant: Hello"),
    )
    assert [visible.query for visible in rest] == ["Say: Tea?"]
    assert report.not_carried == {"prompts": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds 0 documents"),
        ("[1, 2]", "expected the keys prompts and tests"),
        ("tests: []", "holds no tests"),
        ("tests: file://missing.yaml", "names 'file://missing.yaml', which is no file"),
        ("tests: /etc/passwd", "not in the folder"),
        ("tests: [{vars: {prompt: x}, assert: [{type: wonder}]}]", "wonder has no counterpart"),
        ("tests: [{vars: {prompt: x}, assert: &a [{type: contains, value: x}]}]", "anchor"),
        (
            "tests: [{vars: {prompt: '{% for x in y %}'}, assert: [{type: contains, value: '{% x %}'}]}]",
            "has a loop, a condition",
        ),
        ("tests: [7]\n", "found 7, expected a test"),
        (
            "defaultTest: file://default.yaml\ntests: [{vars: {prompt: x}}]",
            "1: defaultTest: found 'file://default.yaml'",
        ),
        (
            "tests: [{vars: {prompt: [x, y]}, options: {disableVarExpansion: true}, assert: [{type: contains, value: x}]}]",
            "keeps lists of values whole",
        ),
        ("prompts: ['']\ntests: [{assert: [{type: contains, value: x}]}]", "the prompt is empty"),
    ],
)
def test_what_gives_no_case_is_refused_with_the_reason(text, message, tmp_path) -> None:
    with pytest.raises(SuiteError) as refused:
        import_promptfoo(write(tmp_path, text), tmp_path / "suite")
    assert message in str(refused.value)
    assert not (tmp_path / "suite").exists()


def test_a_link_out_of_the_folder_is_not_followed(tmp_path) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    write(folder, "tests: [{vars: {prompt: file://link.txt}, assert: [{type: contains, value: x}]}]")
    with pytest.raises(SuiteError, match="not in the folder"):
        import_promptfoo(folder, tmp_path / "suite")


def test_variables_multiply_to_a_limit(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(promptfoo, "_MOST", 20)
    several = ", ".join(f"v{number}: [a, b, c, d, e, f, g, h, i, j]" for number in range(6))
    text = f"prompts: [x]\ntests: [{{vars: {{{several}}}, assert: [{{type: contains, value: x}}]}}]"
    report = import_promptfoo(write(tmp_path, text), tmp_path / "suite")
    assert report.cases == 20
    assert report.not_carried == {"cases": 1}


def test_the_command_tells_what_came_over(tmp_path, capsys) -> None:
    assert main(["import", "promptfoo", str(SHOP), str(tmp_path / "suite")]) == 0
    told = capsys.readouterr().out
    assert "23 cases, 3 tools" in told
    assert "not carried over: 7 assertions" in told


@pytest.mark.parametrize(
    ("name", "why"),
    [("a" * 5000, "is no name of a file"), ("a\\0b", "is no name of a file"), ("circle", "is no name of a file")],
    ids=["too long", "null byte", "link to itself"],
)
def test_a_name_that_no_file_can_have_is_refused_in_prompts_variables_and_tests(name, why, tmp_path) -> None:
    (tmp_path / "circle.txt").symlink_to("circle.txt")
    asserted = 'assert: [{type: contains, value: "x"}]'
    write(
        tmp_path,
        f'prompts: ["file://{name}.txt", "Ask {{{{q}}}}"]\n'
        f'tests:\n  - {{vars: {{q: "file://{name}.txt"}}, {asserted}}}\n  - "file://{name}.txt"\n  - {{vars: {{q: hi}}, {asserted}}}\n',
    )
    report = import_promptfoo(tmp_path, tmp_path / "suite")
    assert report.cases == 1
    assert sum(why in note.message for note in report.notes) == 3


def test_variables_that_multiply_are_refused_before_they_fill_the_memory(tmp_path) -> None:
    tenfold = {chr(97 + step): f"{{{{{chr(98 + step)}}}}}" * 1000 for step in range(4)}
    test = {"vars": {**tenfold, "e": "x"}, "assert": [{"type": "contains", "value": "x"}]}
    write(tmp_path, json.dumps({"prompts": ["{{a}}"], "tests": [test]}))
    with pytest.raises(SuiteError, match="variables that come to more than 2,000,000 characters"):
        import_promptfoo(tmp_path, tmp_path / "suite")
    assert not (tmp_path / "suite").exists()


def test_a_file_of_values_that_names_itself_is_read_once(tmp_path) -> None:
    test = {"vars": {"q": "hi"}, "assert": [{"type": "contains-any", "value": "file://values.json"}]}
    write(
        tmp_path,
        json.dumps({"prompts": ["{{q}}"], "tests": [test]}),
        **{"values.json": '["file://values.json", "{{q}}"]'},
    )
    import_promptfoo(tmp_path, tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    (case,) = (suite.load(entry) for entry in suite.readable())
    assert [check["pattern"] for check in checks(case)[0]["checks"]] == ["file\\:\\/\\/values\\.json", "hi"]


def test_odd_numbers_and_open_braces_cost_no_time_and_no_traceback(tmp_path) -> None:
    test = {"assert": [{"type": "javascript", "value": "1" * 5000}, {"type": "contains", "value": "x"}]}
    write(tmp_path, json.dumps({"prompts": ["{{" * 20_000, "{{" + " " * 20_000], "tests": [test]}))
    report = import_promptfoo(tmp_path, tmp_path / "suite")
    assert (report.cases, report.not_carried) == (2, {"assertions": 1})


def test_a_tool_of_which_only_the_name_is_told_is_described_by_recording_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    asserted = "[{type: 'trajectory:tool-used', value: get_order}]"
    (tmp_path / "p.yaml").write_text(
        f"prompts: ['Where is order 17?']\nproviders: [x]\ntests: [{{assert: {asserted}}}]\n"
    )
    (tmp_path / "promptfoo_shop_tools.py").write_text(
        'def get_order(id: int) -> dict:\n    """Look an order up."""\n    return {"status": "shipped"}\n\ntools = [get_order]\n'
    )
    (tmp_path / "promptfoo_asking.py").write_text(
        "def agent(message, tools):\n    return f\"It is {tools.get_order(id=17)['status']}.\"\n"
    )
    assert main(["import", "promptfoo", "p.yaml", "suite"]) == 0
    assert "mapsat record TOOLS" in (tmp_path / "suite" / "import.json").read_text()
    assert main(["lint", "suite"]) == 0
    assert "the tool get_order has no recording: every call misses" in capsys.readouterr().out
    assert main(["record", "promptfoo_shop_tools:tools", "--suite", "suite", "--agent", "promptfoo_asking:agent"]) == 0
    told = capsys.readouterr().out
    assert "suite/tools/get_order.yaml: new, described from its signature" in told
    assert "1 recording added" in told
    assert main(["lint", "suite"]) == 0
    assert "every call misses" not in capsys.readouterr().out
    # What somebody has described, by recording or by hand, stays.
    assert main(["record", "promptfoo_shop_tools:tools", "--suite", "suite", "--agent", "promptfoo_asking:agent"]) == 0
    assert "described from its signature" not in capsys.readouterr().out
