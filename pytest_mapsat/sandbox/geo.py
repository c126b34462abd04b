"""Distance on the ground."""

from __future__ import annotations

from math import asin, cos, floor, radians, sin, sqrt

#: Mean radius of the Earth, metres (IUGG).
EARTH_RADIUS_M = 6_371_008.8
#: Points no further apart than this are one point, metres: rounding or truncating at five decimals moves a point by at most as much.
SAME_POINT_M = 1.6
#: A degree of latitude is longer than this everywhere on our sphere.
LEAST_M_PER_DEGREE = 111_000.0
#: Height of a band of latitude, degrees (11 m): same points lie in one band, or in two that touch.
_BAND = 1e-4
_MARGIN = SAME_POINT_M / LEAST_M_PER_DEGREE


def distance_m(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Return the great-circle distance of two points in metres (haversine).

    Args:
        lon1: longitude of the first point, degrees.
        lat1: latitude of the first point, degrees.
        lon2: longitude of the second point, degrees.
        lat2: latitude of the second point, degrees.
    """
    phi1, phi2 = radians(lat1), radians(lat2)
    across = sin(radians(lon2 - lon1) / 2)
    along = sin((phi2 - phi1) / 2)
    half_chord = along * along + cos(phi1) * cos(phi2) * across * across
    return 2 * EARTH_RADIUS_M * asin(sqrt(min(1.0, half_chord)))


def band(lat: float) -> int:
    """Return the band of latitude that a point lies in; equal bands make a quick index of places."""
    return floor(lat / _BAND)


def bands(lat: float) -> tuple[int, ...]:
    """Return the bands in which the same point may lie: one or two."""
    low, high = band(lat - _MARGIN), band(lat + _MARGIN)
    return (low,) if low == high else (low, high)
