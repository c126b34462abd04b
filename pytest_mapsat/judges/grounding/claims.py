"""What a claim is: one thing that a reply states as a fact, with its place and its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .forms import Mode

ClaimType = Literal[
    "name", "address", "coordinate", "distance", "duration", "time", "price", "rating", "phone", "line", "count"
]
CLAIM_TYPES: tuple[ClaimType, ...] = (
    "name",
    "address",
    "coordinate",
    "distance",
    "duration",
    "time",
    "price",
    "rating",
    "phone",
    "line",
    "count",
)
Decision = Literal["supported", "contradicted", "unsupported"]


@dataclass(frozen=True, order=True)
class Claim:
    """One claim.

    Attributes:
        start: first folded character.
        end: behind the last folded character.
        type: what is claimed.
        low: the value in metres, seconds, yuan, stars, ones, or minutes after midnight; -1 for "round the clock".
            For a coordinate: longitude.
        high: the upper end of a range, else ``low``. For a coordinate: latitude.
        text: what is compared where the claim is no number: a squeezed name, address or line, the digits of a phone number.
        about: whether it is said to be approximate.
        bound: "max" for "within 3 km", "more" for "30-odd km".
        step: half of what the last stated digit is worth.
        mode: the way of travelling it is about.
        straight: whether it is a distance as the crow flies.
        parts: the parts of a name or address that may be looked up one by one, or the noun of a count.
    """

    start: int
    end: int
    type: ClaimType
    low: float = 0.0
    high: float = 0.0
    text: str = ""
    about: bool = False
    bound: Literal["", "max", "more"] = ""
    step: float = 0.0
    mode: Mode | None = None
    straight: bool = False
    parts: tuple[str, ...] = ()
