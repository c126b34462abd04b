"""Who speaks for the user. A user knows its script and its language, and nothing else of the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mapsat.interpreter import fetched
from pytest_mapsat.llm import Voice, named_model
from pytest_mapsat.model import UsageError, hint_at

from .user import Hands as Hands
from .user import ScriptedUser as ScriptedUser
from .user import SilentUser as SilentUser
from .user import User as User
from .user import UserBrokenError as UserBrokenError
from .user import UserMove as UserMove
from .user import audit as audit

if TYPE_CHECKING:
    from pytest_mapsat.llm import ModelClient
    from pytest_mapsat.model import Case

    from .modelled import USER_PROMPTS as USER_PROMPTS
else:
    __getattr__ = fetched(__name__, {"modelled": ("USER_PROMPTS",)})


_EXPECTED = "expected scripted, silent or llm:MODEL"


def make_user(spec: str, case: Case, *, client: ModelClient | None = None, trial: int = 1) -> User:
    """Return a fresh user for one episode of the case.

    Args:
        spec: ``scripted``, ``silent`` or ``llm:MODEL``.
        case: whose script is played; a scripted user is given its script and language only, a model persona and intent as well.
        client: the way to models.
        trial: counts the episodes of the case from 1.

    Raises:
        UsageError: the spec names no user, or one that needs a model, and there is no way to models.
    """
    check_user_spec(spec)
    if spec == "silent":
        return SilentUser()
    if spec == "scripted":
        if not case.truth.user.manner:
            return ScriptedUser(case.truth.user, language=case.language)
        from .manner import Manner  # noqa: PLC0415 (few users have one)

        return ScriptedUser(case.truth.user, language=case.language, manner=Manner(case))
    if client is None:
        raise UsageError(f"user {spec!r}: models are asked in a run only, with --mapsat-agent")
    from .modelled import ModelUser  # noqa: PLC0415 (only where a model is the user)

    model = spec.partition(":")[2]
    return ModelUser(case, Voice(client, *named_model(model, f"--mapsat-user={spec}"), "user", trial))


def check_user_spec(spec: str) -> None:
    """Check that a spec names a user.

    Raises:
        UsageError: it names no user.
    """
    kind, _, model = spec.partition(":")
    if kind == "llm":
        named_model(model, f"--mapsat-user={spec}")
    elif spec not in ("scripted", "silent"):
        raise UsageError(f"unknown user {spec!r}; {_EXPECTED}{hint_at(kind, ('scripted', 'silent', 'llm'))}")
