"""From the text of ``--mapsat-user`` to a user of one episode."""

from __future__ import annotations

from pytest_mapsat.model import Case, UsageError, did_you_mean

from .scripted import ScriptedUser
from .user import SilentUser, User

_NAMES = ("scripted", "silent")


def make_user(spec: str, case: Case) -> User:
    """Return a fresh user for one episode of the case.

    Args:
        spec: ``scripted`` or ``silent``.
        case: whose script is played; the user is given its script and language only.

    Raises:
        UsageError: the spec names no user of this version.
    """
    check_user_spec(spec)
    return SilentUser() if spec == "silent" else ScriptedUser(case.truth.user, language=case.language)


def check_user_spec(spec: str) -> None:
    """Do nothing for a spec that names a user.

    Raises:
        UsageError: it names no user of this version.
    """
    if spec not in _NAMES:
        raise UsageError(_refusal(spec))


def _refusal(spec: str) -> str:
    expected = f"expected one of: {', '.join(_NAMES)}"
    if ":" in spec:
        return f"user {spec!r}: an LLM or a user of your own is not in this version yet; {expected}"
    hint = did_you_mean(spec, _NAMES)
    return f"unknown user {spec!r}; {expected}" + (f" ({hint})" if hint else "")
