"""Which families of metrics there are: ours, those of installed packages, those of a conftest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_mapsat.model import UsageError, did_you_mean, shown
from pytest_mapsat.user_code import StrangerError, call_stranger, installed, words_of

from .family import Family
from .msb import MSB

#: The entry point group in which installed packages name their families: they hold outside pytest too.
GROUP = "pytest_mapsat.metrics"
#: The families that come with this package; they get a scene itself, not a copy of it.

OURS = (MSB,)
#: Names that thresholds and summaries know already.
_TAKEN = {"pass_rate", "success"}


def gather_families(given: Iterable[object] = ()) -> dict[str, Family]:
    """Return the families by name: ours, those of installed packages, and those given.

    Args:
        given: sequences of families, as hooks return them.

    Raises:
        UsageError: two families or two metrics share a name, something is no family, or an installed one cannot be loaded.
    """
    found: dict[str, Family] = {family.name: family for family in OURS}
    owners = {metric.name: family.name for family in OURS for metric in family.metrics}
    for family in (*_installed(), *_flat(given)):
        if not isinstance(family, Family):
            raise UsageError(f"pytest_mapsat_metrics: found {shown(family)}, expected a Family")
        if found.get(family.name) is family:
            continue
        if family.name in found:
            raise UsageError(f"pytest_mapsat_metrics: two packages add a family {shown(family.name)}")
        found[family.name] = family
        for metric in family.metrics:
            owner = owners.setdefault(metric.name, family.name)
            if owner != family.name or metric.name in _TAKEN:
                taken = f"is a metric of {owner} already" if owner != family.name else "is not free"
                raise UsageError(f"pytest_mapsat_metrics: {family.name}: the name {shown(metric.name)} {taken}")
        if len({metric.name for metric in family.metrics}) < len(family.metrics):
            raise UsageError(f"pytest_mapsat_metrics: {family.name} gives one name to two metrics")
    return found


def _flat(given: Iterable[object]) -> Iterator[object]:
    for some in given:
        if some is None:
            continue
        if isinstance(some, Family):
            yield some
            continue
        try:
            yield from call_stranger(_listed, some)
        except StrangerError as broken:
            raise UsageError(
                f"pytest_mapsat_metrics: found {shown(some)}, expected families: {words_of(broken.error)}"
            ) from None


def _listed(some: Any) -> list[object]:
    return list(some)


def _installed() -> Iterator[object]:
    for point in installed(GROUP):
        try:
            yield call_stranger(point.load)
        except StrangerError as broken:
            raise UsageError(f"{GROUP}: {point.value} cannot be loaded: {words_of(broken.error)}") from broken.error


def families_named(names: Iterable[str], known: Mapping[str, Family]) -> tuple[Family, ...]:
    """Return the families of these names, in their order.

    Raises:
        UsageError: nobody adds one of them.
    """
    found = []
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"no package or conftest adds the metric family {shown(name)}; "
                + (f"{hint}, " if hint else "")
                + f"known here: {', '.join(sorted(known))}"
            )
        found.append(known[name])
    return tuple(found)
