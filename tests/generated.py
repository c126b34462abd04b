"""How many examples hypothesis tries: a quarter of them every day, all under ``--proofs``."""

from typing import Any

from hypothesis import settings

EVERYDAY, PROOFS = "everyday", "proofs"
# No deadline: a machine that does other work, too, is slow now and then.
settings.register_profile(PROOFS, max_examples=100, deadline=None)
settings.register_profile(EVERYDAY, max_examples=25, deadline=None)


def generated(most: int = 100, **more: Any) -> settings:
    """Return settings for a test over generated input.

    Args:
        most: examples under ``--proofs``.
        more: other settings.
    """
    everyday = settings.get_current_profile_name() == EVERYDAY
    return settings(max_examples=most // 4 if everyday else most, **more)
