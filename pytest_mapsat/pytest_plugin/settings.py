"""What was asked for, read from the command line and the ini file, and checked: one frozen value."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from .executing import read_executor
from .isolating import IsolationSettings, read_isolation
from .options import OPTIONS, agent_spec, dest_of, path_of, seconds_of, text_of, typed, whole_of, word_of

if TYPE_CHECKING:
    from pytest_mapsat.model import Asserted, RunRequest
    from pytest_mapsat.reports import ReportTarget

#: Evaluations of one dialogue at most, and episodes under way.
_MOST_VOTES = 99
MOST_AT_ONCE = 1_000

CacheMode = Literal["auto", "only", "refresh", "off"]


@dataclass(frozen=True)
class ModelSettings:
    """How models are asked. Nothing of it stands in the run file: it decides what is asked when, not what is answered.

    Attributes:
        cache: what kept answers are used for.
        max_cost: US dollars that the run may spend; None: any sum.
        max_tokens: tokens that it may use; None: any number.
        requests_a_minute: calls of all processes together; 0: any number.
        tokens_a_minute: likewise.
    """

    cache: CacheMode = "auto"
    max_cost: float | None = None
    max_tokens: int | None = None
    requests_a_minute: int = 0
    tokens_a_minute: int = 0


@dataclass(frozen=True)
class Settings:
    """What was asked for, checked.

    Attributes:
        request: what the run file says of it.
        cases: suites or parts of suites, absolute; empty where the default suite does not exist.
        cases_named: whether an option names them.
        save: where the run file goes, absolute.
        resume: the journal or run file to go on from, absolute.
        agent_named: whether the agent was named on the command line itself, not in an ini file or in ``addopts``.
        save_named: likewise for the run file.
        decisions: the file of people's decisions, absolute; None: that of each suite.
        tools: the spec of the user's own tools; empty where calls that miss stay without an answer.
        compare: the runs to compare with, absolute: the last green one, then an anchor.
        durations: the run by whose durations shards are balanced, absolute.
        reports: the reports that are written at the end.
        unsaid: options that suites have a say in, and neither the command line nor the ini names.
        models: how models are asked, where any is.
        isolation: how agents are kept apart; None: they share our process.
        concurrency: episodes under way at once in this process; 0: as many as usual for the agent.
        executor: the address of the scheduler of dask that episodes are handed to; empty: they are played here.
    """

    request: RunRequest
    cases: tuple[Path, ...]
    cases_named: bool
    save: Path | None
    resume: Path | None
    agent_named: bool
    save_named: bool
    decisions: Path | None = None
    tools: str = ""
    compare: tuple[Path, ...] = ()
    durations: Path | None = None
    reports: tuple[ReportTarget, ...] = ()
    unsaid: frozenset[str] = frozenset()
    models: ModelSettings = ModelSettings()
    isolation: IsolationSettings | None = None
    concurrency: int = 0
    executor: str = ""

    def with_options(self, **changes: object) -> Settings:
        """Return the settings with other options in the request."""
        options = self.request.options.model_copy(update=changes)
        return replace(self, request=self.request.model_copy(update={"options": options}))

    def with_user(self, user: str) -> Settings:
        """Return the settings with another user in the request."""
        return replace(self, request=self.request.model_copy(update={"user": user}))

    def with_source(self, digest: str) -> Settings:
        """Return the settings with a digest of the agent's source in the request."""
        return replace(self, request=self.request.model_copy(update={"agent_source": digest}))


def read_settings(config: pytest.Config) -> Settings:
    """Return the settings of this run.

    Raises:
        pytest.UsageError: a value cannot be used.
    """
    _refuse_empty(config)
    decisions = _decisions(config)
    tools = _tools(config)
    return Settings(
        request=_request(config, decisions),
        cases=_cases(config),
        cases_named=config.getoption(dest_of("cases")) is not None,
        save=path_of(config, "save"),
        resume=path_of(config, "resume"),
        agent_named=bool(typed(config, "agent")),
        save_named=bool(typed(config, "save")),
        decisions=decisions,
        tools=tools,
        compare=_compared(config),
        durations=path_of(config, "durations"),
        reports=_reports(config),
        unsaid=frozenset(name for name in ("assert", "max-turns", "timeout", "user") if not text_of(config, name, "")),
        models=_models(config),
        isolation=read_isolation(config),
        concurrency=_concurrency(config),
        executor=read_executor(config),
    )


def _request(config: pytest.Config, decisions: Path | None) -> RunRequest:
    """Return what the run file says of what was asked for."""
    from pytest_mapsat.model import RunOptions, RunRequest  # noqa: PLC0415 (pydantic: only where an agent is active)

    fail_under, origin = _expressions(config, "fail-under")
    drops, drops_from = _drops(config)
    rule, trials = _trials(config)
    judge = text_of(config, "judge", "checks")
    options = RunOptions(
        trials=trials,
        pass_rule=rule,
        compare_fail=drops,
        compare_fail_from=drops_from,
        compare_on=word_of(config, "compare-on", ("all", "common")),
        inconclusive=word_of(config, "inconclusive", ("pass", "fail")),
        shard=_shard(config),
        **_sample(config),
        max_turns=whole_of(config, "max-turns", 10, at_least=1),
        timeout_seconds=seconds_of(config, "timeout", 300.0),
        asserted=_asserted(text_of(config, "assert", "explicit,hard,facts")),
        fail_under=fail_under,
        fail_under_from=origin,
        allow_lost=whole_of(config, "allow-lost", 0, at_least=0),
        allow_undecided=_allowance(config),
        on_miss=text_of(config, "on-miss", "strict"),
        judge_votes=_votes(config, judge),
        profile=word_of(config, "profile", ("off", "on")) == "on",
        metrics=_families(text_of(config, "metrics", "")),
        form=word_of(config, "form", ("off", "on")) == "on",
    )
    return RunRequest(
        agent=agent_spec(config),
        user=text_of(config, "user", "scripted"),
        judge=judge,
        decisions=_digest(decisions),
        options=options,
    )


def _models(config: pytest.Config) -> ModelSettings:
    tokens = whole_of(config, "max-tokens", 0, at_least=0)
    return ModelSettings(
        cache=word_of(config, "cache", ("auto", "only", "refresh", "off")),
        max_cost=_dollars(config),
        max_tokens=tokens or None,
        requests_a_minute=whole_of(config, "rpm", 0, at_least=0),
        tokens_a_minute=whole_of(config, "tpm", 0, at_least=0),
    )


def _dollars(config: pytest.Config) -> float | None:
    text = text_of(config, "max-cost", "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= 1e9:  # noqa: PLR2004 (more than anybody has)
        raise pytest.UsageError(f"--mapsat-max-cost: found {text!r}, expected US dollars, more than 0")
    return value


def _votes(config: pytest.Config, judge: str) -> int:
    """Return how many evaluations a judge gives: one that asks no model gives one, whatever an ini file says."""
    from pytest_mapsat.judges import default_votes  # noqa: PLC0415

    usual = default_votes(judge)
    votes = whole_of(config, "judge-votes", usual, at_least=1)
    if votes > _MOST_VOTES:
        raise pytest.UsageError(f"--mapsat-judge-votes: found {votes}, expected at most {_MOST_VOTES}")
    if usual == 1 and votes > 1 and typed(config, "judge-votes"):
        raise pytest.UsageError(
            f"--mapsat-judge-votes={votes}: the judge {judge} asks no model; it gives one evaluation"
        )
    return votes if usual > 1 else 1


def _concurrency(config: pytest.Config) -> int:
    text = text_of(config, "concurrency", "")
    if text and not (re.fullmatch(r"[0-9]{1,9}", text) and 1 <= int(text) <= MOST_AT_ONCE):
        raise pytest.UsageError(
            f"--mapsat-concurrency: found {text!r}, expected a whole number from 1 to {MOST_AT_ONCE:,}: the episodes that are under way at once"
        )
    return int(text or 0)


def _asserted(text: str) -> tuple[Asserted, ...]:
    from pytest_mapsat.runs.request import parse_asserted  # noqa: PLC0415 (pydantic: only where an agent is active)

    try:
        return parse_asserted(text)
    except ValueError as error:
        raise pytest.UsageError(f"--mapsat-assert: {error}") from None


def _families(text: str) -> tuple[str, ...]:
    from pytest_mapsat.runs.request import parse_families  # noqa: PLC0415 (pydantic: only where an agent is active)

    try:
        return parse_families(text)
    except ValueError as error:
        raise pytest.UsageError(f"--mapsat-metrics: {error}") from None


def _expressions(config: pytest.Config, name: str) -> tuple[tuple[str, ...], Literal["command line", "ini"]]:
    """Return the values of a repeatable option, and where they were given."""
    if now := typed(config, name):
        return tuple(now), "command line"
    given: list[str] | None = config.getoption(dest_of(name))
    return tuple(config.getini(dest_of(name)) if given is None else given), "ini"


def _drops(config: pytest.Config) -> tuple[tuple[str, ...], Literal["command line", "ini"]]:
    """Return how much means may fall; nothing where there is no run to compare with, which from an ini file is meant so."""
    drops, origin = _expressions(config, "compare-fail")
    if _compared(config):
        return drops, origin
    lonely = next((name for name in ("compare-fail", "compare-on", "inconclusive") if typed(config, name)), None)
    if lonely is not None:
        raise pytest.UsageError(f"--mapsat-{lonely} without a run to compare with: name it with --mapsat-compare=PATH")
    return (), "ini"


def _compared(config: pytest.Config) -> tuple[Path, ...]:
    """Return the runs to compare with: paths start from where pytest was started."""
    given, _ = _expressions(config, "compare")
    return tuple((config.invocation_params.dir / text).absolute() for text in given if text.strip())


def _allowance(config: pytest.Config) -> str:
    from pytest_mapsat.gate import parse_allowance  # noqa: PLC0415 (pydantic: only where an agent is active)

    text = text_of(config, "allow-undecided", "0")
    try:
        parse_allowance(text)
    except ValueError as error:
        raise pytest.UsageError(f"--mapsat-allow-undecided: {error}") from None
    return text


def _trials(config: pytest.Config) -> tuple[str, int]:
    """Return the pass rule and the number of trials, which the rule gives where nothing else does."""
    from pytest_mapsat.metrics import PassRule  # noqa: PLC0415 (pydantic: only where an agent is active)
    from pytest_mapsat.model import UsageError  # noqa: PLC0415 (likewise)

    rule = text_of(config, "pass-rule", "")
    last = rule.rpartition("/")[2]
    trials = whole_of(config, "trials", int(last) if re.fullmatch(r"[1-9][0-9]{0,5}", last) else 1, at_least=1)
    try:
        PassRule.parse(rule, trials)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    return rule, trials


def _sample(config: pytest.Config) -> dict[str, Any]:
    """Return which cases the run is of. How a sample is drawn may stand in an ini file for runs of all cases too."""
    size, names = text_of(config, "sample", "all"), text_of(config, "sample-by", "")
    by = tuple(name.strip() for name in names.split(",")) if names else ()
    if not all(by) or len(set(by)) < len(by):
        raise pytest.UsageError(
            f"--mapsat-sample-by: found {names!r}, expected attributes with commas between, each once"
        )
    seed = whole_of(config, "sample-seed", 0, at_least=0)
    if size != "all":
        return {"sample": whole_of(config, "sample", 0, at_least=1), "sample_by": by, "sample_seed": seed}
    lonely = next((name for name in ("sample-by", "sample-seed") if typed(config, name)), None)
    if lonely is not None:
        raise pytest.UsageError(f"--mapsat-{lonely} says how a sample is drawn: give --mapsat-sample=N too")
    return {}


def _shard(config: pytest.Config) -> str:
    text = text_of(config, "shard", "")
    found = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", text)
    if text and (found is None or int(found[1]) > int(found[2])):
        raise pytest.UsageError(f"--mapsat-shard: found {text!r}, expected I/N as in 2/8, I from 1 to N")
    if not text and typed(config, "durations"):
        raise pytest.UsageError("--mapsat-durations balances the parts of --mapsat-shard=I/N; give both")
    return text


def _decisions(config: pytest.Config) -> Path | None:
    """Return the file of people's decisions: from where pytest was started, or from the root where the ini file names it."""
    text = text_of(config, "decisions", "")
    base = config.rootpath if config.getoption(dest_of("decisions")) is None else config.invocation_params.dir
    return (base / text).absolute() if text else None


def _tools(config: pytest.Config) -> str:
    """Return the spec of the tools that are asked where no recording answers; empty where none are."""
    mode, tools = text_of(config, "on-miss", "strict"), text_of(config, "tools", "")
    if mode not in ("strict", "record") and not mode.startswith("simulate:"):
        raise pytest.UsageError(f"--mapsat-on-miss: found {mode!r}, expected strict, record or simulate:MODEL")
    if mode.startswith("simulate:"):
        _refuse_no_model(mode)
    if mode == "record" and not tools:
        raise pytest.UsageError(
            "--mapsat-on-miss=record asks your own tools: name them with --mapsat-tools=module:attr"
        )
    if mode != "record" and typed(config, "tools"):
        raise pytest.UsageError("--mapsat-tools are asked only with --mapsat-on-miss=record; give both")
    return tools if mode == "record" else ""


def _refuse_no_model(mode: str) -> None:
    from pytest_mapsat.llm import named_model  # noqa: PLC0415 (pydantic: only where an agent is active)
    from pytest_mapsat.model import UsageError  # noqa: PLC0415 (likewise)

    try:
        named_model(mode.partition(":")[2], f"--mapsat-on-miss={mode}")
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _reports(config: pytest.Config) -> tuple[ReportTarget, ...]:
    """Return the reports: paths start from where pytest was started, or from the root where the ini file names them."""
    given: list[str] | None = config.getoption(dest_of("report"))
    root = config.rootpath if given is None else config.invocation_params.dir
    texts = config.getini(dest_of("report")) if given is None else given
    if not texts:
        return ()
    from pytest_mapsat.model import UsageError  # noqa: PLC0415 (pydantic: only where an agent is active)
    from pytest_mapsat.reports import parse_reports  # noqa: PLC0415 (likewise)

    try:
        return parse_reports(texts, root)
    except UsageError as error:
        raise pytest.UsageError(f"--mapsat-report: {error}") from None


def _digest(decisions: Path | None) -> str:
    if decisions is None:
        return ""
    from pytest_mapsat.model import MapsatError  # noqa: PLC0415 (pydantic: only where an agent is active)
    from pytest_mapsat.runs.regrade import decisions_digest  # noqa: PLC0415 (likewise)

    try:
        return decisions_digest(decisions)
    except MapsatError as error:
        raise pytest.UsageError(f"--mapsat-decisions: {error}") from None


def _cases(config: pytest.Config) -> tuple[Path, ...]:
    """Return the suites that belong to the run besides what pytest itself collects."""
    given: list[str] | None = config.getoption(dest_of("cases"))
    if given is not None:
        paths = [config.invocation_params.dir / text for text in given]
    else:
        paths = [config.rootpath / text for text in config.getini(dest_of("cases"))]
    for path in paths:
        if not path.exists():
            raise pytest.UsageError(f"--mapsat-cases: there is nothing at {path}")
    if not paths and (config.rootpath / "benchmark_cases").is_dir():
        paths = [config.rootpath / "benchmark_cases"]
    return tuple(Path(os.path.abspath(path)) for path in paths)  # noqa: PTH100  resolve() would leave links


def _refuse_empty(config: pytest.Config) -> None:
    """Refuse an option that was typed without a value, as ``--mapsat-save=$FILE`` is where FILE is not set."""
    for option in OPTIONS:
        if not option.flag and any(not value.strip() for value in typed(config, option.name)):
            raise pytest.UsageError(f"--mapsat-{option.name} is empty: expected {option.metavar}")
