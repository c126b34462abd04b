"""Install frameworks, each group in a venv of its own, and run their tests, or show which agents attach.

``python tests/frameworks [GROUP...]`` runs the tests; ``python tests/frameworks --matrix [--write FILE.md] [GROUP...]`` runs those that are the cells of
the matrix, and shows it. Without a group all groups.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[2]
#: Group of dependencies in pyproject.toml, and the test files that it is for.
GROUPS = {
    "frameworks": ("langgraph", "openai_agents", "pydantic_ai"),
    "recorded-and-live": ("recorded_and_live",),
    "more-frameworks": ("agent_framework", "llama_index"),
    "google-adk": ("google_adk",),
    "smolagents": ("smolagents",),
    "claude-agent-sdk": ("claude_agent_sdk",),
    "crewai": ("crewai",),
}
#: Cell of the matrix, and the tests in scenarios.py that it is of.
CELLS = {
    "plain": ("test_a_call_of_its_own_tool_is_answered_by_the_sandbox",),
    "handoff": ("test_a_team_hands_over_and_steps_keep_which_agent_called",),
    "subagent": ("test_a_tool_that_runs_another_agent_runs_where_the_case_names_it",),
    "context": ("test_the_context_of_the_case_is_where_the_framework_has_one",),
    "guardrail": ("test_a_guardrail_that_declines_is_no_fault_and_its_words_are_read",),
    "data": ("test_structured_output_is_the_output_of_the_reply",),
    "stream": ("test_a_model_that_streams_words_and_then_calls_is_answered",),
    "parallel": ("test_parallel_calls_of_one_turn_are_answered_in_their_order",),
    "crash": ("test_a_crash_is_the_agents_fault_in_its_own_words", "test_usage_until_a_crash_is_kept"),
    "two at once": ("test_many_episodes_at_once_on_one_agent_never_mix",),
}
#: The heads of the columns, so that all fit into 80 columns.
HEADS = [
    "plain",
    "hand-|off",
    "sub-|agent",
    "con-|text",
    "guard|rail",
    "data",
    "str-|eam",
    "para-|llel",
    "crash",
    "two|once",
]
SHOWN = {"attached": "yes", "refused": "no", "lacks": "-", "failed": "FAIL", "missing": "?"}
KEY = "yes: attached; no: refused at the start; -: not in this framework."


def main():
    """Run the tests or show the matrix of some groups, and return how many groups failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--matrix", action="store_true", help="run the tests that are cells of the matrix, and show it")
    parser.add_argument("--write", type=Path, metavar="FILE.md", help="write the matrix as a Markdown table, too")
    asked = parser.parse_args()
    if unknown := set(asked.groups) - set(GROUPS):
        sys.exit(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    failed, matrix = [], {}
    # One agent, however it is connected: no cell of the matrix.
    for name in asked.groups or [name for name in GROUPS if not (asked.matrix and name == "recorded-and-live")]:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            python = installed(name, Path(folder))
            print(f"== {name}: installed in {time.monotonic() - began:.0f} s", flush=True)
            if asked.matrix:
                rows = {part.replace("_", "-"): cells(python, part, Path(folder)) for part in GROUPS[name]}
                ended = any(kind in ("failed", "missing") for row in rows.values() for kind, _ in row.values())
                matrix |= rows
            else:
                files = [f"test_{part}.py" for part in (*GROUPS[name], "starts", "nothing_imported")]
                ended = tested(python, *files, "-n", "2", "--dist", "loadfile")
            if ended:
                failed.append(name)
    if asked.matrix:
        print(as_text(matrix))
    if asked.write:
        asked.write.write_text(as_markdown(matrix), encoding="utf-8")
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return len(failed)


def installed(name, folder):
    """Make a venv in the folder with the group of the name and this project in it, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder / "tool"], check=True)
    tool = folder / "tool" / "bin" / "python"
    # uv installs in seconds what takes pip a minute.
    subprocess.run([tool, "-m", "pip", "install", "-q", "uv"], check=True)
    uv = [tool, "-m", "uv"]
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, folder / "venv"], check=True)
    groups = ["--group", f"pyproject.toml:{name}", "--group", "pyproject.toml:framework-tests"]
    subprocess.run([*uv, "pip", "install", "-q", "--python", python, "-e", ".", *groups], cwd=ROOT, check=True)
    return python


def tested(python, *arguments, **options):
    """Run pytest on files of this folder, and return its exit code."""
    # What a framework warns of, or deprecates, is its own.
    command = [python, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"OPENAI_AGENTS_DISABLE_TRACING": "1"}
    return subprocess.run(command, cwd=Path(__file__).parent, env=environment, check=False, **options).returncode


# -- the matrix: framework by shape ---------------------------------------------------------------------------------------


def cells(python, part, folder):
    """Run the tests of one framework that are cells; return for each cell what came of it, and why."""
    report = folder / "report.xml"
    names = " or ".join(name for tests in CELLS.values() for name in tests)
    tested(python, f"test_{part}.py", "-k", names, f"--junitxml={report}", stdout=subprocess.DEVNULL)
    ran = {case.get("name"): case for case in ET.parse(report).iter("testcase")} if report.exists() else {}
    return {cell: worst([came_of(ran.get(name)) for name in tests]) for cell, tests in CELLS.items()}


def came_of(case):
    """Return what came of a test: the agent is attached, refused at the start, not in this framework, or the test failed; and why."""
    if case is None:
        return "missing", "the test did not run"
    for kind in ("failure", "error"):
        if (problem := case.find(kind)) is not None:
            return "failed", problem.get("message", "").partition("\n")[0]
    if (skipped := case.find("skipped")) is not None:
        return "lacks", skipped.get("message", "").removeprefix("not in this framework: ")
    refusals = [entry.get("value") for entry in case.iter("property") if entry.get("name") == "refused"]
    return ("refused", refusals[0]) if refusals else ("attached", "")


def worst(outcomes):
    """Return the outcome of a cell with several tests: the one that is furthest from attached."""
    return max(outcomes, key=lambda outcome: list(SHOWN).index(outcome[0]))


def reasons(matrix):
    """Yield why cells are not attached: framework, cells and words, one line for all cells with the same words."""
    words = {"refused": "refused at the start: ", "lacks": "not in this framework: "}
    for name, row in matrix.items():
        grouped = {}
        for cell, outcome in row.items():
            grouped.setdefault(outcome, []).append(cell)
        for (kind, why), of in grouped.items():
            if kind != "attached":
                yield name, ", ".join(of), words.get(kind, "FAILED: ") + why


def as_text(matrix):
    """Return the matrix in at most 80 columns."""
    lines = [KEY, ""]
    for part in (0, 1):
        heads = [head.partition("|")[::2][part] for head in HEADS]
        lines.append(" " * 17 + " ".join(f"{head:5}" for head in heads).rstrip())
    lines += [
        f"{name:16} " + " ".join(f"{SHOWN[kind]:5}" for kind, _ in row.values()).rstrip()
        for name, row in matrix.items()
    ]
    for name, of, why in reasons(matrix):
        lines += ["", *textwrap.wrap(f"{name}, {of}: {why}", 80)]
    return "\n".join(lines)


def as_markdown(matrix):
    """Return the matrix as a table of Markdown, with the reasons below it."""
    rows = [["framework", *CELLS], ["---"] * (len(CELLS) + 1)]
    rows += [[name, *(SHOWN[kind] for kind, _ in row.values())] for name, row in matrix.items()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = "\n".join(f"- {name}, {of}: {why}" for name, of, why in reasons(matrix))
    return f"{table}\n\n{KEY}\n\n{notes}\n"


if __name__ == "__main__":
    sys.exit(main())
