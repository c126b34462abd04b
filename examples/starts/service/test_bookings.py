from pytest_mapsat import Episode, User, case


@case("Please cancel BK-1. Check with me first.", user=User(confirms="yes"))
def test_cancels(episode: Episode) -> None:
    with episode.asked("the booking is cancelled"):
        assert episode.state["bookings"]["BK-1"]["status"] == "cancelled"
    with episode.hard("nothing else changes"):
        assert episode.changed_rows == {("bookings", "BK-1")}


@case("Please cancel BK-1. Check with me first.", user=User(confirms="no"))
def test_takes_no_for_an_answer(episode: Episode) -> None:
    with episode.hard("nothing changes"):
        assert not episode.changed_rows
