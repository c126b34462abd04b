"""Where tests of the plugin run pytest: in one process, and with workers."""

import pytest

_WORKERS = ("-n", "2")
EVERYWHERE = pytest.mark.parametrize("workers", [(), _WORKERS], ids=["plain", "workers"])
#: With workers only under ``--thorough``: two more processes take seconds, and a test beside it shows the same path with workers.
THOROUGHLY = pytest.mark.parametrize(
    "workers", [(), pytest.param(_WORKERS, marks=pytest.mark.thorough)], ids=["plain", "workers"]
)
