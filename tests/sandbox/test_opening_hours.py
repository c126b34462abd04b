"""Opening hours as map services write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import OpenAt


def open_at(hours, time):
    return OpenAt(op="open_at", time=time).fits(hours)


@pytest.mark.parametrize(
    ("hours", "times"),
    [
        ("09:00-22:00", {"08:59": False, "09:00": True, "21:59": True, "22:00": False}),
        ("9:00 ~ 22:00", {"09:00": True}),
        ("09:00-14:00,17:00-22:00", {"13:00": True, "15:00": False, "18:00": True}),
        ("09:00-14:00; 17:00-22:00", {"15:00": False, "18:00": True}),
        ("09:00-14:0017:00-22:00", {"15:00": False, "18:00": True}),
        ("18:00-02:00", {"17:00": False, "23:59": True, "00:00": True, "01:59": True, "02:00": False}),
        ("18:00-次日02:00", {"01:00": True, "03:00": False}),
        ("10:00-26:00", {"01:30": True, "02:30": False}),
        ("00:00-24:00", {"00:00": True, "23:59": True}),
        ("00:00-00:00", {"12:00": True}),
        ("24h", {"03:00": True}),
        ("24小时", {"03:00": True}),
        ("24小时营业", {"03:00": True}),
        ("全天营业", {"03:00": True}),
        ("24/7", {"03:00": True}),
        ("周一至周日00:00-24:00", {"03:00": True}),
        ("周一至周日 10:45-21:45", {"10:00": False, "11:00": True}),
        ("周一至周五 09:00-18:00；周六、周日 09:00-17:00", {"10:00": True, "20:00": False, "17:30": None}),
        ("周一 休息 周二至周日 09:00-17:00", {"10:00": None, "20:00": False}),
        ("Mon-Fri 09:00-17:00", {"10:00": True}),
        ("９：００－２２：００", {"10:00": True}),
    ],
)
def test_hours_are_read(hours, times):
    assert {time: open_at(hours, time) for time in times} == times


@pytest.mark.parametrize(
    "hours", [None, "", "sometimes", "09:00", "25:00-26:00", "09:00-22:75", 9, ["09:00-22:00"], "法定节假日除外"]
)
def test_hours_that_cannot_be_read_are_not_guessed(hours):
    assert open_at(hours, "10:00") is None


@given(st.text(alphabet="0123456789:-~,;周一至日24小时h ", max_size=40), st.sampled_from(["00:00", "12:30", "23:59"]))
def test_no_text_crashes_the_reader(hours, time):
    assert open_at(hours, time) in (True, False, None)
