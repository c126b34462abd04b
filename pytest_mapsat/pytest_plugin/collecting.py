"""Which cases pytest collects: files of cases, parameters of the user's own tests, and what of it is left to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_mapsat.model import Case, RunOptions, SuiteError
from pytest_mapsat.runs.episodes import Episodes
from pytest_mapsat.runs.samples import cases_of_shard
from pytest_mapsat.sandbox import installed_sandboxes

from .gathering import Collected
from .items import CaseFile, CaseParam, param_or_none, params
from .reporter import Reporter
from .suites import Suites


class Collecting:
    """A plugin of a session of ours.

    Args:
        config: pytest's.
        options: what the run was asked for.
        suites: the suites of this process.
        episodes: told where tests of the user's own ask for cases too.
        load: loads the case of an item.
        agent_fixture: whether the agent is that of a fixture.

    Attributes:
        collected: what was found.
        reporter: told what was found, on the controller.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: RunOptions,
        suites: Suites,
        episodes: Episodes,
        *,
        load: Callable[[CaseParam], Case],
        agent_fixture: bool,
    ) -> None:
        self._config = config
        self._options = options
        self._suites = suites
        self._episodes = episodes
        self._load = load
        self._agent_fixture = agent_fixture
        self.collected = Collected()
        self.reporter: Reporter | None = None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take the files that hold cases of a suite."""
        return self._suites.collect_file(file_path, parent, self._load, agent_fixture=self._agent_fixture)

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Give a test the cases of its file; a test of the user's own, all cases of the suites."""
        file = metafunc.definition.getparent(CaseFile)
        if file is not None:
            values = list(params(file.suite, file.entries, self._options.trials))
        else:
            self._episodes.shared = True
            try:
                values = self._suites.values()
            except SuiteError as error:
                raise pytest.Collector.CollectError(str(error)) from None
        metafunc.parametrize("mapsat_case", values, indirect=True)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note every built-in item, so that none can go missing."""
        if isinstance(item.parent, CaseFile):
            self.collected.items[item.nodeid] = None

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note what pytest was told to leave out."""
        self.collected.any_deselected = self.collected.any_deselected or bool(items)
        self.collected.deselected.update(item.nodeid for item in items if isinstance(item.parent, CaseFile))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop cases that two arguments reached."""
        seen: set[tuple[Path, str]] = set()
        kept = []
        for item in items:
            key = (item.path, item.name)
            if item.getparent(CaseFile) is not None:
                if key in seen:
                    continue
                seen.add(key)
            kept.append(item)
        items[:] = kept
        if self._options.shard:
            self._keep_shard(items)

    def _keep_shard(self, items: list[pytest.Item]) -> None:
        """Deselect the cases of other shards; tests that are of no case stay in all of them."""
        cases = {item: param.id for item in items if (param := param_or_none(item)) is not None}
        mine = cases_of_shard(cases.values(), self._options.shard)
        others = [item for item in items if cases.get(item, "") not in ("", *mine)]
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]
        self._config.hook.pytest_deselected(items=others)

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say of which sample the run is."""
        return self._suites.sampled()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which items are left to run. All conftest files are known now: who makes no sandbox need not be asked for each case."""
        if not self._config.hook.pytest_mapsat_sandbox.get_hookimpls():
            self._suites.use_sandboxes(installed_sandboxes())
        self.collected.selected = [item.nodeid for item in session.items if isinstance(item.parent, CaseFile)]
        self.collected.roots = sorted(self._suites.touched)
        if self.reporter is not None:
            self.reporter.collected(self.collected)
