"""Code of others: what it raises is its own, unless the user interrupts the run."""

import signal

import pytest

from pytest_mapsat.user_code import UserCodeError, call_user_code, describe_error, listening


def raises(error):
    raise error


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), SystemExit(0), pytest.skip.Exception("no")])
def test_whatever_is_raised_comes_out_as_an_exception(error):
    with listening(), pytest.raises(UserCodeError) as caught:
        call_user_code(raises, error)
    assert caught.value.error is error


@pytest.mark.parametrize("made_of_it", [KeyboardInterrupt, ValueError, None])
def test_a_signal_is_the_users_whatever_the_code_makes_of_it(made_of_it):
    def function():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if made_of_it is not None:
                raise made_of_it from None

    with listening(), pytest.raises(KeyboardInterrupt):
        call_user_code(function)


def test_where_interrupts_are_ignored_as_in_the_background_none_is_the_users():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with listening(), pytest.raises(UserCodeError):
            call_user_code(raises, KeyboardInterrupt())
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_while_nobody_listens_an_interrupt_is_taken_for_the_users():
    with pytest.raises(KeyboardInterrupt):
        call_user_code(raises, KeyboardInterrupt())


def test_the_former_handler_comes_back_at_the_end():
    before = signal.getsignal(signal.SIGINT)
    with listening():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_words_are_cut_and_can_be_written():
    words = describe_error(ValueError("\ud800" + "x" * 10_000))
    assert words.startswith("ValueError: ?xxx")
    assert len(words.encode()) < 600
