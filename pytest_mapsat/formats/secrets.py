"""What must never stand in a file or a message: tokens, keys and passwords, by the variables and fields that hold them and by their looks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from pytest_mapsat.model import Json, JsonObject, Record, Tool

#: What stands in the place of a secret.
MARK = "[redacted]"
#: Names of fields that hold a secret in any API, without case, ``-`` and ``_``.
_OBVIOUS = frozenset({
    "accesskey", "accesstoken", "apikey", "apisecret", "apitoken", "auth", "authorization", "authtoken", "bearertoken", "clientsecret",
    "cookie", "credential", "credentials", "csrftoken", "idtoken", "passphrase", "passwd", "password", "privatekey", "refreshtoken",
    "secret", "secretkey", "sessiontoken", "setcookie", "token", "xapikey", "xauthtoken",
})  # fmt: skip
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
#: Variables whose values are secrets, by a part of their names.
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
#: What is a key wherever it comes from: by its prefix, or as a parameter of an address.
_KEYS = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat)[-_]|AIza)[A-Za-z0-9_\-*.]{12,}"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?<=api[-_]key[=:])\s*[^&\s\"',}]{8,}",
    re.IGNORECASE,
)
#: Shorter values also stand in texts that have nothing to do with them.
_LEAST = 8


def redacted(text: str) -> str:
    """Return a message without secrets: those in the environment, and whatever looks like a key."""
    return _KEYS.sub(MARK, without_known(text))


def without_known(text: str) -> str:
    """Return a text without the secrets of the environment, and without what stands behind "Bearer"."""
    for name, value in os.environ.items():
        if len(value) >= _LEAST and _SECRET_NAMES.search(name) and value in text:
            text = text.replace(value, MARK)
    return _BEARER.sub(rf"\1 {MARK}", text)


def is_obvious(name: str) -> bool:
    """Say whether a field of this name holds a secret, whatever the tool declares."""
    return re.sub(r"[-_\s]", "", name).lower() in _OBVIOUS


class Secrets:
    """Takes secrets out of records. A value that was one once is taken out wherever else it stands.

    Attributes:
        found: the fields that were redacted, as ``tool: path``.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._values: set[str] = set()

    def clean(self, record: Record, tool: Tool) -> Record:
        """Return the record without what the tool declares secret, and without what obviously is."""
        arguments: JsonObject = self._redacted(record.arguments, _tree(tool.secrets), tool.name)
        result = self._redacted(record.result, _tree(tool.secrets), tool.name)
        return record.model_copy(update={"arguments": self._without(arguments), "result": self._without(result)})

    def text(self, words: str) -> str:
        """Return words without the values that are known to be secret."""
        for value in sorted(self._values, key=lambda value: (-len(value), value)):
            words = words.replace(value, MARK)
        return without_known(words)

    def _redacted(self, value: Json, declared: Mapping[str, Json], place: str) -> Json:
        if isinstance(value, list):
            below = _below(declared, "*")
            return [self._redacted(member, below, f"{place}.*") for member in value]
        if not isinstance(value, Mapping):
            return value
        cleaned = {}
        for key, member in value.items():
            below = _below(declared, key)
            if "" in below or is_obvious(key):
                cleaned[key] = self._hidden(member, f"{place}.{key}")
            else:
                cleaned[key] = self._redacted(member, below, f"{place}.{key}")
        return cleaned

    def _hidden(self, value: Json, place: str) -> Json:
        if value is None or isinstance(value, bool) or value in ("", [], {}, MARK):
            return value  # it tells nothing
        tool, _, path = place.partition(".")
        self.found.add(f"{tool}: {path}")
        self._learn(value)
        return MARK

    def _learn(self, value: Json) -> None:
        members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        for member in members:
            self._learn(member)
        if isinstance(value, str) and len(value) >= _LEAST and MARK not in value:
            self._values.add(value)

    def _without(self, value: Json) -> Json:
        """Return the value with known secrets taken out of its texts, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._without(member) for member in value]
        if isinstance(value, Mapping):
            return {self.text(key): self._without(member) for key, member in value.items()}
        return value


def _tree(paths: Iterable[str]) -> dict[str, Json]:
    """Return dotted paths as a tree of their keys; under "" of a node ends a path."""
    root: dict[str, Json] = {}
    for path in paths:
        node = root
        for key in path.split("."):
            node = node.setdefault(key, {})
        node[""] = {}
    return root


def _below(node: Mapping[str, Json], key: str) -> dict[str, Json]:
    """Return what is declared below a key, by its name or for all members."""
    found: dict[str, Json] = {}
    for name in dict.fromkeys((key, "*")):
        found.update(node.get(name, {}))
    return found
