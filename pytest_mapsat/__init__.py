"""pytest-mapsat: does your LLM agent still satisfy its users? Asked on every merge, in pytest.

``check`` adds a check in Python, which is given an ``Episode`` and may return a ``Finding``. ``Reply`` is what an agent may return in place of a text.
``sandboxed`` has the sandbox answer the tools of an agent of a framework that a function of the user's runs.
``tools_of`` and ``answer`` serve an agent that runs the loop of model and tools itself.
``case`` makes a case of a test function, ``User`` says who its user is.
``SqlEnvironment`` and ``HttpEnvironment`` are what episodes act on where that is no sandbox.
``Refused`` is raised by a tool of a sandbox in Python that does not do what it was asked to; ``Unavailable`` by an agent whose own service cannot be reached.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents.own_loop import answer as answer
    from .agents.own_loop import tools_of as tools_of
    from .environments import HttpEnvironment as HttpEnvironment
    from .environments import SqlEnvironment as SqlEnvironment
    from .guard import sandboxed as sandboxed
    from .judges import Episode as Episode
    from .judges import Finding as Finding
    from .python_cases import User as User
    from .python_cases import case as case
    from .registry import check as check
    from .reply import Reply as Reply
    from .reply import Unavailable as Unavailable
    from .sandbox import Refused as Refused

__version__ = "0.2.0"

_HOMES = {
    "Episode": "judges",
    "Finding": "judges",
    "HttpEnvironment": "environments",
    "Refused": "sandbox",
    "Reply": "reply",
    "SqlEnvironment": "environments",
    "Unavailable": "reply",
    "User": "python_cases",
    "answer": "agents.own_loop",
    "case": "python_cases",
    "check": "registry",
    "sandboxed": "guard",
    "tools_of": "agents.own_loop",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  the names are strings


def __getattr__(name: str) -> Any:
    # Fetched when asked for: this package is imported at the start of every pytest run.
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
