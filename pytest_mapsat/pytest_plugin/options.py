"""The options: what exists, what each means, and how the value of one is read; settings.py reads what was asked for in all.

Loaded in every pytest run, so it imports nothing but pytest and light parts of the standard library.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Option(NamedTuple):
    """One option, on the command line as ``--mapsat-NAME`` and in the ini file as ``mapsat_NAME``."""

    name: str
    metavar: str
    help: str
    repeatable: bool = False
    ini: bool = True
    flag: bool = False


OPTIONS = (
    Option(
        "agent",
        "SPEC",
        "the agent under test: module:attr, recorded:PATH, baseline:silent, baseline:constant, baseline:oracle, "
        "react:MODEL or plan:MODEL (a model with our prompts), fixture (the mapsat_agent fixture), or off. Without it no case is collected",
    ),
    Option(
        "cases",
        "PATH",
        "a suite, or a part of one; repeatable; replaces the default (benchmark_cases, where it exists)",
        repeatable=True,
    ),
    Option(
        "user",
        "SPEC",
        "who speaks for the user: scripted (default), silent, llm:MODEL, or scripted+llm:MODEL (the model only chooses a prepared answer)",
    ),
    Option(
        "judge",
        "SPEC",
        "who judges: checks (machine checks, the default), recorded:PATH, llm:MODEL (a model, for every label that has to be read) or "
        "llm-lean:MODEL (a model, for facts and for what the checks do not pass)",
    ),
    Option("judge-votes", "N", "evaluations of one dialogue by a judge that asks a model (default 3)"),
    Option(
        "decisions",
        "PATH",
        "people's decisions on labels, which come before the judge (default: decisions.jsonl of the suite)",
    ),
    Option("metrics", "LIST", "families of metrics besides the suite's own, as in pipa (default: none)"),
    Option("profile", "", "give what the profile tools would return as context (the profile setting)", flag=True),
    Option(
        "form",
        "",
        "ask the agent once more when the dialogue has ended, out of score, for a form about its last reply, from which the checks read on",
        flag=True,
    ),
    Option("trials", "N", "episodes per case (default 1)"),
    Option(
        "on-miss",
        "MODE",
        "what a call gets that no recording answers: strict (default): nothing is recorded; recording: the answer of your own tool "
        "(--mapsat-tools), which is kept in the suite; simulate:MODEL: an answer that a model makes up, kept and marked as such",
    ),
    Option(
        "tools", "SPEC", "your own tools for --mapsat-on-miss=record: module:attr of functions, a module, or an object"
    ),
    Option(
        "concurrency",
        "N",
        "episodes under way at once in each process (default 16 for coroutines and models, 1 for other agents)",
    ),
    Option(
        "executor",
        "SPEC",
        "where episodes are played: local (default), or dask:ADDRESS, on the workers of a dask cluster (the extra dask)",
    ),
    Option("max-turns", "N", "agent replies per episode (default 10)"),
    Option("timeout", "SECONDS", "wall time per episode (default 300)"),
    Option(
        "assert",
        "LIST",
        "what fails an item: hard, facts, policies, explicit, soft, success, all, or none (default explicit,hard,facts)",
    ),
    Option(
        "fail-under",
        "EXPR",
        "thresholds, as in ar=0.65,ses=0.28 or navigation.ar=0.6; ar=0.65@95 asks the 95 % interval; ceilings, as in cost<=0.50, "
        "case.calls<=8 or tokens<=1.5x (of the run compared with); repeatable",
        repeatable=True,
    ),
    Option("pass-rule", "K/N", "a case passes when K of its N trials do (default: all)"),
    Option(
        "compare",
        "PATH",
        "hold this run against a saved one, case by case; given twice, against an anchor besides",
        repeatable=True,
    ),
    Option(
        "compare-fail",
        "EXPR",
        "how much a mean may fall against that run on these cases, as in ar:0.02,navigation.ar:0.05 (ar:0.02@sampled: on cases like these), how many "
        "cases may flip (flips:0, the default), how much the share of undecided cases may rise (undecided:0.05); repeatable",
        repeatable=True,
    ),
    Option("compare-on", "PART", "all (default: runs that are not alike are refused) or common (the cases that are)"),
    Option("inconclusive", "WORD", "what a comparison means that cannot tell: pass (default), with a warning, or fail"),
    Option(
        "sample",
        "N",
        "run N cases of each suite, drawn by a digest of their ids, so that a smaller sample lies in a larger one; all (default): every case",
    ),
    Option(
        "sample-by",
        "LIST",
        "attributes that the sample is spread over, as scenario,city (or domain, difficulty, language, group): equally over the values of the "
        "first, in proportion over the others",
    ),
    Option("sample-seed", "N", "draw another sample (default 0)"),
    Option("shard", "I/N", "run one part of the cases, as 2/8; mapsat merge puts the parts together"),
    Option("durations", "PATH", "a saved run, by whose durations the parts of --mapsat-shard are balanced"),
    Option(
        "allow-undecided",
        "N",
        "cases, or with % their share, whose undecided labels may stay open though they could turn a threshold (default 0)",
    ),
    Option(
        "allow-lost",
        "N",
        "cases that judge, user or infrastructure may lose before the gate is invalid (default 0)",
    ),
    Option("save", "PATH", "write the run file (JSON); PATH.journal has every episode that has ended"),
    Option(
        "report",
        "TYPE:PATH",
        "write a report: html, json, markdown or github (step summary and annotations; github: alone is the step under way); repeatable",
        repeatable=True,
    ),
    Option(
        "cache",
        "MODE",
        "answers of models: auto (default): use what is kept, and keep what is new; only: call no model; refresh: ask anew; off: keep nothing",
    ),
    Option("max-cost", "USD", "what models may cost in this run; an episode that would need more is skipped"),
    Option("max-tokens", "N", "tokens that models may use in this run, in and out; likewise"),
    Option("rpm", "N", "calls of models a minute, of all processes together"),
    Option("tpm", "N", "tokens of models a minute, in and out, likewise"),
    Option(
        "isolate",
        "",
        "agents in processes of their own, without suite, truth or environment: what they do to theirs is their failure alone",
        flag=True,
    ),
    Option(
        "isolate-env",
        "NAME",
        "a variable of the environment that isolated agents have, such as a key; repeatable",
        repeatable=True,
    ),
    Option("memory", "MB", "what the process of an isolated agent may use (default: any amount)"),
    Option("resume", "PATH", "go on from the journal or the run file of a run that did not end: run what it lacks"),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini value."""
    group = parser.getgroup("mapsat", "agent benchmarks (pytest-mapsat; mapsat init writes a suite to begin with)")
    for option in OPTIONS:
        if option.flag:
            group.addoption(
                f"--mapsat-{option.name}", action="store_const", const="on", dest=dest_of(option.name), help=option.help
            )
            parser.addini(dest_of(option.name), f"{option.help}: on or off", type="string")
            continue
        group.addoption(
            f"--mapsat-{option.name}",
            action="append" if option.repeatable else "store",
            metavar=option.metavar,
            dest=dest_of(option.name),
            default=None,
            help=option.help.replace("%", "%%"),
        )
        if option.repeatable:
            parser.addini(dest_of(option.name), option.help, type="linelist")
        else:
            parser.addini(dest_of(option.name), option.help, type="string")


def agent_spec(config: pytest.Config) -> str:
    """Return the agent's spec, or an empty string where no agent is active."""
    given = config.getoption(dest_of("agent"), default=None)
    spec = given if given is not None else config.getini(dest_of("agent"))
    spec = (spec or "").strip()
    return "" if spec == "off" else spec


def typed(config: pytest.Config, name: str) -> list[str]:
    """Return the values of an option on the command line itself: what stands in ``addopts`` counts as ini."""
    flag = f"--mapsat-{name}"
    found = []
    arguments = [str(argument) for argument in config.invocation_params.args]
    for place, argument in enumerate(arguments):
        if argument == flag:
            found += arguments[place + 1 : place + 2] or [""]
        elif argument.startswith(f"{flag}="):
            found.append(argument.removeprefix(f"{flag}="))
    return found


def refuse_without_agent(config: pytest.Config) -> None:
    """Refuse options of ours that were typed for a run that has no agent.

    Raises:
        pytest.UsageError: there is one, or ``--mapsat-agent`` is empty.
    """
    if any(not value.strip() for value in typed(config, "agent")):
        raise pytest.UsageError("--mapsat-agent names no agent: expected module:attr, or off")
    names = [option.name for option in OPTIONS if option.name != "agent"]
    lonely = next((name for name in names if typed(config, name)), None)
    if lonely is not None:
        raise pytest.UsageError(f"--mapsat-{lonely} without an agent: give one with --mapsat-agent=module:attr")


def given_options(config: pytest.Config) -> frozenset[str]:
    """Return the names of the options that the command line gives."""
    return frozenset(option.name for option in OPTIONS if config.getoption(dest_of(option.name)) is not None)


def dest_of(name: str) -> str:
    """Return the name under which pytest keeps an option and its ini value."""
    return "mapsat_" + name.replace("-", "_")


def partial_reasons(config: pytest.Config, shard: str) -> tuple[str, ...]:
    """Return why not all of a suite is run, as far as options say it."""
    option = config.option
    reasons = [f"-k {option.keyword!r}"] if option.keyword else []
    reasons += [f"-m {option.markexpr!r}"] if option.markexpr else []
    reasons += ["--lf"] if getattr(option, "lf", False) else []
    reasons += [f"shard {shard}"] if shard else []
    return tuple(reasons)


def text_of(config: pytest.Config, name: str, default: str) -> str:
    """Return what an option was given, on the command line, else in the ini file, else the default."""
    given = config.getoption(dest_of(name))
    value = config.getini(dest_of(name)) if given is None else given
    return str(value or "").strip() or default


def whole_of(config: pytest.Config, name: str, default: int, *, at_least: int) -> int:
    """Return the whole number that an option was given. Raises pytest.UsageError."""
    text = text_of(config, name, str(default))
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < at_least:
        raise pytest.UsageError(f"--mapsat-{name}: found {text!r}, expected a whole number from {at_least}")
    return int(text)


def seconds_of(config: pytest.Config, name: str, default: float) -> float:
    """Return the seconds that an option was given. Raises pytest.UsageError."""
    text = text_of(config, name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= 86_400:  # noqa: PLR2004 (a day)
        raise pytest.UsageError(f"--mapsat-{name}: found {text!r}, expected seconds, more than 0 and at most a day")
    return value


def word_of(config: pytest.Config, name: str, words: tuple[str, ...]) -> Any:
    """Return which of some words an option was given, the first where none was. Raises pytest.UsageError."""
    found = text_of(config, name, words[0])
    if found not in words:
        raise pytest.UsageError(f"--mapsat-{name}: found {found!r}, expected {', '.join(words[:-1])} or {words[-1]}")
    return found


def path_of(config: pytest.Config, name: str) -> Path | None:
    """Return the absolute path that an option was given, from where pytest was started; None where none was."""
    given = text_of(config, name, "")
    return (config.invocation_params.dir / given).absolute() if given else None
