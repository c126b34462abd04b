"""When a value of the evidence bears a claim out.

Tolerances: 5 % for lengths and durations, 10 % where "about" is said; what is rounded as the claim is rounded counts too,
up to 15 %. Prices: 1 % or rounding, 10 % for "about". Ratings: rounding to the digits stated. Counts: exact. Clock times: one minute, ten for "about".
Coordinates: about 100 m. A range is wide by itself: nothing but rounding is
added to it. "Within 3 km" holds for every value up to 3 km; "30-odd km" from 30 to 40.
"""

from __future__ import annotations

from .claims import Claim
from .figures import NOUNS
from .values import Value

_PLAIN = {"distance": 0.05, "duration": 0.05, "price": 0.01}
_ABOUT = 0.10
_ROUNDED = 0.15
_ODD = 1.35
_ABOUT_MIN = 10.0
_DAY = 1440.0
_DEGREES = 0.001
_PHONE_DIGITS = 7


def bears_out(claim: Claim, value: Value) -> bool:
    """Return whether a value of the claim's own type supports it."""
    if claim.type in _PLAIN:
        return _measure(claim, value.value)
    if claim.type == "rating":
        return abs(value.value - claim.low) <= max(claim.step, 0.2 if claim.about else 0.0) + 1e-9
    if claim.type == "time":
        return _time(claim, value.value)
    if claim.type == "count":
        return claim.low <= value.value <= claim.high and speaks_of(claim, value)
    if claim.type == "phone":
        return _phone(claim.text, value.text)
    return claim.text == value.text


def speaks_of(claim: Claim, value: Value) -> bool:
    """Return whether a counted number is one of the things that the claim counts."""
    return any(word in value.text for noun in claim.parts for word in NOUNS.get(noun, ()))


def _measure(claim: Claim, value: float) -> bool:
    if claim.bound == "max":
        return value <= claim.high * (1 + 1e-9)
    if claim.bound == "more":
        return claim.low * 0.999 <= value <= claim.high * _ODD
    return claim.low - margin(claim, value) <= value <= claim.high + margin(claim, value)


def margin(claim: Claim, value: float) -> float:
    """Return how far a value may lie outside what is claimed, in the claim's unit."""
    share = _ABOUT if claim.about else _PLAIN.get(claim.type, 0.0)
    if claim.low < claim.high:
        share = 0.0
    return max(share * abs(value), min(claim.step, _ROUNDED * abs(value))) + 1e-6


def _time(claim: Claim, value: float) -> bool:
    if claim.low < 0 or value < 0:
        return claim.low < 0 and value < 0
    apart = abs(claim.low - value)
    return min(apart, _DAY - apart) <= (_ABOUT_MIN if claim.about else 1.0)


def _phone(said: str, known: str) -> bool:
    if said == known:
        return True
    longer, shorter = (said, known) if len(said) > len(known) else (known, said)
    return len(shorter) >= _PHONE_DIGITS and longer.endswith(shorter)


def same_point(claim: Claim, lon: float, lat: float) -> bool:
    """Return whether a coordinate, in either order, is this point."""
    straight = abs(claim.low - lon) <= _DEGREES and abs(claim.high - lat) <= _DEGREES
    return straight or (abs(claim.low - lat) <= _DEGREES and abs(claim.high - lon) <= _DEGREES)
