"""The reading as a whole: offsets, layout, questions, identifiers, and that no text breaks it."""

import pytest
from generated import generated
from hypothesis import given
from hypothesis import strategies as st
from reading_help import CHINESE, ENGLISH, reading
from step_count import steps_of

from pytest_mapsat.reading import Lexicon, Thing, Vocabulary, lexicon_of, open_page, page, read, read_names, read_page
from pytest_mapsat.reading.pack import Pack

PIECES = st.sampled_from(
    [
        "Amber Hall",
        "the Kiln",
        "云溪茶社",
        "茶社",
        "12 min",
        "half past ",
        "三点",
        "半",
        "一刻钟",
        "1,2",
        "3:0",
        "not ",
        "but ",
        "，但",
        "不",
        "| a |",
        "\n|---|\n",
        "- ",
        "**",
        "# ",
        "→",
        "(",
        "℃",
        "½",
        "\u200b",
        "e\u0301",
        "ﬁ",
        "\ud800",
        "😀",
        "\x00",
        ". ",
        "。",
        "?",
        "555-0147",
        "路12号",
        "from ",
        "to ",
        "instead of ",
        "twenty-",
        "百",
        "点",
        "%",
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=40).map("".join))


@generated(300)
@given(
    text=TEXTS,
    language=st.sampled_from(["en", "zh", "zh-CN", "fr", ""]),
    now=st.sampled_from(["", "12:00", "2026-05-05T23:59:00", "soon"]),
)
def test_any_text_is_read_and_every_span_lies_inside_it(text, language, now):
    document = read(text, language=language, lexicon=ENGLISH if language == "en" else CHINESE, now=now)
    found = (
        *document.mentions,
        *document.quantities,
        *document.times,
        *document.identifiers,
        *document.questions,
        *document.blocks,
    )
    for span in (*(one.span for one in found), *document.sentences, *document.clauses):
        assert 0 <= span.start <= span.end <= len(text)
    for one in (*document.mentions, *document.quantities, *document.times):
        assert one.span.start < one.span.end
        assert one.sentence < len(document.sentences)
        assert one.clause < len(document.clauses)
    for moment in document.times:
        assert moment.minutes
        assert all(0 <= minute < 1440 for minute in moment.minutes)
    for figure in document.quantities:
        assert figure.low <= figure.value <= figure.high


def test_the_same_text_is_always_read_the_same():
    text = "Take Amber Hall (12 min), not Birch Cafe; back by five."
    assert reading(text) == reading(text)


@pytest.mark.parametrize(
    "unit",
    [
        "Go to Amber Hall (12 min, 3.4 km) at half past three; Birch Cafe is shut.\n",
        "推荐云溪茶社，步行12分钟，红枫面馆今天没开门，人均35元。\n",
        "Amber Hall, ",
        "then Amber Hall. It is closed ",
        "5 min, ",
        "at five and ",
        "  - Amber Hall 5 min\n",
        "| a ",
        "三十",
        "1 ",
        "(",
    ],
)
def test_work_grows_with_the_length_and_not_faster(unit):
    short, long = (steps_of(lambda size=size: reading(unit * (size // len(unit)))) for size in (1_500, 6_000))
    assert long < 5 * short


def test_a_quote_cites_the_original_words():
    document = reading("走**临江 大桥**，约**11 分钟**。")
    assert document.quote(document.mentions[0].span).text == "临江 大桥"
    assert document.quote(document.quantities[0].span).text.replace("*", "") == "11 分钟"


def test_layout_tells_headings_items_rows_and_cells():
    document = reading(
        "# Plan\n\n1. Amber Hall\n   - inside\n\n| Name | Walk |\n|---|---|\n| Birch Cafe | 5 min |\n\n> quoted"
    )
    assert [(block.kind, block.level) for block in document.blocks] == [
        ("heading", 1),
        ("item", 0),
        ("item", 1),
        ("row", 0),
        ("row", 1),
        ("quote", 0),
    ]
    assert document.quantities[0].cell.header == "walk"
    assert document.mentions[1].cell.column == 0


def test_questions_are_found_with_and_without_a_mark_and_offers_are_told_from_them():
    document = reading("Which day suits you? Let me know if you need anything else. Go to Amber Hall.")
    assert [(document.words(question.span), question.offer) for question in document.questions] == [
        ("Which day suits you?", ""),
        ("Let me know if you need anything else.", "help"),
    ]
    assert reading("要不要我帮您订位").questions[0].offer == "act"
    assert reading("如果您想再便宜一点，请告诉我。").questions[0].offer == "help"
    assert reading("If you need parking, which side do you prefer?").questions[0].offer == ""


def test_a_particle_at_the_end_asks_and_the_mark_inside_a_link_does_not():
    for text in ("需要安静一点的吗。", "您从哪里出发呢~", "这样走，行不行", "Is it https://a.example/x?b=1?"):
        assert len(reading(text).questions) == 1
    for text in ("好的呢。", "他们十点才开呢", "See https://a.example/x?b=1 for the map."):
        assert reading(text).questions == ()


def test_a_question_in_chinese_that_quotes_a_latin_word_is_read_as_chinese():
    assert len(read("请问您在哪个district", language="en", lexicon=Lexicon()).questions) == 1


def test_identifiers_have_a_normal_form():
    text = (
        "Call +86 755 555 0147 or 555-0148, 20 Elm Street, line 4, platform 2, 113.9435,22.5312, https://a.example/x."
    )
    assert [(one.kind, one.value) for one in reading(text).identifiers] == [
        ("phone", "867555550147"),
        ("phone", "5550148"),
        ("address", "20 elm street"),
        ("line", "4"),
        ("platform", "2"),
        ("point", "113.9435,22.5312"),
        ("link", "https://a.example/x"),
    ]
    assert [
        (one.kind, one.value) for one in reading("地址在松涛路18号，坐3号线，电话：0999-555-0116。").identifiers
    ] == [
        ("address", "松涛路18号"),
        ("line", "3"),
        ("phone", "09995550116"),
    ]


def test_a_telephone_number_stands_between_chinese_commas():
    document = reading("云溪茶社先打电话，0999-555-0116，24小时有人；共1,234,567人")
    assert [(one.kind, one.value) for one in document.identifiers] == [("phone", "09995550116")]


def test_a_reply_in_another_script_is_read_in_its_own_language():
    document = read("推荐云溪茶社，步行十分钟。", language="en", lexicon=CHINESE)
    assert (document.mentions[0].stance, document.quantities[0].value) == ("affirmed", 10)


def test_a_language_without_words_still_finds_names_and_digits(monkeypatch):
    monkeypatch.setattr(page, "pack_of", lambda _language, _vocabulary: Pack("xx", {}))
    document = reading("Amber Hall, 12:30, 555-0147; the Kiln → Birch Cafe? 三点", lexicon=ENGLISH)
    assert [mention.keys for mention in document.mentions][:1] == [("amber",)]
    assert document.times[0].minutes == (750,)
    assert document.identifiers[0].kind == "phone"


def test_words_of_a_suite_widen_the_language():
    vocabulary = Vocabulary({"unfit": ["haunted"], "role.wait": ["boarding call"]})
    document = reading("Amber Hall is haunted, go to Birch Cafe. Boarding call 12 min.", vocabulary=vocabulary)
    assert document.of("amber")[0].stance == "rejected"
    assert document.quantities[0].role == "wait"


def test_one_opened_page_is_read_for_things_and_for_words_alike():
    text = "Go to Amber Hall, 12 min on foot, not to Birch Cafe (555-0101)."
    opened = open_page(text, language="en")
    words = lexicon_of((Thing("on foot", ("on foot",)),))
    assert read_page(opened, ENGLISH) == read(text, language="en", lexicon=ENGLISH)
    named, whole = read_names(opened, words), read_page(opened, words)
    assert named.mentions == whole.mentions
    assert named.mentions
    assert named.sentences == whole.sentences
    assert (named.quantities, named.times, named.identifiers) == ((), (), ())
    assert lexicon_of((Thing("on foot", ("on foot",)),)) is words


def test_words_that_are_looked_for_as_they_are_have_no_short_form():
    opened = open_page("附近没有还在营业的店。", language="zh")
    words = tuple(Thing(word, (word,)) for word in ("没有还开着", "还在营业"))
    assert read_names(opened, lexicon_of(words)).mentions[0].keys == ("没有还开着",)
    found = read_names(opened, lexicon_of(words, shortened=False)).mentions
    assert [(one.keys, one.form) for one in found] == [(("还在营业",), "full")]


def test_what_is_blank_on_a_page_is_quoted_as_it_was_written():
    document = read_page(open_page("      Amber Hall.", language="en", written="Hello Amber Hall."), ENGLISH)
    assert document.words(document.sentences[0]) == "Amber Hall."
    assert document.text == "Hello Amber Hall."


def test_a_page_is_kept_by_its_words_language_and_vocabulary():
    text = "Amber Hall is haunted, go to Birch Cafe."
    haunted = Vocabulary({"unfit": ("haunted",)})
    opened = open_page(text, language="en")
    assert open_page(text, language="en", vocabulary=Vocabulary()) is opened
    assert open_page(text, language="en", vocabulary=Vocabulary({"unfit": ("haunted",)})) is open_page(
        text, language="en", vocabulary=haunted
    )
    others = (
        open_page(text, language="en", vocabulary=haunted),
        open_page(text, language="zh"),
        open_page(text, language="en", written="?" * len(text)),
        open_page(text + " ", language="en"),
    )
    assert opened not in others
    assert read_page(others[0], ENGLISH).of("amber")[0].stance == "rejected"


@pytest.mark.parametrize("times", [1, 200], ids=["kept", "too long to be kept"])
def test_a_text_reads_the_same_again_and_for_another_turn_or_time(times):
    text = "Go to Amber Hall at 7, 12 min on foot, not to Birch Cafe (555-0101). " * times
    first, again = (read(text, language="en", lexicon=ENGLISH, now="18:00", turn=1) for _ in range(2))
    assert first == again
    assert first.turn == 1
    assert read(text, language="en", lexicon=ENGLISH, now="18:00", turn=3).turn == 3
    early = read(text, language="en", lexicon=ENGLISH, now="05:00", turn=1)
    assert (early.times[0].minutes, first.times[0].minutes) == ((420,), (1140,))
    assert read(text, language="en", lexicon=lexicon_of(()), turn=1).mentions == ()


def test_long_texts_are_not_kept():
    text = "Go to Amber Hall, it is near. " * 200
    assert open_page(text, language="en") is not open_page(text, language="en")


@pytest.mark.parametrize(
    ("text", "language", "counts"),
    [
        ("Which pharmacy is near?", "en", False),
        ("Which pharmacy is near at noon?", "en", True),
        ("It takes a quarter of an hour.", "en", True),
        ("Take the 7.", "en", True),
        ("See www.example.org for more.", "en", True),
        ("附近哪家药店好?", "zh", False),
        ("走三刻钟。", "zh", True),
        ("大约半小时。", "zh", True),
    ],
)
def test_a_text_that_may_count_nothing_states_no_figure_time_or_identifier(text, language, counts):
    opened = open_page(text, language=language)
    document = read_page(opened, lexicon_of(()))
    assert opened.may_count is counts
    assert counts or not (document.quantities or document.times or document.identifiers)


def test_a_link_is_an_identifier_in_which_no_name_ends_a_sentence():
    document = reading("See https://amber.example/hall?x=1 or www.birch.example. Go to Amber Hall.")
    assert [one.kind for one in document.identifiers] == ["link", "link"]
    assert len(document.sentences) == 2


def test_noon_is_a_time_without_a_number():
    assert [one.minutes for one in reading("Be at Amber Hall at noon.").times] == [(720,)]
    assert reading("Be at Amber Hall soon.").times == ()


@pytest.mark.parametrize(
    "text", ["Go to Amber Hall!", "**Go** to  *Amber Hall*!", "…  Go to Amber Hall!", "Ｇo to Amber Hall!"]
)
def test_a_name_is_quoted_as_written_whatever_was_dropped_before_it(text):
    document = reading(text)
    assert [document.words(one.span).strip("*") for one in document.mentions] == ["Amber Hall"]
