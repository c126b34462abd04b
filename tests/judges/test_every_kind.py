"""Every kind of check that a suite may write has a function that judges it."""

import pytest

from pytest_mapsat.judges.labels import FUNCTION_OF
from pytest_mapsat.model import KINDS, BaseCheck
from pytest_mapsat.model import checks as module


@pytest.mark.parametrize("kind", BaseCheck.__subclasses__())
def test_a_kind_of_check_has_a_function_that_judges_it(kind):
    assert kind in FUNCTION_OF, f"no function in judges/ has @judges({kind.__name__})"


def test_every_class_below_the_base_of_checks_may_be_written_in_a_suite():
    assert {kind.model_fields["kind"].annotation.__args__[0] for kind in BaseCheck.__subclasses__()} == KINDS
    assert {kind.__module__ for kind in BaseCheck.__subclasses__()} == {module.__name__}
