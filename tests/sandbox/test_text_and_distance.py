"""Text similarity for Chinese and English, the words of a text, and distance on the ground."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.model import distance_m, normalise, text_similarity, tokens

DEGREES = st.tuples(st.floats(-180, 180), st.floats(-90, 90))


@given(st.text(max_size=40))
def test_a_normalised_text_is_its_own_normal_form(text):
    assert normalise(normalise(text)) == normalise(text)


def test_normalising_keeps_what_carries_meaning():
    assert normalise("Ｃafé － Ｎo.1　(北门)") == "caféno1北门"
    assert normalise("奶茶|咖啡") != normalise("奶茶咖啡")
    assert normalise("!!!") == "!!!"
    assert normalise("") == ""


def test_words_end_where_the_script_changes():
    assert tokens("LNG加气站24小时 Shell-V 3.5") == ("lng", "加气站", "24", "小时", "shell", "v", "3.5")


@given(st.text(max_size=20), st.text(max_size=20))
def test_similarity_is_a_symmetric_share(a, b):
    score = text_similarity(a, b)
    assert 0 <= score <= 1
    assert score == text_similarity(b, a)
    assert text_similarity(a, a) == 1


@pytest.mark.parametrize(
    ("close", "apart"),
    [
        (("光谷步行街", "光谷步行街(东门)"), ("光谷步行街", "汉口火车站")),
        (("Main Street Cafe", "cafe main street"), ("Main Street Cafe", "Old Harbour Inn")),
        (("人民公园", "人民 公园"), ("人民公园", "中山医院")),
    ],
)
def test_similar_texts_score_higher_than_others_in_both_languages(close, apart):
    assert text_similarity(*close) >= 0.75
    assert text_similarity(*apart) <= 0.5


@pytest.mark.parametrize(
    ("one", "other", "metres"),
    [
        ((0, 0), (0, 1), 111_195),
        ((0, 60), (1, 60), 55_597),
        ((179.9, 0), (-179.9, 0), 22_239),
        ((0, 90), (123, 90), 0),
        ((0, 0), (180, 0), 20_015_115),
    ],
)
def test_distance_agrees_with_the_sphere(one, other, metres):
    assert distance_m(*one, *other) == pytest.approx(metres, abs=1)


@given(DEGREES, DEGREES, DEGREES)
def test_distance_is_a_metric(a, b, c):
    assert distance_m(*a, *a) == 0
    assert distance_m(*a, *b) == pytest.approx(distance_m(*b, *a))
    assert distance_m(*a, *c) <= distance_m(*a, *b) + distance_m(*b, *c) + 1e-3


_TWO_AT_ONCE = """
import sys, threading
from pytest_mapsat.sandbox.search import Wordbook
from pytest_mapsat.model import text_similarity

book = Wordbook([{"sort": "cafe", "words": ["restaurant"]}])
ways = [lambda: text_similarity("Old Mill", "Old Hill"), lambda: book.respelt("restaraunt")]
met, broken = threading.Barrier(8), []

def go(way):
    met.wait()
    try:
        way()
    except BaseException as error:
        broken.append(error)

assert "rapidfuzz" not in sys.modules
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=go, args=(way,)) for way in ways * 4]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(repr(broken) if broken else 0)
"""


def test_threads_that_compare_texts_for_the_first_time_at_once_load_the_library_whole():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _TWO_AT_ONCE], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
