"""python -m pytest_mapsat schema: every property is described, whatever the package ships passes, and a wrong key is named."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError

from pytest_mapsat.cli import main
from pytest_mapsat.commands.schemas import NOUNS, schema_of
from pytest_mapsat.formats import parse_yaml

ROOT = Path(__file__).parents[2]
SCHEMAS = {noun: schema_of(noun) for noun in NOUNS}


def properties(schema: dict) -> Iterator[tuple[str, dict]]:
    for name, part in {"": schema, **schema.get("$defs", {})}.items():
        for key, described in part.get("properties", {}).items():
            yield f"{name}.{key}", described


def as_json(document: object) -> object:
    """Return a document as JSON data: YAML 1.1 has dates, too."""
    return json.loads(json.dumps(document, default=lambda day: day.isoformat()))


def problems(noun: str, document: object) -> list[str]:
    """Return the messages of what is wrong, each with its place, those of conditions from within."""

    def leaves(error: ValidationError) -> Iterator[ValidationError]:
        for part in error.context or ():
            yield from leaves(part)
        if not error.context:
            yield error

    found = (leaf for error in Draft202012Validator(SCHEMAS[noun]).iter_errors(document) for leaf in leaves(error))
    return [f"{error.json_path}: {error.message}" for error in found]


def shipped() -> Iterator[tuple[str, Path]]:
    """Yield each YAML file of the suites and examples that the project has, with its noun."""
    for manifest in sorted(
        path for top in ("benchmark_cases", "examples") for path in (ROOT / top).rglob("suite.yaml")
    ):
        yield "suite", manifest
        for path in sorted(manifest.parent.rglob("*.yaml")):
            folder = path.relative_to(manifest.parent).parts[0]
            if path.name == "tools.yaml" or folder == "tools":
                yield "tools", path
            elif folder == "requirements":
                yield "requirements", path
            elif folder not in ("data", "state", "labels", "recordings") and path != manifest:
                yield "case", path
    for path in sorted((ROOT / "examples").rglob("service.yaml")):
        yield "service", path


@pytest.mark.parametrize("noun", NOUNS)
def test_each_property_has_a_description_in_a_sentence_and_an_example_that_fits(noun):
    schema = SCHEMAS[noun]
    undescribed = [name for name, part in properties(schema) if len(part.get("description", "")) < 10]
    assert undescribed == []
    wrong = [
        (name, example)
        for name, part in properties(schema)
        for example in part.get("examples") or [None]
        if not Draft202012Validator({**part, "$defs": schema.get("$defs", {})}).is_valid(example)
    ]
    assert wrong == []


@pytest.mark.parametrize(("noun", "path"), list(shipped()), ids=lambda value: str(value).removeprefix(f"{ROOT}/"))
def test_whatever_the_project_ships_passes_as_it_is_written(noun, path):
    text = path.read_bytes()
    by_yaml_12 = [document.data for document in parse_yaml(text, path.name)]
    by_yaml_11 = [as_json(document) for document in yaml.load_all(text, Loader=yaml.CSafeLoader)]
    assert [problems(noun, document) for document in (*by_yaml_12, *by_yaml_11)] == [[]] * 2 * len(by_yaml_12)


def case(check: object = "a_check", **truth: object) -> dict:
    requirement = {"id": "r", "kind": "asked", "text": "It holds", "check": check}
    return {"id": "c", "visible": {"query": "?"}, "truth": {"requirements": [requirement], **truth}}


CHECK = "$.truth.requirements[0].check"


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ({"kind": "says", "any": ["no"], "anny": 1}, ["Additional properties are not allowed ('anny' was unexpected)"]),
        ({"kind": "state", "tabel": "orders"}, ["'tabel' was unexpected", "'table' is a required property"]),
        ({"kind": "calls", "tool": "t", "with": {"n": {"op": "between", "mni": 1}}}, ["with.n: ", "'mni'"]),
        ({"kind": "not", "check": {"kind": "unchanged", "exept": []}}, [".check.check: ", "'exept'"]),
        ([{"kind": "unchanged"}, {"kind": "says", "alll": ["x"]}], [".check[1]: ", "'alll'"]),
        ({"knid": "says"}, ["'kind' is a required property"]),
    ],
)
def test_a_wrong_key_in_a_check_is_named_with_its_place_and_nothing_else_is(check, wrong):
    found = problems("case", case(check))
    assert all(message.startswith(CHECK) and "is not valid under any" not in message for message in found)
    assert all(any(part in message for message in found) for part in wrong)


def test_a_check_in_python_may_have_any_name_and_arguments():
    assert problems("case", case({"kind": "adds_up", "tolerance": 0.1})) == []


@pytest.mark.parametrize("confirms", [True, False, "yes", "no", {"say": "Yes"}, None])
def test_a_yes_passes_as_a_text_and_as_the_boolean_of_yaml_1_1(confirms):
    assert problems("case", case(user={"confirms": confirms})) == []


def test_words_that_yaml_1_1_reads_as_booleans_pass_where_people_speak():
    answer = {"asked": [True], "say": False, "calls": [{"tool": "t"}], "else": True}
    assert problems("case", case({"kind": "says", "any": [True]}, user={"answers": [answer]})) == []


def test_the_command_prints_the_same_schema(capsys):
    assert main(["schema", "suite"], rare=True) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS["suite"]
