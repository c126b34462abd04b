"""A word of somebody else's that does what it can on a terminal and in the log of a CI service, and what a text has of it."""

import re

#: Ends of lines of four kinds with a command behind each, colours, and a mark that turns the direction of writing.
EVIL = "a\n::set-output name=x::y\r::warning::b\u2028::error::c\x85##[error]d\x1b[31m\x9b1m\u202e"
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|##\\[")


def raw_of(text: str) -> list[str]:
    """Return what of a text would steer a terminal, and its lines that are commands."""
    commands = [line for line in re.split(r"[\r\n\x85\u2028]", text) if line.lstrip().startswith("::")]
    return [*_STEERS.findall(text), *commands]
