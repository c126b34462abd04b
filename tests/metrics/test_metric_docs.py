"""What the pages on metrics and Python say runs, and the parts that they join fit each other."""

import re
from pathlib import Path

from metric_builders import METRICS, call, make_case, make_trajectory

from pytest_mapsat.metrics import PASS_RATE
from pytest_mapsat.metrics.metric_set import tool_selection
from pytest_mapsat.model import Bound, ExpectedTool, WithinM

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_examples_of_the_page_on_python_run():
    page = (DOCS / "internals" / "metric-sets.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "metric-sets.md", "exec"), {})


def test_every_metric_stands_in_the_table():
    text = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert [name for name in (*METRICS, PASS_RATE) if f"| `{name}` |" not in text] == []


def test_the_sandboxs_predicate_checks_rules_over_two_parameters_and_earlier_results():
    near = WithinM(op="within_m", lon=120.0, lat=30.0, metres=100, lat_from="y")
    bound = Bound(op="bound", tool="search", path="pois.*.id")
    case = make_case(tools=("search", ExpectedTool(name="go", match={"x": near, "to": bound})))
    found = call("search").model_copy(update={"result": {"pois": [{"id": "p7"}]}})
    right, wrong = call("go", x=120.0, y=30.0, to="p7"), call("go", x=120.0, y=31.0, to="p7")
    assert tool_selection(case, make_trajectory(found, right)).measure.value == 1
    assert tool_selection(case, make_trajectory(found, wrong)).invalid == ("go",)
    unbound = tool_selection(case, make_trajectory(right))
    assert (unbound.correct, unbound.missed, unbound.unchecked) == (("go",), ("search",), 1)
