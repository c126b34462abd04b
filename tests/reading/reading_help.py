"""An invented town that the tests of reading share, in English and in Chinese."""

from pytest_mapsat.reading import Document, Lexicon, Thing, Vocabulary, read

ENGLISH = Lexicon(
    [
        Thing("amber", ("Amber Hall",)),
        Thing("birch", ("Birch Cafe",)),
        Thing("cedar", ("Cedar Garage",)),
        Thing("dunlin", ("Dunlin House",)),
        Thing("kiln", ("The Old Kiln",)),
        Thing("square", ("Market Square",)),
    ]
)
CHINESE = Lexicon(
    [Thing(name, (name,)) for name in ("云溪茶社", "听松书局", "白鹭广场", "青石停车场", "红枫面馆", "临江大桥")]
)


def reading(
    text: str,
    now: str = "2026-05-05T15:00:00+08:00",
    lexicon: Lexicon | None = None,
    vocabulary: Vocabulary | None = None,
) -> Document:
    """Read a reply as that of a case in the language that it is written in."""
    chinese = any("一" <= char <= "鿿" for char in text)
    things = lexicon or (CHINESE if chinese else ENGLISH)
    return read(text, language="zh" if chinese else "en", lexicon=things, vocabulary=vocabulary, now=now)


def stances(document: Document, key: str) -> set[str]:
    return {mention.stance for mention in document.of(key)}
