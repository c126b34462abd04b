"""From the text of ``--mapsat-agent`` to a source of trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from pytest_mapsat.model import UsageError, did_you_mean

from .baselines import BaselineSource
from .callables import callable_source
from .loading import load
from .recorded import RecordedSource, open_recorded
from .source import Source

_Baseline = Literal["silent", "constant", "oracle"]
_BASELINES: tuple[_Baseline, ...] = get_args(_Baseline)
_TO_COME = ("baseline:surface", "react:", "plan:", "http:", "https:")
_SCHEMES = ("baseline", "recorded")


def resolve_source(spec: str, *, root: Path) -> Source:
    """Return the source that a spec names.

    Args:
        spec: ``module:attr``, ``recorded:PATH``, ``baseline:silent``, ``baseline:constant`` or ``baseline:oracle``.
        root: the directory pytest was started in; modules and relative paths are looked for there first.

    Raises:
        UsageError: it names nothing, or nothing of this version.
        SuiteError: the recorded file is broken; its problems say where.
    """
    spec = spec.strip()
    scheme, _, rest = spec.partition(":")
    if spec.startswith(_TO_COME):
        raise UsageError(
            f"agent {spec!r}: not in this version yet; there are module:attr, recorded:PATH and {_baselines()}"
        )
    if scheme == "recorded":
        return open_recorded(rest, root=root)
    if scheme == "baseline":
        return _baseline(rest)
    try:
        return callable_source(load(spec, root=root), spec)
    except UsageError as error:
        hint = did_you_mean(scheme, _SCHEMES)
        if not hint:
            raise
        raise UsageError(f"{error} ({hint})") from None


def source_of(agent: object, spec: str) -> Source:
    """Return the source for an agent at hand: a callable, a factory, an object with ``reply``, or a source.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(agent, BaselineSource | RecordedSource):
        return agent
    return callable_source(agent, spec)


def _baseline(name: str) -> BaselineSource:
    for known in _BASELINES:
        if name == known:
            return BaselineSource(known)
    hint = did_you_mean(name, _BASELINES)
    raise UsageError(f"unknown baseline {name!r}; there are {_baselines()}" + (f" ({hint})" if hint else ""))


def _baselines() -> str:
    return ", ".join(f"baseline:{name}" for name in _BASELINES)
