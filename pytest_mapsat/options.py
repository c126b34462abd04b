"""The one table of options: name, kind of value, default, help, where each may be said, and what it changes.

pytest's registration, the settings of a run, the commands that take the same values, the checks of resumed and compared runs and
the reference read it. It is loaded in every pytest run, so it imports only light parts of the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import pytest

#: ``flag``: on or off. ``optional``: may stand without a value, which is "on". ``word``: one of ``words``. ``text``: read by the room it is for.
Kind = Literal["text", "flag", "optional", "whole", "seconds", "dollars", "word", "path"]
#: ``episode``: what happens in an episode or how it is judged. ``item``: what its scorecard holds. ``run``: how much is run, and how
#: the gate decides. ``nothing``: the run file stays the same, apart from times.
Change = Literal["episode", "item", "run", "nothing"]

_DAY = 86_400


class Option(NamedTuple):
    """One option.

    Attributes:
        name: on the command line ``--mapsat-NAME``, in an ini file ``mapsat_NAME``.
        metavar: the value, as help shows it.
        help: one sentence.
        kind: how a value is read.
        default: as it would be typed; empty where there is none.
        changes: what another value changes.
        words: the values of kind ``word``.
        least: the least of kind ``whole``.
        most: the most of kind ``whole``.
        repeatable: whether it may be given several times.
        typed: whether it may be given on the command line.
        ini: whether it may stand in an ini file.
        suite: the key of ``suite.yaml`` that says it where neither command line nor ini file does; empty: none.
        fields: the options of a run file that its value becomes, where these are called otherwise.
    """

    name: str
    metavar: str
    help: str
    kind: Kind = "text"
    default: str = ""
    changes: Change = "nothing"
    words: tuple[str, ...] = ()
    least: int = 1
    most: int = 999_999_999
    repeatable: bool = False
    typed: bool = True
    ini: bool = False
    suite: str = ""
    fields: tuple[str, ...] = ()

    @property
    def dest(self) -> str:
        """Return the name under which pytest stores the option and its ini value."""
        return "mapsat_" + self.name.replace("-", "_")

    def read(self, text: str) -> Any:
        """Return the value of a text: bool, int, float or str; None for an empty text without a default.

        Raises:
            ValueError: it stands for none; with what was expected.
        """
        text = text.strip() or self.default
        if self.kind == "flag":
            return _word(text or "off", ("on", "off")) == "on"
        if not text:
            return None
        if self.kind == "word":
            return _word(text, self.words)
        if self.kind == "whole":
            return self._whole(text)
        if self.kind == "seconds":
            return _positive(text, _DAY, "seconds, more than 0 and at most a day")
        return _positive(text, 1e9, "US dollars, more than 0") if self.kind == "dollars" else text

    def _whole(self, text: str) -> int:
        """Return a text as a whole number within the limits of the option. Raises ValueError."""
        if not re.fullmatch(r"[0-9]{1,9}", text) or not self.least <= int(text) <= self.most:
            bound = f" to {self.most:,}" if self.most < Option._field_defaults["most"] else ""
            raise ValueError(f"found {text!r}, expected a whole number from {self.least}{bound}")
        return int(text)


def _word(text: str, words: tuple[str, ...]) -> str:
    """Return a text that must be one of some words. Raises ValueError with the words for any other text."""
    if text not in words:
        raise ValueError(f"found {text!r}, expected {', '.join(words[:-1])} or {words[-1]}")
    return text


def _positive(text: str, most: float, expected: str) -> float:
    """Return a text as a number above 0 and at most ``most``. Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= most:
        raise ValueError(f"found {text!r}, expected {expected}")
    return value


_TABLE = (
    Option(
        "agent",
        "SPEC",
        "the agent under test: module:attr (a callable, or an agent of a framework), FRAMEWORK:module:attr, recorded:PATH, "
        "baseline:silent, constant, first, surface, profile or oracle, react:MODEL or plan:MODEL (a model with our prompts), cmd:COMMAND (a program), http://HOST/PATH (a service), fixture (the mapsat_agent fixture), or off. Without it no case is collected",
        ini=True,
        changes="episode",
    ),
    Option(
        "http",
        "FORM",
        "how a service is spoken to that --mapsat-agent gives the address of: json, openai-chat, openai-responses, a2a, ag-ui, or the path of "
        "a service file; only in an ini file",
        typed=False,
        ini=True,
        changes="episode",
    ),
    Option(
        "agent-build",
        "TEXT",
        "name of the agent's build, such as a version or commit, if its code is elsewhere: mapsat compare shows by it whether two runs used the same build",
        changes="run",
    ),
    Option(
        "cases",
        "PATH",
        "a suite, or a part of one; repeatable; replaces the default (benchmark_cases, where it exists)",
        kind="path",
        repeatable=True,
        ini=True,
    ),
    Option(
        "user",
        "SPEC",
        "who speaks for the user: scripted, silent, or llm:MODEL",
        default="scripted",
        ini=True,
        suite="episode.user",
        changes="episode",
    ),
    Option(
        "judge",
        "SPEC",
        "who judges: checks (rules, no model), llm:MODEL (a model for every label that needs reading), llm-lean:MODEL (a model for facts and for "
        "labels that the checks do not pass), recorded:PATH or module:attr",
        default="checks",
        ini=True,
        changes="episode",
    ),
    Option(
        "judge-votes",
        "N",
        "votes of a judging model on each label (default 3)",
        kind="whole",
        most=99,
        changes="episode",
    ),
    Option(
        "metrics",
        "LIST",
        "metric sets to measure besides those of suite.yaml, such as pipa,mobility",
        typed=False,
        ini=True,
        changes="item",
    ),
    Option(
        "agent-memory",
        "SPEC",
        "memory across the tasks of one user, given to the agent as context.memory: none, full (the latest 102,400 tokens), truth (the preferences in the "
        "truth: a ceiling), rag (the best of 512 tokens each, by words), rag:MODEL (by embeddings), agentic:MODEL (a summary that a model rewrites), or module:attr",
        default="none",
        ini=True,
        changes="episode",
    ),
    Option(
        "give-profile",
        "",
        "give the agent the results of the profile tools as context",
        kind="flag",
        default="off",
        changes="episode",
        fields=("profile",),
    ),
    Option(
        "trials",
        "N or K/N",
        "episodes per case; with K/N a case passes when K of its N trials do",
        default="1",
        changes="run",
        fields=("trials", "pass_rule"),
    ),
    Option(
        "unrecorded",
        "MODE",
        "how to answer calls without a recording: strict (not at all) or record (your own tool of --mapsat-tools answers, and the answer is kept in the suite)",
        default="strict",
        changes="episode",
        fields=("on_miss",),
    ),
    Option(
        "tools",
        "SPEC",
        "your own tools for --mapsat-unrecorded=record: module:attr of functions, a module, or an object",
    ),
    Option(
        "concurrency",
        "N",
        "episodes that run at once in each process (default 16 for coroutines, models and services, 1 for other agents)",
        kind="whole",
        most=1_000,
    ),
    Option(
        "executor",
        "SPEC",
        "where episodes are played: local, or dask:ADDRESS, on the workers of a dask cluster",
        default="local",
    ),
    Option(
        "max-turns",
        "N",
        "agent replies per episode",
        kind="whole",
        default="10",
        suite="episode.max_turns",
        changes="episode",
    ),
    Option(
        "timeout",
        "SECONDS",
        "wall time per episode",
        kind="seconds",
        default="300",
        suite="episode.timeout",
        changes="episode",
        fields=("timeout_seconds",),
    ),
    Option(
        "fail-on",
        "LIST",
        "labels that fail an item: asked, hard, facts, policies, soft, success, all or none",
        default="asked,hard,facts",
        ini=True,
        suite="fail_on",
        changes="item",
        fields=("assert",),
    ),
    Option(
        "fail-under",
        "EXPR",
        "thresholds such as ar=0.65, navigation.ar=0.6 or ar=0.65@95 (the 95 % interval); ceilings such as cost<=0.50, case.calls<=8 or "
        "tokens<=1.5x (of the baseline); repeatable",
        repeatable=True,
        ini=True,
        changes="run",
        fields=("fail_under", "fail_under_from"),
    ),
    Option(
        "allow-undecided",
        "N",
        "number of cases, or share with %, that may stay undecided under any rule",
        default="0",
        changes="run",
    ),
    Option(
        "compare",
        "PATH",
        "compare with a saved run, case by case; give it twice to compare with an anchor as well",
        kind="path",
        repeatable=True,
    ),
    Option(
        "max-drop",
        "EXPR",
        "how far a mean may fall below the baseline, such as ar:0.02 or navigation.ar:0.05 (ar:0.02@sampled: on cases like these); flips:0: how "
        "many cases may flip; undecided:0.05: how much the share of undecided cases may rise; repeatable",
        repeatable=True,
        changes="run",
        fields=("max_drop", "max_drop_from"),
    ),
    Option(
        "inconclusive",
        "WORD",
        "result of an inconclusive comparison: pass, with a warning, or fail",
        kind="word",
        default="pass",
        words=("pass", "fail"),
        changes="run",
    ),
    Option(
        "sample",
        "N",
        "run N cases of each suite, drawn by the key `sample` of suite.yaml, or all of them",
        default="all",
        suite="sample",
        changes="run",
        fields=("sample", "sample_by", "sample_seed"),
    ),
    Option(
        "faults",
        "LIST",
        "run each case again with the first call of each tool failing: timeout, lost_reply or others, by comma, or all",
        changes="run",
    ),
    Option("shard", "I/N", "run one part of the cases, such as 2/8; mapsat merge joins the parts", changes="run"),
    Option("save", "PATH", "write the run file; PATH.journal keeps every finished episode", kind="path"),
    Option(
        "report",
        "TYPE:PATH",
        "write a report, such as html:report.html or github:; mapsat report --help has all types; repeatable",
        repeatable=True,
    ),
    Option(
        "cache",
        "MODE",
        "use of cached model answers: auto (use kept answers, keep new ones), only (make no calls), refresh (ask again) or off (keep nothing)",
        kind="word",
        default="auto",
        words=("auto", "only", "refresh", "off"),
    ),
    Option(
        "model-cache",
        "",
        "record and replay the agent's own model calls through httpx, as openai, anthropic and litellm make them, in the mode of --mapsat-cache",
        kind="flag",
    ),
    Option(
        "allow-hosts",
        "HOST,HOST:PORT",
        "hosts that the agent may contact although --mapsat-model-cache with --mapsat-cache=only refuses calls without a kept answer",
        ini=True,
    ),
    Option(
        "max-cost",
        "USD",
        "spending limit for models in this run, in US dollars; an episode that would exceed it is skipped",
        kind="dollars",
    ),
    Option(
        "isolate",
        "env:NAME,memory:MB",
        "run each agent in a process of its own, without suite, truth or environment; env:NAME passes a variable, memory:MB bounds the process; "
        "before a path write --mapsat-isolate=on",
        kind="optional",
        default="off",
        ini=True,
    ),
    Option(
        "resume",
        "PATH",
        "continue from the journal or the run file of a run that did not end",
        kind="path",
    ),
)

#: Names of 0.1.0, and what each is called now: an old name is refused with the new one.
RENAMED = {
    "--mapsat-assert": "--mapsat-fail-on",
    "--mapsat-profile": "--mapsat-give-profile",
    "--mapsat-on-miss": "--mapsat-unrecorded",
    "mapsat_assert": "mapsat_fail_on",
    "mapsat new": "mapsat draft",
}

#: All options by name.
OPTIONS = {option.name: option for option in _TABLE}


def fields_that_change(*changes: Change) -> frozenset[str]:
    """Return the names of run-file options that change certain things: episodes, items or the run."""
    return frozenset(field for option in _TABLE if option.changes in changes for field in fields_of(option))


def fields_of(option: Option) -> tuple[str, ...]:
    """Return the names of the run-file options that an option sets."""
    return option.fields or (option.name.replace("-", "_"),)


def refuse_ini(keys: Iterable[str]) -> str:
    """Return the message for the first ini key that is renamed or only a command-line option; empty if all keys are fine."""
    for key in keys:
        if key in RENAMED:
            return f"{key} is now {RENAMED[key]}"
        name = key.removeprefix("mapsat_").replace("_", "-")
        option = OPTIONS.get(name)
        if key.startswith("mapsat_") and option is not None and not option.ini:
            suite = option.suite and f", or {option.suite} in suite.yaml"
            return f"{key} is not a key of an ini file: use --mapsat-{name} on the command line or in addopts{suite}"
    return ""


def written_keys(config: pytest.Config) -> Iterator[tuple[str, str]]:
    """Yield the place and name of each key that the ini file or ``-o`` gives; pytest has no public way to unregistered ones."""
    path = config.inipath
    lines = [] if path is None else path.read_text(encoding="utf-8", errors="replace").splitlines()
    places = [(f"{path and path.name}:{number}", line) for number, line in enumerate(lines, 1)]
    places += [("-o", text) for text in config.getoption("override_ini", None) or ()]
    yield from ((place, line.partition("=")[0].strip()) for place, line in places if "=" in line)


def mistyped_key(config: pytest.Config) -> str:
    """Return the message for the first mistyped key: it begins with mapsat_, no plugin registered it, and a key of ours is like it. Else an empty text."""
    known = {option.dest.removeprefix("mapsat_"): option.ini for option in OPTIONS.values()}
    for place, key in written_keys(config):
        name = key.removeprefix("mapsat_")
        if name == key or name in known or key in RENAMED:
            continue
        from difflib import get_close_matches  # noqa: PLC0415 - only loaded where a key is unknown

        near = get_close_matches(name, [own for own, is_key in known.items() if is_key], n=1)
        try:
            config.getini(key)
        except ValueError:
            if near:
                return f"{place}: there is no key {key} (did you mean mapsat_{near[0]}?)"
    return ""


def agent_spec(config: pytest.Config) -> str:
    """Return the spec of the agent; empty if no agent is active."""
    given = config.getoption("mapsat_agent", default=None)
    spec = given if given is not None else config.getini("mapsat_agent")
    spec = (spec or "").strip()
    if not spec and only_python(config):
        return "fixture"
    return "" if spec == "off" else spec


def only_python(config: pytest.Config) -> bool:
    """Return whether only a fixture provides the agent, for Python cases, and neither command line nor ini file names one."""
    return bool(getattr(config.option, "mapsat_only_python", False))


def typed(config: pytest.Config, name: str) -> list[str]:
    """Return the option values from the command line itself, without values from ``addopts``."""
    flag = f"--mapsat-{name}"
    values = []
    arguments = [str(argument) for argument in config.invocation_params.args]
    for place, argument in enumerate(arguments):
        if argument == flag:
            values += arguments[place + 1 : place + 2] or [""]
        elif argument.startswith(f"{flag}="):
            values.append(argument.removeprefix(f"{flag}="))
    return values
