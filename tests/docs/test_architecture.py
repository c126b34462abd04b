"""The files of the package import one another in one direction only."""

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def circle(imports: Mapping[str, Collection[str]]) -> list[str]:
    """Return the modules of a circle, the first once more at its end; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.mark.parametrize("last", ["a", "b"])
def test_a_circle_is_found(last: str) -> None:
    assert circle({"a": ["b"], "b": ["c"], "c": [last]})


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("pytest_mapsat", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in sorted(graph.modules)}
    assert sum(map(len, imports.values())) > len(imports)
    assert circle(imports) == []
