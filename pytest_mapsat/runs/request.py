"""The request for a run: its cases (samples, each the beginning of one order of a suite's cases, and shards), options, metrics and models."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from itertools import chain, zip_longest
from pathlib import Path
from types import ModuleType
from typing import get_args

from pytest_mapsat.agents import MODEL_KINDS, SERVICE_SCHEMES, memory_asks_model, names_own_code
from pytest_mapsat.formats import shown_path
from pytest_mapsat.gate import EACH_CASE, Ceiling, Drop, Threshold, parse_drops, parse_thresholds
from pytest_mapsat.judges import asks_model
from pytest_mapsat.llm import ceilings_met
from pytest_mapsat.metrics import MSB, MetricSet, metric_sets_named
from pytest_mapsat.model import (
    Asserted,
    MapsatError,
    Metric,
    Problem,
    RunOptions,
    RunRequest,
    SuiteError,
    UsageError,
    did_you_mean,
    shown,
)
from pytest_mapsat.suite import CaseEntry, Suite

#: Files of an agent's package that are read at most.
_MOST_FILES = 2_000
_METRIC_SET = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_MOST_METRIC_SETS = 20
_KINDS: tuple[Asserted, ...] = tuple(kind for kind in get_args(Asserted) if kind != "none")


def parse_asserted(text: str) -> tuple[Asserted, ...]:
    """Return the kinds of requirements that a list like ``hard,facts``, ``all`` or ``none`` names, sorted.

    Raises:
        ValueError: it names something else; with what was expected.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    if words == {"all"}:
        # All labels; not every suite names its success.
        return asserted_kinds(kind for kind in _KINDS if kind != "success")
    if words == {"none"}:
        return ("none",)
    unknown = sorted(words - set(_KINDS))
    if unknown or not words:
        wrong_word = unknown[0] if unknown else text
        hint = did_you_mean(wrong_word, (*_KINDS, "all", "none"))
        expected = f"expected {', '.join(_KINDS)} (comma between), all, or none"
        raise ValueError(f"found {wrong_word!r}, {expected}" + (f"; {hint}" if hint else ""))
    return asserted_kinds(words)


def parse_metric_sets(text: str) -> tuple[str, ...]:
    """Return the metric sets that a list like ``pipa,mobility`` names, in its order.

    Raises:
        ValueError: a name is missing between commas, or is listed twice; with what was expected.
    """
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if "" in names:
        raise ValueError(f"found nothing between the commas of {text!r}, expected names of metric sets")
    if (odd := next((name for name in names if not _METRIC_SET.fullmatch(name)), None)) is not None:
        raise ValueError(f"{odd!r} is not a name of a metric set: expected letters, digits, '_', '.', '-'")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} is listed twice")
    if len(names) > _MOST_METRIC_SETS:
        raise ValueError(f"found {len(names)} metric sets, expected at most {_MOST_METRIC_SETS}")
    return tuple(names)


def asserted_kinds(names: Iterable[str]) -> tuple[Asserted, ...]:
    """Return the kinds of requirements among some names, sorted as in a run file; only ``none`` if there are none."""
    return tuple(sorted(set(_KINDS).intersection(names))) or ("none",)


def thresholds_of(options: RunOptions, metrics: Sequence[Metric]) -> tuple[Threshold | Ceiling, ...]:
    """Return the parsed thresholds and ceilings of a run with these metrics.

    Raises:
        UsageError: one cannot be read.
    """
    return parse_thresholds([(text, options.fail_under_from) for text in options.fail_under], metrics)


def drops_of(options: RunOptions, metrics: Sequence[Metric]) -> tuple[Drop, ...]:
    """Return the parsed limits on the fall of means, for a run with these metrics.

    Raises:
        UsageError: one cannot be read.
    """
    return parse_drops([(text, options.max_drop_from) for text in options.max_drop], metrics)


def source_digest(spec: str, agent: object, others: Iterable[Path] = ()) -> str:
    """Return a digest of an agent's source code: the files of its top package, its module or its recording.

    Args:
        spec: the agent's spec; its module counts, as the user named it.
        agent: the object itself, whose module counts where the spec names none; None where it is not in this process.
        others: further files that make the agent, such as the ``conftest.py`` of a fixture.

    Returns:
        16 hex digits; empty where no file can be read.
    """
    kind, _, rest = spec.partition(":")
    if ":" in rest and names_own_code(spec):
        kind, _, rest = rest.partition(":")  # behind the name of a framework
    if kind == "baseline":
        return ""
    module = sys.modules.get(kind) or sys.modules.get(getattr(agent, "__module__", None) or type(agent).__module__)
    if kind == "cmd" or kind in SERVICE_SCHEMES:
        own = list(map(Path, getattr(agent, "files", ())))  # the rest of its code is elsewhere
    elif kind == "recorded":
        own = [Path(rest)]
    else:
        own = _files_unloaded(kind) if agent is None and rest else _files_of(module)
    files = sorted({*others, *own})
    sha = hashlib.sha256()
    read = 0
    for path in files[:_MOST_FILES]:
        with suppress(OSError):
            sha.update(f"{path.name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode("utf-8", "replace"))
            read += 1
    return sha.hexdigest()[:16] if read else ""


def project_files(root: Path) -> list[Path]:
    """Return the files of a project's modules loaded in this process, without tests, installed packages and this package.

    Args:
        root: the project's folder.
    """
    # A process has a thousand modules and more, and each run asks: texts are compared, as a path of each takes far longer.
    inside, ours = (
        os.path.normcase(os.path.join(folder, ""))  # noqa: PTH118  with the separator at the end
        for folder in (root, Path(__file__).resolve().parents[1])
    )
    installed = f"{os.sep}site-packages{os.sep}"
    files = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py") or name.rpartition(".")[2].startswith("test_"):
            continue
        place = os.path.normcase(file)
        if place.startswith(inside) and not place.startswith(ours) and installed not in place:
            files.append(Path(file))
    return files


def _files_unloaded(name: str) -> list[Path]:
    """Return the files of a module's top package, found without loading it; empty if it is not found."""
    module_spec = None
    with suppress(ImportError, ValueError, AttributeError):
        module_spec = importlib.util.find_spec(name.partition(".")[0])
    folders = module_spec.submodule_search_locations if module_spec else None
    if module_spec is None or not (folders or module_spec.has_location):
        return []
    return _python_files(folders or ()) or [Path(module_spec.origin or "")]


def _python_files(folders: Iterable[str]) -> list[Path]:
    """Return all Python files below some folders."""
    return [path for folder in folders for path in Path(folder).rglob("*.py")]


def _files_of(module: ModuleType | None) -> list[Path]:
    """Return the files of a loaded module's top package, or its own file; empty if there are none."""
    file = getattr(module, "__file__", None)
    if module is None or not file:
        return []
    top = sys.modules.get(module.__name__.partition(".")[0])
    return _python_files(getattr(top, "__path__", ())) or [Path(file)]


_ADDED_BY = (
    "install the package that adds it, or add it with the hook pytest_mapsat_metrics; mapsat regrade takes -p MODULE"
)


def metric_sets_of(suite: Suite, known: Mapping[str, MetricSet], others: Sequence[str] = ()) -> tuple[MetricSet, ...]:
    """Return the metric sets that measure a suite: its own, then other requested sets.

    Args:
        suite: the suite.
        known: all metric sets, by name.
        others: names of metric sets that were asked for besides the suite's own.

    Raises:
        SuiteError: one that it declares does not exist, or the metric of success is of none of them; with the manifest's line.
        UsageError: one that was asked for does not exist.
    """
    try:
        own = metric_sets_named(suite.manifest.metrics, known)
    except UsageError as error:
        raise _manifest_error(suite, "metrics", str(error), _ADDED_BY) from None
    names = [metric.name for metric_set in own for metric in metric_set.metrics if metric.gated]
    if suite.manifest.success is not None and suite.manifest.success not in names:
        hint = did_you_mean(suite.manifest.success, names) or f"it has {', '.join(names)}"
        raise _manifest_error(
            suite, "success", f"no metric set of the suite has the metric {suite.manifest.success!r}", hint
        )
    return (*own, *asked_for([name for name in others if name not in suite.manifest.metrics], known))


def asked_for(names: Sequence[str], known: Mapping[str, MetricSet]) -> tuple[MetricSet, ...]:
    """Return the metric sets with these names, as given by ``mapsat_metrics`` in an ini file.

    Raises:
        UsageError: one of them does not exist.
    """
    try:
        return metric_sets_named(names, known)
    except UsageError as error:
        raise UsageError(f"metrics: {error}") from None


def labels_asked(metric_sets: Iterable[MetricSet]) -> frozenset[str]:
    """Return the kinds of labels that the metric sets need besides labels of requirements."""
    return frozenset().union(*(metric_set.labels for metric_set in metric_sets))


def _manifest_error(suite: Suite, key: str, message: str, hint: str) -> SuiteError:
    """Return a SuiteError at a key of a suite's manifest."""
    path, line = suite.manifest_place(key)
    return SuiteError(Problem(shown_path(path), line, f"{key}: {message}", hint))


def metrics_of(
    suites: Iterable[Suite], known: Mapping[str, MetricSet], others: Sequence[str] = ()
) -> tuple[Metric, ...]:
    """Return the metrics of a run of some suites; those of MapSatisfyBench if there is no suite.

    Raises:
        SuiteError: a suite declares a metric set that does not exist.
        UsageError: one that was asked for does not exist.
    """
    metric_sets = {
        metric_set.name: metric_set for suite in suites for metric_set in metric_sets_of(suite, known, others)
    }
    return all_metrics(metric_sets or {MSB.name: MSB})


def all_metrics(known: Mapping[str, MetricSet]) -> tuple[Metric, ...]:
    """Return the metrics of all metric sets, in their order."""
    return tuple(metric for metric_set in known.values() for metric in metric_set.metrics)


def refuse_undeclared(options: RunOptions, suites: Sequence[Suite], known: Mapping[str, MetricSet]) -> None:
    """Check that the run's suites have all metrics and domains in thresholds and drops, and a success metric if asserted.

    Raises:
        UsageError: none of its suites does, or there is no such metric, metric set or domain.
    """
    if "success" in options.asserted and not any(suite.manifest.success for suite in suites):
        raise UsageError(
            "--mapsat-fail-on: no suite of this run says what counts as done: name success: METRIC in suite.yaml"
        )
    if not options.fail_under and not options.max_drop:
        return
    everything = all_metrics(known)
    measured = {metric.name for metric in metrics_of(suites, known, options.metrics)}
    metric_sets = {metric.name: metric.metric_set for metric in everything}
    rules: list[tuple[str, Threshold | Ceiling | Drop]] = [
        ("fail-under", threshold) for threshold in thresholds_of(options, everything)
    ]
    rules += [("max-drop", drop) for drop in drops_of(options, everything)]
    for option, rule in rules:
        if rule.domain and not (isinstance(rule, Ceiling) and rule.domain == EACH_CASE):
            _refuse_unknown_domain(option, rule, suites)
        metric_set = metric_sets.get(rule.metric)
        if metric_set is not None and rule.metric not in measured:
            raise UsageError(
                f"--mapsat-{option}: no suite of this run declares the metric {rule.metric}: name its metric set {metric_set!r} "
                f"under metrics: in suite.yaml, or as mapsat_metrics in an ini file"
            )


def _refuse_unknown_domain(option: str, rule: Threshold | Ceiling | Drop, suites: Sequence[Suite]) -> None:
    """Raise UsageError for a rule's domain that no case has; for a rule in the ini file only if the domain looks like a typo."""
    # Also those of a file that cannot be read.
    declared = {domain for suite in suites for domain in suite.manifest.domains}
    domains = sorted(declared.union(*(entry.domains for suite in suites for entry in suite.readable())))
    hint = did_you_mean(rule.domain, domains)
    if rule.domain not in domains and (hint or rule.origin == "command line"):
        expected = f"expected one of {', '.join(domains)}" if domains else "its cases have none"
        message = f"no case of this run's suites is of the domain {shown(rule.domain)}, {expected}"
        raise UsageError(f"--mapsat-{option}: {message}" + (f", {hint}" if hint else ""))


class CeilingReachedError(MapsatError):
    """Raised if an episode would exceed the spending limit for models; it gets no scorecard and can be resumed later."""


@contextmanager
def within_ceilings() -> Iterator[None]:
    """Run a block that asks models, and raise an error at its end if a spending ceiling was reached.

    Raises:
        CeilingReachedError: it asked for more than the run may spend; at the end of the block, if that comes to one.
    """
    with ceilings_met() as met:
        yield
    if met:
        raise CeilingReachedError(met[-1])


def asks_models(request: RunRequest) -> bool:
    """Return whether a run uses any model as agent, memory, user or judge."""
    return (
        memory_asks_model(request.options.agent_memory)
        or request.agent.partition(":")[0] in MODEL_KINDS
        or request.user.startswith("llm:")
        or asks_model(request.judge)
    )


def prompts_of(request: RunRequest, judged: Collection[str] = ()) -> dict[str, str]:
    """Return the versions and digests of the prompts for a run's models, by ``language/name``; empty without models.

    Args:
        request: what the run is asked for.
        judged: kinds of labels that a model gave: those beside the requirements have prompts of their own.
    """
    if not asks_models(request):
        return {}
    from pytest_mapsat.agents.memory import MEMORY_PROMPTS  # noqa: PLC0415 (rooms of models: where there are some)
    from pytest_mapsat.agents.models import AGENT_PROMPTS  # noqa: PLC0415 (likewise)
    from pytest_mapsat.llm import marks  # noqa: PLC0415 (likewise)
    from pytest_mapsat.users import USER_PROMPTS  # noqa: PLC0415 (likewise)

    names = [name for kind, used in AGENT_PROMPTS.items() if request.agent.partition(":")[0] == kind for name in used]
    names += MEMORY_PROMPTS.get(request.options.agent_memory.partition(":")[0], ())
    names += USER_PROMPTS.get(request.user.partition(":")[0], ())
    if asks_model(request.judge):
        from pytest_mapsat.judges import BESIDE_PROMPTS, PROMPTS  # noqa: PLC0415 (likewise)

        names += PROMPTS
        names += (name for kind, name in BESIDE_PROMPTS.items() if kind in judged)
    return marks(*names)


# -- parts of a suite --------------------------------------------------------------------------------------------------

#: What cases can be spread over besides their attributes: fields of a case's header.
_FIELDS = ("domain", "difficulty", "language", "group")


def entries_of(suite: Suite, options: RunOptions) -> tuple[CaseEntry, ...]:
    """Return the accepted cases of a suite in a run: its sample, or every readable case, with their variants.

    Raises:
        SuiteError: intervals are to draw by an attribute that no case has.
        UsageError: the sample is larger than the suite, or is spread over what its cases do not have.
    """
    entries = tuple(suite.accepted())
    if (unclustered := suite.unclustered()) is not None:
        raise SuiteError(unclustered)
    if not options.sample:
        return entries
    entries = tuple(entry for entry in entries if not entry.plain)
    _refuse_unknown_attributes(suite.manifest.sample.by, entries, suite)
    # Of a suite with a broken file, which is told where it is collected, the size is unknown.
    if options.sample > len(entries) and suite.all_listed:
        drafts = sum(entry.draft for entry in suite.readable())
        draft_note = f" besides {drafts} drafts (mapsat review {shown_path(suite.root)})" if drafts else ""
        message = f"the suite {suite.manifest.name} has {len(entries)} cases{draft_note}, and a sample is drawn from each suite"
        raise UsageError(f"--mapsat-sample={options.sample}: {message}")
    drawn = ordered(entries, suite.manifest.sample.by, suite.manifest.sample.seed)[: options.sample]
    return tuple(chain.from_iterable(map(suite.with_variants, drawn)))


def ordered(entries: Iterable[CaseEntry], by: Sequence[str] = (), seed: int = 0) -> list[CaseEntry]:
    """Return cases in a fixed order; every sample is the beginning of this order.

    However long the beginning, it holds equally many cases of each value of the first attribute, give or take one, or all that there are; and
    among the cases of one such value, of each combination of the other attributes its share, rounded up or down. Within
    a combination the cases stand in the order of a digest. The order in which they are given does not matter.

    Args:
        entries: the cases.
        by: attributes, or ``domain``, ``difficulty``, ``language`` and ``group``; a case without one has an empty value.
        seed: draws another order.
    """
    strata: dict[str, dict[tuple[str, ...], list[CaseEntry]]] = {}
    for entry in entries:
        first, *others = [_value(entry, name) for name in by] or [""]
        strata.setdefault(first, {}).setdefault(tuple(others), []).append(entry)
    lanes = [_spread(strata[name].values(), seed) for name in sorted(strata, key=lambda name: _digest(seed, name))]
    # One of each in turn, until each has given all it has: that is the equal part for samples of every size.
    return [entry for turn in zip_longest(*lanes) for entry in turn if entry is not None]


def _spread(cells: Iterable[Sequence[CaseEntry]], seed: int) -> Iterator[CaseEntry]:
    """Yield the cases of some cells so that each cell always has its share, rounded up or down.

    Largest remainders would do that for one size, but what they choose for a smaller one need not lie in a larger one. So each case gets
    the places at which it keeps its cell within one of its share, and of those that may come the one that has to come first does. It always
    works out (Steiner and Yeomans, Level schedules for mixed-model, just-in-time processes, Management Science 39, 1993).
    """
    drawn = [sorted((_digest(seed, entry.id), entry.id, entry) for entry in cell) for cell in cells]
    total = sum(map(len, drawn))
    coming: dict[int, list[tuple[int, bytes, str, CaseEntry]]] = {}
    for cell in drawn:
        for number, case in enumerate(cell):
            first, last = number * total // len(cell), -((number + 1) * total // -len(cell))
            coming.setdefault(first, []).append((last, *case))
    waiting: list[tuple[int, bytes, str, CaseEntry]] = []
    for place in range(total):
        for due in coming.pop(place, ()):
            heappush(waiting, due)
        yield heappop(waiting)[-1]


def _value(entry: CaseEntry, name: str) -> str:
    """Return a case's value of an attribute, or of the header field with that name; empty if there is none."""
    if name in entry.attributes or name not in _FIELDS:
        return entry.attributes.get(name, "")
    if name == "domain":
        return ", ".join(sorted(entry.domains))
    if name == "group":
        return "" if entry.group is None else entry.group.name
    return str(getattr(entry, name))


def _refuse_unknown_attributes(by: Sequence[str], entries: Iterable[CaseEntry], suite: Suite) -> None:
    """Raise UsageError for a sampling attribute that no case has."""
    names = {*_FIELDS, *(name for entry in entries for name in entry.attributes)}
    for name in by:
        if name not in names:
            hint = did_you_mean(name, sorted(names)) or f"there is {', '.join(sorted(names))}"
            raise UsageError(
                f"sample: by: in suite.yaml: no case of the suite {suite.manifest.name} has the attribute {name!r} ({hint})"
            )


def _digest(seed: int, name: str) -> bytes:
    """Return a digest of a seed and a name, as a sorting key."""
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()[:16]


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number of a shard and the number of all shards, from text such as ``2/8``."""
    number, _, parts = text.partition("/")
    return int(number), int(parts)


def cases_of_shard(cases: Iterable[str], shard: str) -> frozenset[str]:
    """Return the cases of one shard, chosen by a digest of the id, so that new cases never move existing ones.

    Args:
        cases: the ids of all cases.
        shard: the part, as ``2/8``.
    """
    number, parts = parse_shard(shard)
    digests = {case: hashlib.sha256(case.encode("utf-8", "surrogatepass")).digest() for case in cases}
    return frozenset(case for case, digest in digests.items() if int.from_bytes(digest[:8]) % parts == number - 1)
