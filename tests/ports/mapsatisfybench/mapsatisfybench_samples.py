"""The borrowed recordings and dialogues, read as the sandbox needs them. Skips where they are absent."""

import gzip
import json
from collections import defaultdict
from functools import cache
from importlib.resources import files

import yaml
from tests_data import data_dir

from pytest_mapsat.model import Recording, Tool


@cache
def tools():
    text = files("pytest_mapsat").joinpath("ports/mapsatisfybench/tools.yaml").read_text(encoding="utf-8")
    return {spec["name"]: Tool.model_validate(spec) for spec in yaml.safe_load(text)}


def _result(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def _recording(line):
    arguments = {"uid" if name == "adiu" else name: value for name, value in line["arguments"].items()}
    return Recording(case=line["trace_id"], tool=line["tool"], arguments=arguments, result=_result(line["result"]))


@cache
def recordings():
    """Recordings by full case id."""
    found = defaultdict(list)
    with gzip.open(data_dir() / "mapsatisfybench" / "tool_records.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            recording = _recording(json.loads(line))
            found[recording.case].append(recording)
    return dict(found)


@cache
def calls():
    """All recorded calls: (case id, turn index, tool, arguments)."""
    path = data_dir() / "mapsatisfybench" / "trajectories_gpt53.jsonl"
    return [
        (line["case_id"], turn["turn_index"], call["name"], call["arguments"])
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for turn in line["turns"]
        for call in turn.get("tool_calls") or ()
    ]
