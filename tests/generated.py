"""How many examples hypothesis tries: a quarter of them every day, all under ``--proofs``."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

EVERYDAY, PROOFS = "everyday", "proofs"
settings.register_profile(PROOFS, max_examples=100)
settings.register_profile(EVERYDAY, max_examples=25)


def generated(most: int = 100, **more: Any) -> settings:
    """Return settings for a test over generated input, which may take its time.

    Args:
        most: examples under ``--proofs``.
        more: other settings.
    """
    everyday = settings.get_current_profile_name() == EVERYDAY
    return settings(deadline=None, max_examples=most // 4 if everyday else most, **more)
