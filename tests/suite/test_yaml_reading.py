"""YAML is JSON with comments: what scalars mean, and what is refused, seen through the entries of a suite."""

import string

import pytest
from generated import generated
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from suite_maker import case_yaml, make_suite

from pytest_mapsat.model import Case, SuiteError
from pytest_mapsat.suite import open_suite

ANY_FOLDER = generated(60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def load_case(root, text):
    suite = open_suite(make_suite(root, {"a.yaml": text}))
    (entry,) = suite.entries(root / "a.yaml")
    return suite.load(entry)


def problems_of(root, content):
    suite = open_suite(make_suite(root, {"a.yaml": content}))
    with pytest.raises(SuiteError) as caught:
        suite.entries(root / "a.yaml")
    return caught.value.problems


def with_call(argument):
    return (
        case_yaml("a")
        + f"  oracle:\n    - say: hello\n      calls:\n        - {{tool: find, arguments: {{query: {argument}}}}}\n"
    )


def argument_of(root, written):
    return load_case(root, with_call(written)).truth.oracle[0].calls[0].arguments["query"]


@pytest.mark.parametrize(
    "text",
    [
        "12:30",
        "on",
        "off",
        "yes",
        "no",
        "2026-05-07",
        "0o7",
        "0x1F",
        "1_000",
        "017",
        "~",
        "True",
        "NULL",
        ".5",
        "1.",
        ".inf",
        ".nan",
        "+1",
        "=",
    ],
)
def test_text_that_yaml_1_1_would_turn_into_something_else_stays_text(tmp_path, text):
    assert argument_of(tmp_path, text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2000", 2000),
        ("1.5", 1.5),
        ("-3", -3),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("null", None),
        ("", None),
    ],
)
def test_json_scalars_mean_what_they_mean_in_json(tmp_path, text, value):
    found = argument_of(tmp_path, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["2000", "true", "null", "", "1.5"])
def test_quoted_scalars_are_text(tmp_path, text):
    assert argument_of(tmp_path, f'"{text}"') == text


@ANY_FOLDER
@given(
    st.text(string.ascii_letters + string.digits + "_.:+-", min_size=1, max_size=12).filter(
        lambda text: text.strip(".:+-")
    )
)
def test_a_plain_scalar_is_a_json_value_or_its_own_text(tmp_path_factory, text):
    if text.endswith(":") or text[0] in "-:":  # YAML's own syntax
        text = f"x{text}x"
    root = tmp_path_factory.mktemp("suite")
    found = argument_of(root, text)
    assert (str(found) == text) or isinstance(found, (bool, int, float)) or found is None
    if isinstance(found, str):
        assert found == text


@pytest.mark.parametrize(
    "written",
    ["!!str 5", "!!python/object/apply:os.system [ls]", "&a x", "*a", "!thing x"],
)
def test_tags_anchors_and_aliases_are_refused_with_their_line(tmp_path, written):
    problem = problems_of(tmp_path, with_call(written))[0]
    assert problem.line == 15
    assert ("tag" in problem.message) or ("anchor" in problem.message) or ("alias" in problem.message)


def test_an_alias_bomb_is_refused_without_being_expanded(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "anchor or alias" in problems_of(tmp_path, "\n".join(lines))[0].message


def test_a_key_that_stands_twice_is_refused_with_both_lines(tmp_path):
    problem = problems_of(tmp_path, case_yaml("a") + "id: b\n")[0]
    assert problem.line == 12
    assert "'id' occurs twice; first on line 1" in problem.message


def test_all_duplicate_keys_of_a_file_are_reported(tmp_path):
    assert len(problems_of(tmp_path, case_yaml("a") + "id: b\nid: c\ndomains: []\n")) == 3


def test_deep_nesting_is_refused_and_does_not_exhaust_the_stack(tmp_path):
    assert "deep" in problems_of(tmp_path, "[" * 100_000)[0].message


def test_a_byte_order_mark_and_windows_line_ends_are_tolerated(tmp_path):
    text = "\ufeff" + case_yaml("a").replace("\n", "\r\n")
    suite = open_suite(make_suite(tmp_path, {"a.yaml": text.encode()}))
    assert [entry.id for entry in suite.entries(tmp_path / "a.yaml")] == ["a"]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"id: a\nname: \xff\xfe\n", 2, "not UTF-8"),
        (b"id: a\nx: \0\n", 2, "NUL"),
        (b"id: a\n\tx: 1\n", 2, "not valid YAML"),
        (b"id: 'a\n", 2, "not valid YAML"),
        (b"? [a]\n: b\n", 1, "a key is a list or a mapping"),
        (b"id: " + b"9" * 1000, 1, "a number of 1000 characters"),
        (b"id: 1e999", 1, "too large"),
        (b"x" * (16 * 1024 * 1024 + 1), 0, "is larger than"),
    ],
    ids=["latin", "nul", "tab", "open-quote", "complex-key", "long-number", "infinite", "large-file"],
)
def test_what_is_not_plain_yaml_text_is_refused_with_its_line(tmp_path, content, line, words):
    problem = problems_of(tmp_path, content)[0]
    assert words in problem.message
    assert problem.line == line
    assert problem.path.endswith("a.yaml")


def test_one_case_a_list_of_cases_and_several_documents_may_stand_in_a_file(tmp_path):
    listed = "".join(f"- {line}\n" if not n else f"  {line}\n" for n, line in enumerate(case_yaml("b").splitlines()))
    text = f"{case_yaml('a')}---\n{listed}---\n{case_yaml('c')}"
    suite = open_suite(make_suite(tmp_path, {"a.yaml": text}))
    entries = suite.entries(tmp_path / "a.yaml")
    assert [(entry.id, entry.line) for entry in entries] == [("a", 1), ("b", 13), ("c", 25)]
    assert [suite.load(entry).id for entry in entries] == ["a", "b", "c"]


def test_the_pure_python_loader_reads_the_same(tmp_path, monkeypatch):
    import yaml

    text = with_call("12:30")
    fast = load_case(tmp_path / "fast", text)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    slow = load_case(tmp_path / "slow", text)
    assert isinstance(fast, Case)
    assert fast == slow


def test_a_key_is_text_whatever_it_looks_like(tmp_path):
    case = load_case(tmp_path, case_yaml("a") + "attributes: {1: one, true: 'yes', no: 'no'}\n")
    assert case.attributes == {"1": "one", "true": "yes", "no": "no"}
