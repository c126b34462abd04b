"""Who speaks for the user. A user knows its script and its language, and nothing else of the truth."""

from __future__ import annotations

from .make import check_user_spec, make_user
from .modelled import USER_PROMPTS, UserBrokenError
from .reading import learn_to_read
from .rules import audit
from .scripted import ScriptedUser
from .user import SilentUser, User, UserMove

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
