"""The tools of a phone, some of them in the user's hand: ``pytest examples/phone/phone --mapsat-agent=baseline:oracle``."""

from __future__ import annotations

from typing import Any


class Phone:
    """The tools, over the table of phones.

    Args:
        state: the tables.
    """

    def __init__(self, state: Any) -> None:
        self.phones = state["phones"]

    def line_status(self, phone: str) -> Any:
        """Return whether the line is active."""
        return {"active": phone in self.phones}

    def check_status_bar(self) -> Any:
        """Return the signal and the mode that the phone shows."""
        mode = self.phones["p1"]["airplane_mode"]
        return {"signal": "none" if mode else "full", "airplane_mode": mode}

    def toggle_airplane_mode(self) -> Any:
        """Turn airplane mode on or off, and return the phone."""
        return self.phones.change("p1", airplane_mode=not self.phones["p1"]["airplane_mode"])


def pytest_mapsat_sandbox(config: Any, case: Any, suite: Any) -> type[Phone] | None:  # noqa: ARG001  # as the hook gives it
    """Give the cases of this suite their phone."""
    return Phone if suite.manifest.name == "phone" else None
