"""Who speaks for the user. A user knows its script and its language, and nothing else of the truth."""

from __future__ import annotations

from .make import check_user_spec, make_user
from .scripted import ScriptedUser
from .user import SilentUser, User, UserMove

__all__ = ["ScriptedUser", "SilentUser", "User", "UserMove", "check_user_spec", "make_user"]
