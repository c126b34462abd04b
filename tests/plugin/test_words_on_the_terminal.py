"""What pytest prints for us: no word of a file, a service or an agent steers the terminal or is a command."""

import json
from xml.etree import ElementTree as ET

import pytest
import tiny_suite
from hostile_words import EVIL, raw_of
from saved_runs import run_data

KEY = json.dumps(EVIL)
FILES = {
    "suite.yaml": f"{tiny_suite.MANIFEST}{KEY}: 1\n",
    "nav/z.yaml": f"id: z\n{KEY}: 1\n",
    "nav/z\x1b[31m.yaml": "id: z\n",
    "nav/z.jsonl": json.dumps({"id": "z", EVIL: 1}) + "\n",
    "tools/search_poi.yaml": f"{tiny_suite.TOOL}{KEY}: 1\n",
    "recordings/z.jsonl": json.dumps({"case": "nav-one", "tool": "search_poi", EVIL: 1}) + "\n",
}
RECORDED = json.dumps({"case_id": EVIL, "turns": []}) + "\n"
SPECS = {
    "recorded:f.jsonl": RECORDED,
    "http:f.yaml": f"url: http://127.0.0.1:9\n{KEY}: 1\n",
    "f:agent": f"raise ValueError({EVIL!r})",
    "f:raises": f"def raises(message): raise ValueError({EVIL!r})",
    "f:down": f"from pytest_mapsat import Unavailable\ndef down(message): raise Unavailable({EVIL!r})",
    "f:says": f"def says(message): return {EVIL!r}",
}
OPTIONS = {
    "--mapsat-compare=f.json": json.dumps(run_data(**{EVIL: 1})),
    "--mapsat-resume=f.journal": json.dumps({"schema": "mapsat-journal/1", EVIL: 1}) + "\n",
    "--mapsat-judge=recorded:f.json": json.dumps({EVIL: 1}),
}


def printed_by(project: pytest.Pytester, *options: str) -> str:
    result = project.runpytest("--junitxml=j.xml", *options)
    assert result.ret != pytest.ExitCode.INTERNAL_ERROR
    return f"{result.stdout.str()}\n{result.stderr.str()}"


@pytest.mark.parametrize("name", FILES)
def test_no_word_of_a_suite_reaches_the_terminal_raw(project: pytest.Pytester, name: str) -> None:
    (project.path / "benchmark_cases" / name).write_text(FILES[name], encoding="utf-8")
    text = printed_by(project, "--mapsat-agent=good:agent")
    assert raw_of(text) == []
    assert "set-output" in text or "x1b[31m" in text


@pytest.mark.parametrize("spec", SPECS)
def test_no_word_of_an_agent_reaches_the_terminal_raw(project: pytest.Pytester, spec: str) -> None:
    suffix = {"recorded": ".jsonl", "http": ".yaml"}.get(spec.partition(":")[0], ".py")
    (project.path / f"f{suffix}").write_text(SPECS[spec], encoding="utf-8")
    text = printed_by(project, f"--mapsat-agent={spec}")
    assert raw_of(text) == []
    assert "set-output" in text
    if suffix == ".py" and spec != "f:agent":
        told = [*ET.parse(project.path / "j.xml").getroot().itertext()]
        told += [value for node in ET.parse(project.path / "j.xml").iter() for value in node.attrib.values()]
        assert raw_of("\n".join(told)) == []


@pytest.mark.parametrize("option", OPTIONS)
def test_no_word_of_another_file_reaches_the_terminal_raw(project: pytest.Pytester, option: str) -> None:
    project.path.joinpath(option.rpartition("=")[2].removeprefix("recorded:")).write_text(OPTIONS[option], "utf-8")
    assert raw_of(printed_by(project, "--mapsat-agent=good:agent", option)) == []


def test_the_description_of_a_domain_is_one_line_of_the_markers(project: pytest.Pytester) -> None:
    manifest = tiny_suite.MANIFEST.replace("navigation: routes", f"navigation: {KEY}")
    (project.path / "benchmark_cases" / "suite.yaml").write_text(manifest, encoding="utf-8")
    assert raw_of(printed_by(project, "--mapsat-agent=good:agent", "--markers")) == []
