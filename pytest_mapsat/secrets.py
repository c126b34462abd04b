"""Secrets that variables of the environment hold, and texts without them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

#: Variables whose values are secrets, by a part of their names.
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
#: Shorter values also stand in texts that have nothing to do with them.
LEAST = 8
#: Variables that hold secrets, too, as the suites of this process say.
_named: set[str] = set()
#: The names of variables are asked for after every episode; in bytes, where there are such, none needs to be decoded for it.
_ENVIRONMENT: Iterable[str | bytes] = getattr(os, "environb", os.environ)


def name_secrets(names: Iterable[str]) -> None:
    """Treat the values of further environment variables as secrets, in this process from now on."""
    _named.update(names)


def named_secrets() -> list[str]:
    """Return the names of the further secret variables, sorted, to pass on to another process."""
    return sorted(_named)


class KnownSecrets:
    """The secrets in the environment at one time, in all spellings that a text may have; false if there are none.

    Args:
        variables: names and values.
    """

    def __init__(self, variables: Iterable[tuple[str, str]]) -> None:
        spellings: dict[str, str] = {}
        for name, value in sorted(variables):
            # In a message a value may stand as code, as JSON or in an address.
            for text in (value, value.strip(), repr(value)[1:-1], json.dumps(value)[1:-1], quote(value, safe="")):
                if len(text) >= LEAST:
                    spellings.setdefault(text, name)
        #: Longest first: a secret may stand in another one.
        self._spellings = sorted(spellings.items(), key=lambda pair: (-len(pair[0]), pair[0]))

    def __bool__(self) -> bool:
        """Whether there are any secrets."""
        return bool(self._spellings)

    def hidden(self, text: str) -> str:
        """Return a text in which ``[redacted NAME]`` replaces the value of each secret variable NAME."""
        for spelling, name in self._spellings:
            if spelling in text:
                text = text.replace(spelling, f"[redacted {name}]")
        return text


def known_secrets() -> KnownSecrets:
    """Return the current secrets in the environment, since an agent may have set variables."""
    variables = [name for name in _ENVIRONMENT if _is_secret(name)]
    names = [*map(os.fsdecode, variables), *_named]
    return _known(tuple((name, os.environ.get(name, "")) for name in names))


_known = lru_cache(maxsize=4)(KnownSecrets)


@lru_cache(maxsize=1024)
def _is_secret(name: str | bytes) -> bool:
    """Return whether the name of a variable suggests that its value is a secret."""
    return _SECRET_NAMES.search(os.fsdecode(name)) is not None
