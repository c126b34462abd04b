"""pytest-mapsat: does your LLM agent still satisfy its users? Asked on every merge, in pytest.

``Reply`` is what an agent may return in place of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents.reply import Reply

__version__ = "0.1.0"
__all__ = ["Reply", "__version__"]


def __getattr__(name: str) -> Any:
    # Fetched when asked for: this package is imported at the start of every pytest run.
    if name == "Reply":
        from .agents.reply import Reply  # noqa: PLC0415

        return Reply
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
