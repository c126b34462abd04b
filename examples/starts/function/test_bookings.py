from pytest_mapsat import Episode, User, case


@case("Please cancel BK-1. Check with me first.", user=User(confirms="yes"))
def test_cancels(episode: Episode) -> None:
    with episode.hard("the guest is asked"):
        assert "BK-1" in episode.replies[0]
    with episode.asked("the booking is cancelled"):
        assert "is cancelled" in episode.replies[-1]


@case("Please cancel BK-1. Check with me first.", user=User(confirms="no"))
def test_takes_no_for_an_answer(episode: Episode) -> None:
    with episode.hard("nothing is cancelled"):
        assert "is cancelled" not in episode.replies[-1]
