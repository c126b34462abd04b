"""Cases of the desk: what the database holds in the end, what was called, and what the guest agreed to."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pytest_mapsat import Episode, User, case


@case("Please cancel {booking}. Check with me first.", user=User(confirms="yes"))
@pytest.mark.parametrize(("booking", "refund"), [("BK-1", "288.00"), ("BK-2", "95.00")])
def test_cancels(episode: Episode, booking: str, refund: str) -> None:
    with episode.asked("the booking is cancelled"):
        assert episode.state["bookings"][booking]["status"] == "cancelled"
    with episode.hard("the refund is what the rate gives back"):
        assert [row["amount"] for row in episode.state["refunds"].values()] == [Decimal(refund)]
    with episode.hard("no other booking changes"):
        assert {row for table, row in episode.changed_rows if table == "bookings"} == {booking}
    with episode.hard("the guest agrees first"):
        assert episode.agreed("cancel_booking", booking_id=booking)


@case("Please cancel BK-1. Check with me first.", user=User(confirms="no"))
def test_takes_no_for_an_answer(episode: Episode) -> None:
    with episode.asked("the guest is asked"):
        assert "BK-1" in episode.replies[0]
    with episode.hard("nothing changes"):
        assert not episode.changed_rows


@case("Cancel my booking, please.", user=User(confirms="yes", answers={"which booking": "BK-2"}))
def test_asks_which_booking(episode: Episode) -> None:
    with episode.asked("the booking that the guest named is cancelled"):
        assert episode.state["bookings"]["BK-2"]["status"] == "cancelled"
    with episode.hard("the other one stays"):
        assert episode.state["bookings"]["BK-1"]["status"] == "open"


@case("Please cancel {booking}.", user=User(confirms="yes"))
@pytest.mark.parametrize(("booking", "why"), [("BK-3", "checked in"), ("BK-9", "cannot find BK-9")])
def test_says_why_it_cannot_cancel(episode: Episode, booking: str, why: str) -> None:
    with episode.asked("the guest learns why"):
        assert booking in episode.replies[0]
        assert why in episode.replies[0]
    with episode.hard("nothing changes"):
        assert not episode.changed_rows


@case("When does BK-2 begin?")
def test_looks_up_without_touching(episode: Episode) -> None:
    with episode.asked("the day of arrival"):
        assert "2027-02-01" in episode.replies[-1]
    with episode.hard("nothing changes"):
        assert not episode.changed_rows
