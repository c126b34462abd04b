"""Who speaks for the user. A user knows its script and its language, and nothing else of the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched

from .reading import learn_to_read
from .slips import audit
from .user import ScriptedUser, SilentUser, User, UserBrokenError, UserMove, check_user_spec, make_user

if TYPE_CHECKING:
    from .modelled import USER_PROMPTS
else:
    __getattr__ = fetched(__name__, {"modelled": ("USER_PROMPTS",)})

__all__ = [
    "USER_PROMPTS",
    "ScriptedUser",
    "SilentUser",
    "User",
    "UserBrokenError",
    "UserMove",
    "audit",
    "check_user_spec",
    "learn_to_read",
    "make_user",
]
