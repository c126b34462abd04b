"""Secrets, which no file or message may contain: tokens, keys and passwords, known by their variables and fields and by their form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_mapsat.model import Json, Noun
from pytest_mapsat.secrets import LEAST, known_secrets

if TYPE_CHECKING:
    from pytest_mapsat.model import Recording, Tool

_T = TypeVar("_T")

#: What stands in the place of a secret.
MARK = "[redacted]"
#: Names of fields that hold a secret in any API, without case, ``-`` and ``_``.
_OBVIOUS = frozenset({
    "accesskey", "accesstoken", "apikey", "apisecret", "apitoken", "auth", "authorization", "authtoken", "bearertoken", "clientsecret",
    "cookie", "credential", "credentials", "csrftoken", "idtoken", "passphrase", "passwd", "password", "privatekey", "refreshtoken",
    "secret", "secretkey", "sessiontoken", "setcookie", "token", "xapikey", "xauthtoken",
})  # fmt: skip
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
#: What is a key wherever it comes from: by its prefix, or as a parameter of an address.
KEYS = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|hf|gh[opsur]|github_pat|glpat|xox[abeprs])[-_]|AIza|(?=AKIA|ASIA)[0-9A-Z])[A-Za-z0-9_\-*.]{12,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?<=api[-_]key[=:])\s*[^&\s\"',}]{8,}",
    re.IGNORECASE,
)
#: What of an episode may hold what an agent, a tool or a model has said; the other fields are words of ours, digests and names of the suite.
_SAID = frozenset({
    "after", "after_end", "arguments", "asked", "before", "changed", "changes", "detail", "differences", "environment", "fault", "id", "memory", "message",
    "name", "note", "output", "provenance", "recorded", "result", "rows", "setup", "steps", "tables", "text", "tool", "turns", "unclear", "unknown", "warnings",
})  # fmt: skip


def redacted(text: str) -> str:
    """Return a text without secrets: values from the environment, and any text that looks like a key."""
    return KEYS.sub(MARK, without_known(text))


def without_known(text: str) -> str:
    """Return a text without the secrets of the environment, and without tokens after "Bearer" or "Basic"."""
    return _BEARER.sub(rf"\1 {MARK}", known_secrets().hidden(text))


def without_secrets(noun: _T) -> _T:
    """Return an episode or a part of it without the secrets of the environment; the same object if there are none."""
    secrets = known_secrets()
    return _rewritten(noun, secrets.hidden) if secrets else noun


def _rewritten(value: Any, hide: Callable[[str], str]) -> Any:
    """Return a value with ``hide`` applied to all texts in it, including keys; the same object if nothing changes."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list | tuple):
        members = type(value)(_rewritten(member, hide) for member in value)
        return value if all(map(is_, members, value)) else members
    if isinstance(value, Mapping):
        pairs = {hide(key): _rewritten(member, hide) for key, member in value.items()}
        return value if all(map(is_, pairs.values(), value.values())) and pairs.keys() == value.keys() else pairs
    if isinstance(value, Noun):
        fields = {name: _rewritten(part, hide) for name, part in vars(value).items() if name in _SAID}
        changed = {name: part for name, part in fields.items() if part is not getattr(value, name)}
        return value.model_copy(update=changed) if changed else value
    return value


def is_obvious(name: str) -> bool:
    """Return whether a field with this name always holds a secret, such as ``api_key``."""
    return re.sub(r"[-_\s]", "", name).lower() in _OBVIOUS


class Secrets:
    """Removes secrets from recordings; a value recognised as secret is also removed from all later places.

    Attributes:
        found: the fields that were redacted, as ``tool: path``.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._values: set[str] = set()

    def clean(self, recording: Recording, tool: Tool) -> Recording:
        """Return a recording without the fields that the tool declares secret or that have an obviously secret name."""
        declared = [tuple(path.split(".")) for path in tool.secrets]
        update = {
            name: _rewritten(self._redacted(value, declared, (tool.name,)), self.text)
            for name, value in (("arguments", recording.arguments), ("result", recording.result))
        }
        return recording.model_copy(update=update)

    def text(self, words: str) -> str:
        """Return a text without the secret values found so far."""
        for value in sorted(self._values, key=lambda value: (-len(value), value)):
            words = words.replace(value, MARK)
        return without_known(words)

    def _redacted(self, value: Json, declared: Sequence[Sequence[str]], place: tuple[str, ...]) -> Json:
        """Return a value without secret fields; ``place``: the tool and the keys that lead to the value, ``*`` for list members."""
        if isinstance(value, list):
            return [self._redacted(member, declared, (*place, "*")) for member in value]
        if not isinstance(value, Mapping):
            return value
        return {
            key: self._hidden(member, (*place, key))
            if is_obvious(key) or any(_leads_to(path, (*place[1:], key)) for path in declared)
            else self._redacted(member, declared, (*place, key))
            for key, member in value.items()
        }

    def _hidden(self, value: Json, place: Sequence[str]) -> Json:
        """Return the mark for a secret value and remember the value; empty values and booleans are returned unchanged."""
        if value is None or isinstance(value, bool) or value in ("", [], {}, MARK):
            return value  # it tells nothing
        self.found.add(f"{place[0]}: {'.'.join(place[1:])}")
        self._learn(value)
        return MARK

    def _learn(self, value: Json) -> None:
        """Remember the texts in a secret value, to remove them elsewhere."""
        members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        for member in members:
            self._learn(member)
        if isinstance(value, str) and len(value) >= LEAST and MARK not in value:
            self._values.add(value)


def _leads_to(path: Sequence[str], place: Sequence[str]) -> bool:
    """Return whether a declared path, in which ``*`` matches any key, matches a place."""
    return len(path) == len(place) and all(name in ("*", key) for name, key in zip(path, place, strict=True))
