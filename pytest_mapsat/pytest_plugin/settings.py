"""The settings of a run, read from command line, ini file and suites by the table of options, and checked: one frozen value."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

from pytest_mapsat.agents import MODEL_KINDS
from pytest_mapsat.formats import shown_path
from pytest_mapsat.gate import parse_allowance, setting_text
from pytest_mapsat.judges import default_votes
from pytest_mapsat.metrics import PassRule
from pytest_mapsat.model import MANNERS, MOST_BUILD, Problem, RunOptions, RunRequest, SuiteError, UsageError
from pytest_mapsat.options import OPTIONS, agent_spec, fields_of, only_python, refuse_ini, typed, written_keys
from pytest_mapsat.reports import ReportTarget, parse_reports
from pytest_mapsat.runs.request import parse_asserted, parse_metric_sets
from pytest_mapsat.suite import Suite, parse_faults, parse_manners

if TYPE_CHECKING:
    from pytest_mapsat.agents.isolated import Isolation

#: Megabytes: what Python and the agent's side of ours need, and more than any machine has.
_LEAST_MEMORY, _MOST_MEMORY = 64, 16_000_000
#: Characters of the text that names a build: of an agent in Python its source is added.
_MOST_TOLD = MOST_BUILD // 2
_SWITCH_OFF = "leave --mapsat-isolate out (an ini file's: -o mapsat_isolate=off)"
#: The options that suites have a say in.
_OF_SUITES = {option.name: option for option in OPTIONS.values() if option.suite}

#: How the specs of models begin.
_MODEL_KINDS = frozenset({*MODEL_KINDS, "agentic", "llm", "llm-lean", "rag"})

#: Reads a whole number from 1, as an option of no upper bound.
_ANY_NUMBER = OPTIONS["judge-votes"]._replace(most=999_999_999)

_T = TypeVar("_T")
CacheMode = Literal["auto", "only", "refresh", "off"]


@dataclass(frozen=True)
class Settings:
    """The settings from the command line, ini file and suites, checked.

    Attributes:
        request: what the run file says of it.
        cases: suites or parts of suites, absolute; empty where the default suite does not exist.
        save: where the run file goes, absolute.
        resume: the journal or run file to go on from, absolute.
        agent_named: whether the agent was named on the command line itself, not in an ini file or in ``addopts``.
        tools: the spec of the user's own tools; empty where calls that miss stay without an answer.
        compare: the runs to compare with, absolute: the last green one, then an anchor.
        reports: the reports that are written at the end.
        unsaid: options that suites have a say in, and neither the command line nor the ini names.
        cache: what kept answers of models are used for.
        model_cache: whether the model calls that the agent makes by itself are kept and replayed.
        allowed_hosts: hosts that the agent may ask where only kept answers are used.
        max_cost: US dollars that models may cost; None: any sum.
        rates: calls and tokens of models a minute, of all processes together; 0: any number.
        isolation: how agents are kept apart, where modules are found left open; None: they share our process. Nothing of it stands in
            the run file: an isolated agent gives the same run.
        concurrency: episodes under way at once in this process; 0: as many as usual for the agent.
        only_python: whether a fixture gives an agent to cases in Python alone, as none was named.
        executor: the address of the scheduler of dask that episodes are handed to; empty: they are played here.
    """

    request: RunRequest
    cases: tuple[Path, ...]
    save: Path | None
    resume: Path | None
    agent_named: bool
    tools: str
    compare: tuple[Path, ...]
    reports: tuple[ReportTarget, ...]
    unsaid: frozenset[str]
    cache: CacheMode
    model_cache: bool
    allowed_hosts: frozenset[str]
    max_cost: float | None
    rates: tuple[int, int]
    isolation: Isolation | None
    concurrency: int
    only_python: bool
    executor: str

    def with_request(self, **changes: object) -> Settings:
        """Return the settings with some fields of the request replaced."""
        return replace(self, request=self.request.model_copy(update=changes))


def read_settings(config: pytest.Config) -> Settings:
    """Return the settings of this run.

    Raises:
        pytest.UsageError: a value cannot be used.
        UsageError: likewise.
    """
    if message := refuse_ini(key for _, key in written_keys(config)):
        raise pytest.UsageError(message)
    _refuse_empty(config)
    rates: dict[str, int] = {}
    tools = _tools(config)  # says what is wrong with --mapsat-unrecorded before the request holds it
    request = _request(config, rates)
    return Settings(
        request=request,
        cases=() if only_python(config) else _cases(config),
        save=_path(config, "save"),
        resume=_path(config, "resume"),
        agent_named=bool(typed(config, "agent")),
        tools=tools,
        compare=_compared(config),
        reports=_reports(config),
        unsaid=frozenset(name for name in _OF_SUITES if not _text(config, name)),
        cache=_value(config, "cache"),
        model_cache=_value(config, "model-cache"),
        allowed_hosts=_hosts(config),
        max_cost=_value(config, "max-cost"),
        rates=(rates.get("rpm", 0), rates.get("tpm", 0)),
        isolation=_isolation(config),
        concurrency=_value(config, "concurrency") or 0,
        only_python=only_python(config),
        executor=_executor(config),
    )


# -- one option ----------------------------------------------------------------------------


def _given(config: pytest.Config, name: str) -> Any:
    """Return the text of an option from the command line, otherwise from the ini file."""
    option = OPTIONS[name]
    given = config.getoption(option.dest) if option.typed else None
    return config.getini(option.dest) if given is None and option.ini else given


def _text(config: pytest.Config, name: str) -> str:
    """Return the text of an option; empty if it was not given."""
    return str(_given(config, name) or "").strip()


def _read(name: str, text: str, reader: Callable[[str], _T]) -> _T:
    """Return an option's text parsed by its reader; an error names the option."""
    try:
        return reader(text)
    except (ValueError, UsageError) as error:
        written = f"mapsat_{name}" if not OPTIONS[name].typed else f"--mapsat-{name}"
        raise pytest.UsageError(f"{written}: {error}") from None


def _value(config: pytest.Config, name: str) -> Any:
    """Return the value of an option by its kind in the table of options."""
    return _read(name, _text(config, name), OPTIONS[name].read)


def _path(config: pytest.Config, name: str) -> Path | None:
    """Return the absolute path in an option, relative to the starting folder of pytest; None if it was not given."""
    text = _text(config, name)
    return (config.invocation_params.dir / text).absolute() if text else None


def _expressions(config: pytest.Config, name: str) -> tuple[tuple[str, ...], Literal["command line", "ini"]]:
    """Return the values of a repeatable option, and the places where they were given."""
    if now := typed(config, name):
        return tuple(now), "command line"
    return tuple(_given(config, name) or ()), "ini"


def _refuse_empty(config: pytest.Config) -> None:
    """Refuse an option without a value, such as ``--mapsat-save=$FILE`` if FILE is not set."""
    for option in OPTIONS.values():
        if option.kind not in ("flag", "optional") and any(not value.strip() for value in typed(config, option.name)):
            raise pytest.UsageError(f"--mapsat-{option.name} is empty: expected {option.metavar}")


# -- the run -------------------------------------------------------------------------------


def _request(config: pytest.Config, rates: dict[str, int]) -> RunRequest:
    """Return the request in the form of the run file; collect the rates of models in ``rates``."""
    fail_under, origin = _expressions(config, "fail-under")
    drops, drops_from = _drops(config)
    rule, trials = _trials(config)
    judge = _without_rates("judge", _value(config, "judge"), rates)
    sample = _text(config, "sample")
    # Whatever is not read as it stands.
    read: dict[str, Any] = {
        "trials": trials,
        "pass_rule": rule,
        "max_drop": drops,
        "max_drop_from": drops_from,
        "shard": _read("shard", _text(config, "shard"), _shard),
        "sample": 0 if sample in ("", "all") else _read("sample", sample, _ANY_NUMBER.read),
        "asserted": _read("fail-on", _value(config, "fail-on"), parse_asserted),
        "fail_under": fail_under,
        "fail_under_from": origin,
        "allow_undecided": _read("allow-undecided", _value(config, "allow-undecided"), _allowance),
        "on_miss": _without_rates("unrecorded", _value(config, "unrecorded"), rates),
        "agent_memory": _without_rates("agent-memory", _value(config, "agent-memory"), rates),
        "judge_votes": _votes(config, judge),
        "metrics": _read("metrics", _text(config, "metrics"), parse_metric_sets),
        "http": _http(config),
        "faults": ",".join(parse_faults(_text(config, "faults"))),
        "manners": "all" if (manners := parse_manners(_text(config, "manners"))) == MANNERS else ",".join(manners),
    }
    for option in OPTIONS.values():
        field, *others = fields_of(option)
        if field in RunOptions.model_fields and field not in read and not others:
            read[field] = _value(config, option.name)
    options = RunOptions(**read)
    agent, user = agent_spec(config), _value(config, "user")
    if options.manners and user == "silent":
        raise UsageError("--mapsat-manners: the silent user says nothing in any manner; leave out --mapsat-user=silent")
    if options.manners and agent.startswith("recorded:"):
        raise UsageError(
            "--mapsat-manners: recorded dialogues are as they are, and their users speak in no other manner"
        )
    return RunRequest(
        agent=_without_rates("agent", agent, rates),
        agent_build=_read("agent-build", _text(config, "agent-build"), _build),
        user=_without_rates("user", user, rates),
        judge=judge,
        options=options,
    )


def _build(text: str) -> str:
    """Return the name of the agent's build, checked."""
    if len(text) > _MOST_TOLD or not text.isprintable():
        raise ValueError(f"found {text[:_MOST_TOLD]!r}, expected at most {_MOST_TOLD} characters, on one line")
    return text


def _http(config: pytest.Config) -> str:
    """Return the form for addressing services; the path of a service file becomes relative to the starting folder of pytest."""
    form = _text(config, "http")
    if not form.endswith((".yaml", ".yml")):
        return form
    return os.path.relpath(config.rootpath / form, config.invocation_params.dir)


def _allowance(text: str) -> str:
    """Return the allowed share of undecided labels, checked."""
    parse_allowance(text)
    return text


def _votes(config: pytest.Config, judge: str) -> int:
    """Return the number of a judge's votes on each label; a judge that asks no model casts one vote."""
    usual = default_votes(judge)
    votes: int = _value(config, "judge-votes") or usual
    if usual == 1 and votes > 1 and typed(config, "judge-votes"):
        raise pytest.UsageError(
            f"--mapsat-judge-votes={votes}: the judge {judge} asks no model; it gives one evaluation"
        )
    return votes if usual > 1 else 1


def _trials(config: pytest.Config) -> tuple[str, int]:
    """Return the pass rule, empty if all trials must pass, and the number of trials."""
    text: str = _value(config, "trials")
    match = re.fullmatch(r"([1-9][0-9]{0,5}/)?([1-9][0-9]{0,5})", text)
    if match is None:
        raise pytest.UsageError(f"--mapsat-trials: found {text!r}, expected N, or K/N as in 3/4")
    rule, trials = text if match[1] else "", int(match[2])
    PassRule.parse(rule, trials)
    return rule, trials


def _shard(text: str) -> str:
    """Return the shard as number and count, checked."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", text)
    if text and (match is None or int(match[1]) > int(match[2])):
        raise ValueError(f"found {text!r}, expected I/N as in 2/8, I from 1 to N")
    return text


def _drops(config: pytest.Config) -> tuple[tuple[str, ...], Literal["command line", "ini"]]:
    """Return the allowed fall of each mean; empty if there is no run for comparison."""
    if _compared(config):
        return _expressions(config, "max-drop")
    lonely = next((name for name in ("max-drop", "inconclusive") if typed(config, name)), None)
    if lonely is not None:
        raise pytest.UsageError(f"--mapsat-{lonely} without a run to compare with: name it with --mapsat-compare=PATH")
    return (), "ini"


def _compared(config: pytest.Config) -> tuple[Path, ...]:
    """Return the runs for comparison; paths are relative to the starting folder of pytest."""
    given, _ = _expressions(config, "compare")
    return tuple((config.invocation_params.dir / text).absolute() for text in given if text.strip())


def _cases(config: pytest.Config) -> tuple[Path, ...]:
    """Return the suites of ``--mapsat-cases``, which are collected in addition to pytest's arguments."""
    typed_here = config.getoption("mapsat_cases") is not None
    base = config.invocation_params.dir if typed_here else config.rootpath
    paths = [base / text for text in _given(config, "cases")]
    for path in paths:
        if not path.exists():
            raise pytest.UsageError(f"--mapsat-cases: there is nothing at {path}")
    if not paths and (config.rootpath / "benchmark_cases").is_dir():
        paths = [config.rootpath / "benchmark_cases"]
    return tuple(Path(os.path.abspath(path)) for path in paths)  # noqa: PTH100  resolve() would leave links


def _tools(config: pytest.Config) -> str:
    """Return the spec of the tools that answer calls without a recording; empty if there are none."""
    mode, tools = _value(config, "unrecorded"), _text(config, "tools")
    if mode not in ("strict", "record"):
        raise pytest.UsageError(f"--mapsat-unrecorded: found {mode!r}, expected strict or record")
    if mode == "record" and not tools:
        raise pytest.UsageError(
            "--mapsat-unrecorded=record asks your own tools: name them with --mapsat-tools=module:attr"
        )
    if mode != "record" and tools:
        raise pytest.UsageError("--mapsat-tools are asked only with --mapsat-unrecorded=record; give both")
    return tools if mode == "record" else ""


def _reports(config: pytest.Config) -> tuple[ReportTarget, ...]:
    """Return the reports; paths are relative to the starting folder of pytest."""
    texts = _given(config, "report")
    return _read("report", "", lambda _: parse_reports(texts, config.invocation_params.dir)) if texts else ()


def _without_rates(name: str, spec: str, rates: dict[str, int]) -> str:
    """Return a model's spec without its rates, which do not affect answers; the lowest given rate applies to all models."""
    head, mark, query = spec.partition("?")
    if not mark or head.partition(":")[0] not in _MODEL_KINDS:
        return spec
    kept = []
    for part in query.split("&"):
        key, _, value = part.partition("=")
        if key not in ("rpm", "tpm"):
            kept.append(part)
            continue
        number = _read(name, value, _ANY_NUMBER.read)
        if number is None:
            raise pytest.UsageError(f"--mapsat-{name}={spec}: {key} is empty: expected a whole number")
        rates[key] = min(number, rates.get(key, number))
    return f"{head}?{'&'.join(kept)}" if kept else head


# -- where agents run ----------------------------------------------------------------------


def _executor(config: pytest.Config) -> str:
    """Return the address of the dask scheduler that plays the episodes; empty if this process plays them."""
    spec: str = _value(config, "executor")
    if spec == "local":
        return ""
    kind, _, address = spec.partition(":")
    if kind != "dask" or not re.fullmatch(r"[\w.:/\[\]-]{1,300}", address, re.ASCII):
        raise pytest.UsageError(
            f"--mapsat-executor: found {spec!r}, expected local, or dask:ADDRESS as in dask:tcp://host:8786"
        )
    if agent_spec(config) == "fixture":
        raise pytest.UsageError(
            f"--mapsat-executor={spec}: the agent of a fixture is an object of this process: name it as module:attr, or leave --mapsat-executor out"
        )
    return address


def _hosts(config: pytest.Config) -> frozenset[str]:
    """Return the hosts that an isolated agent may connect to."""
    hosts = frozenset(filter(None, map(str.strip, _text(config, "allow-hosts").split(","))))
    if odd := [host for host in sorted(hosts) if not re.fullmatch(r"[\w.-]+(:[0-9]{1,5})?", host)]:
        raise pytest.UsageError(
            f"--mapsat-allow-hosts: found {odd[0]!r}, expected hosts with commas between, such as api.example.com,127.0.0.1:8080"
        )
    return hosts


def _isolation(config: pytest.Config) -> Isolation | None:
    """Return the terms of isolation for agents; None if they are not isolated."""
    text = _text(config, "isolate") or "off"
    if text == "off":
        return None
    passed: dict[str, str] = {}
    memory = 0
    for part in () if text == "on" else text.split(","):
        kind, _, value = part.strip().partition(":")
        if kind == "env":
            passed |= _variable_passed_on(config, value)
        elif kind == "memory":
            memory = _memory(value)
        else:
            raise pytest.UsageError(
                f"--mapsat-isolate: found {part.partition('=')[0]!r}, expected on, off, or env:NAME and memory:MB with commas between; "
                "before a path write --mapsat-isolate=on"
            )
    if not hasattr(os, "fork"):
        raise pytest.UsageError(f"--mapsat-isolate needs a system that can fork, such as Linux or macOS: {_SWITCH_OFF}")
    if agent_spec(config) == "fixture":
        raise pytest.UsageError(
            "--mapsat-isolate: the agent of a fixture is an object of this process and cannot be made in another one: name it as "
            f"module:attr, or {_SWITCH_OFF}"
        )
    from pytest_mapsat.agents.isolated import Isolation  # noqa: PLC0415 (only where it is asked for)

    return Isolation((), passed, memory)


def _variable_passed_on(config: pytest.Config, name: str) -> dict[str, str]:
    """Return the value of an environment variable for an isolated agent; a typed variable that is not set is an error."""
    option = f"--mapsat-isolate=env:{name}"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,255}", name):
        shown_name = name.partition("=")[0] + "=..." if "=" in name else repr(name)
        raise pytest.UsageError(
            f"--mapsat-isolate=env: found {shown_name}, expected the name of a variable; its value is that of the environment"
        )
    if name == "PYTEST_CURRENT_TEST":
        raise pytest.UsageError(f"{option}: it names the case, which no agent is told")
    if name not in os.environ and typed(config, "isolate"):
        raise pytest.UsageError(f"{option}: it is not set in the environment")
    return {name: os.environ[name]} if name in os.environ else {}


def _memory(text: str) -> int:
    """Return the memory limit of an isolated agent in megabytes."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not _LEAST_MEMORY <= int(text) <= _MOST_MEMORY:
        raise pytest.UsageError(
            f"--mapsat-isolate=memory: found {text!r}, expected megabytes, a whole number from {_LEAST_MEMORY} to {_MOST_MEMORY}"
        )
    if not sys.platform.startswith("linux"):
        raise pytest.UsageError("--mapsat-isolate=memory needs Linux: no other system holds a process to it")
    return int(text)


# -- what suites say -----------------------------------------------------------------------


def with_suites(settings: Settings, suites: Iterable[Suite]) -> Settings:
    """Return the settings with the values that the run's suites set for options that were not given.

    Raises:
        UsageError: two suites say different things.
    """
    values: dict[str, tuple[object, Suite]] = {}
    for suite in suites:
        for option, value in _values_of_suite(suite, settings).items():
            other, by = values.setdefault(option, (value, suite))
            if other != value:
                names = f"{by.manifest.name} says {setting_text(other)} and {suite.manifest.name} {setting_text(value)}"
                way_out = "run them one at a time" if option == "sample" else "give the option"
                raise UsageError(f"--mapsat-{option}: the suites differ, {names}: {way_out}")
    changes = {_field_of(option): value for option, (value, _) in values.items()}
    user = changes.pop("user", settings.request.user)
    sample: Any = changes.pop("sample", None)
    if sample is not None:
        changes |= {"sample_by": sample.by, "sample_seed": sample.seed}
    return settings.with_request(options=settings.request.options.model_copy(update=changes), user=user)


def refuse_other_defaults(settings: Settings, suite: Suite) -> None:
    """Refuse a suite found during collection if its option values differ from those at the start of the run.

    Raises:
        SuiteError: it does; with the manifest's line.
    """
    request = settings.request
    for option, value in _values_of_suite(suite, settings).items():
        if option == "sample":
            continue  # its own sample is drawn as it says
        now = getattr(request if option == "user" else request.options, _field_of(option))
        if value != now:
            key = OPTIONS[option].suite.partition(".")[0]
            path, line = suite.manifest_place(key)
            message = (
                f"{key}: it says {setting_text(value)} for {option}, and this run has begun with {setting_text(now)}"
            )
            hint = f"name the suite with --mapsat-cases, or give --mapsat-{option}"
            raise SuiteError(Problem(shown_path(path), line, message, hint))


def _field_of(option: str) -> str:
    """Return the field of the request that an option in a suite sets."""
    return "asserted" if option == "fail-on" else fields_of(OPTIONS[option])[0]


def _values_of_suite(suite: Suite, settings: Settings) -> dict[str, object]:
    """Return the option values that a suite sets, for options that were not given."""
    values = {}
    for name, option in _OF_SUITES.items():
        value = attrgetter("asserted" if name == "fail-on" else option.suite)(suite.manifest)
        asked = bool(settings.request.options.sample) if name == "sample" else name in settings.unsaid
        if asked and value is not None:
            values[name] = value
    return values
