"""The face of the room: each noun is fetched from its module when it is first used."""

import subprocess
import sys

import pytest

from pytest_mapsat import model
from pytest_mapsat.model import Requirement, Truth

NAMES = [(module, name) for module, names in model._NAMES.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_that_of_its_module(module, name):
    assert getattr(model, name) is getattr(getattr(model, module), name)


@pytest.mark.parametrize("check", model.BaseCheck.__subclasses__())
def test_a_class_of_checks_needs_no_line(check):
    assert getattr(model, check.__name__) is check


def test_one_noun_loads_its_module_and_what_that_is_made_of():
    program = "import sys; from pytest_mapsat.model import Recording; print(*(n for n in sys.modules if n.startswith('pytest_mapsat.model.')))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {name.rpartition(".")[2] for name in loaded} == {"base", "match", "tool", "trajectory", "values"}


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ImportError):
        from pytest_mapsat.model import Nothing  # noqa: F401


def test_a_copy_of_a_truth_tells_its_own_requirements():
    asked, fact = Requirement(id="e", kind="asked", text="a"), Requirement(id="f", kind="fact", text="b")
    truth = Truth(requirements=(asked, fact))
    assert (truth.asked, truth.by_kind) == ((asked,), (asked, fact))
    other = truth.model_copy(update={"requirements": (fact,)})
    assert (other.asked, other.by_kind, other) == ((), (fact,), Truth(requirements=(fact,)))
    assert truth.to_json() == Truth(requirements=(asked, fact)).to_json()
