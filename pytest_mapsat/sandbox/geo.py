"""Distance on the ground."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt

#: Mean radius of the Earth, metres (IUGG).
EARTH_RADIUS_M = 6_371_008.8
#: Two points this near are the same point: it covers both rounding and truncating at five decimals (at most 1.6 m apart).
SAME_POINT_M = 1.6


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
