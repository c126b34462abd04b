"""``python -m pytest_mapsat`` is the ``mapsat`` command, plus the rarely used commands."""

import sys

from pytest_mapsat.cli import main

sys.exit(main(rare=True))
