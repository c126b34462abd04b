"""Prompts: text files of ours, one a language, each with a version. A run's manifest says which it used, with a digest.

A file begins with a line ``version: N``; the rest is the text. ``{{name}}`` is replaced by what the caller gives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pytest_mapsat.model import digest

LANGUAGES = ("en", "zh")
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_VERSION = "version: "


@dataclass(frozen=True)
class Prompt:
    """One prompt in one language.

    Attributes:
        name: the file's name without its suffix.
        language: ``en`` or ``zh``.
        version: as the file's first line has it.
        text: with its places.
    """

    name: str
    language: str
    version: str
    text: str

    @property
    def mark(self) -> str:
        """The version and a digest of the text, for manifests."""
        return f"{self.version} {digest(self.text)}"

    def fill(self, **values: str) -> str:
        """Return the text with its places filled, each once: what is filled in is not looked at again.

        Raises:
            KeyError: a place has no value, or a value no place.
        """
        if unused := values.keys() - set(_PLACE.findall(self.text)):
            raise KeyError(*sorted(unused))
        return _PLACE.sub(lambda place: values[place[1]], self.text)


@cache
def prompt(name: str, language: str) -> Prompt:
    """Return the prompt for a BCP 47 language: Chinese for ``zh`` and its variants, else English."""
    folder = "zh" if language.lower().replace("_", "-").split("-")[0] == "zh" else "en"
    text = (files("pytest_mapsat") / "prompts" / folder / f"{name}.md").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    if not first.startswith(_VERSION):
        raise ValueError(f"prompts/{folder}/{name}.md: the first line is {first!r}, expected '{_VERSION}N'")
    return Prompt(name, folder, first.removeprefix(_VERSION).strip(), rest.strip())


def marks(*names: str) -> dict[str, str]:
    """Return the marks of prompts in all languages, by ``language/name``, sorted."""
    return {f"{language}/{name}": prompt(name, language).mark for language in LANGUAGES for name in sorted(names)}
