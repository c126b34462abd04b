"""What all tests need: nothing that one of them imports may hide installed plugins from the next."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):
    # litellm imports this backport, which takes over the search for installed packages from the standard library for good. Where that first
    # happens inside a run of pytester, pytester takes the new finder away again, and pytest finds no plugin in this process any more.
    import importlib_metadata  # noqa: F401

with suppress(ImportError):
    # It cannot be loaded twice in one process, and pytester makes the process forget what a run has imported.
    import numpy as np  # noqa: F401
