"""``python -m pytest_mapsat`` is the ``mapsat`` command, with those besides that are rarely used."""

import sys

from pytest_mapsat.cli import main

sys.exit(main(rare=True))
