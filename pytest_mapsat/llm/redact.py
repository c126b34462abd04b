"""Keys stay out of errors, and so out of files. Logs are litellm's own, which strikes keys out of them itself; a test holds it to that."""

from __future__ import annotations

import os
import re

#: Variables whose values are secrets, by a part of their names.
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
#: A value shorter than this is no key, and may well be a word of the text.
_SHORTEST = 8
#: What is a key wherever it comes from: by its prefix, behind "Bearer", or as a parameter of an address.
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|AIza)[-_]?[A-Za-z0-9_\-*.]{12,}"
    r"|(?<=Bearer )\S{8,}"
    r"|(?<=[?&]key=)[^&\s\"']+"
    r"|(?<=api[-_]key[=:])\s*[^&\s\"',}]{8,}",
    re.IGNORECASE,
)
_STRUCK = "[key]"


def redacted(text: str) -> str:
    """Return the text without keys: those in the environment, and whatever looks like one."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and _SECRET_NAMES.search(name) and value in text:
            text = text.replace(value, _STRUCK)
    return _KEYS.sub(_STRUCK, text)
