"""The shipped suite, played, written as spans and judged once more from them: every label is the same."""

import pytest
from saved_runs import run_data
from shipped_runs import ALL, CASES, ERRANDS, ROOT, cards, run

from pytest_mapsat.agents import resolve_source
from pytest_mapsat.model import Run
from pytest_mapsat.reports.otlp import otlp_lines


@pytest.mark.parametrize("agent", ["shipped_agents.considerate:agent", "shipped_agents.naive:agent"])
def test_an_agent_read_back_from_its_spans_has_the_same_labels(agent, tmp_path) -> None:
    source = resolve_source(agent, root=ROOT)
    played = {**cards(agent), **{name: run(source, case) for name, case in ERRANDS.items()}}
    assert played.keys() == ALL.keys() == {*CASES, *ERRANDS}
    path = tmp_path / "spans.json"
    whole = Run.model_validate(run_data()).model_copy(update={"cases": tuple(played.values())})
    path.write_text("".join(otlp_lines(whole)), encoding="utf-8")
    recorded = resolve_source(f"recorded:{path}", root=ROOT)
    for name, case in ALL.items():
        again = run(recorded, case)
        assert again.labels == played[name].labels
        assert again.metrics == played[name].metrics
        assert again.dialogue == played[name].dialogue
