"""Claims that are names: places by the words their names end in, titles of lists, landmarks, lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .claims import Claim
from .fold import is_cjk
from .forms import is_name_like, squeeze, without_brackets
from .lines import lines_in
from .page import Page, Row
from .pool import Pool
from .vocabulary import COMMON, CUT, GENERIC, NO_NAME, SOFT, TYPE_WORDS, cut

_HAN = "\u4e00-\u9fff"
_ENDS = "|".join(sorted(GENERIC, key=lambda word: (-len(word), word)))
#: What must not follow a type word, which is then part of another word.
_ALONE = (
    r"(?<![街])(?<![路])(?<!站)(?<!湖)(?<!中心)(?<!大学)(?<!高速)|(?<=街)(?![道区景坊])|(?<=路)(?![口线由程过上边径段况牌费人])|(?<=站)(?![点台牌名内着在])"
    r"|(?<=湖)(?![边景畔区北南])|(?<=中心)(?![区城思点])|(?<=大学)(?!城)|(?<=高速)(?!服务|上|路|出口|口)"
)
_RUN = re.compile(rf"[{_HAN}a-z0-9·]{{2,14}}?(?P<kind>{_ENDS})(?![{_HAN}]{{0,1}}(?:{_ENDS}))(?:{_ALONE})")
_LANDMARK = re.compile(rf"(?P<name>[{_HAN}]{{2,8}})(?:附近|一带|周边|方向|河道)")
_BRANCH = re.compile(rf"[{_HAN}a-z0-9·&' -]{{2,24}}\([^()\n]{{1,20}}(?:店|分店|站)\)")
_LIST_OF = re.compile(
    r"(?:小区|景点|地点|站点|工业区|园区|餐厅|饭店|酒店|咖啡馆|商场|公园|店铺|门店|这里有|例如|比如|顺序|推荐[^:\n]{0,8}) ?:?$"
)
_WORD = re.compile(r"[a-z][a-z0-9'&-]*")
#: Words with a capital that begin a sentence or lead to a name, and are no part of it.
_LEADING = frozenset(
    """a an the you your i we it this that there from take at in on to for if and or but then walk drive go by is are no yes my our its their as near both all each
    here when after before about good also just note day total route call visit try ring see choose pick book order enjoy head leave park ride have only every some
    any what where which how please thanks option options best stop step""".split()  # noqa: SIM905  a list of words
)
_JOINERS = frozenset((" ", " of ", " & ", " and ", " the ", " of the "))
_TITLE_LONGEST = 24
_HEADING = 2
#: How many words may lead to a known English name ("Call Harbour Noodles").
_LONGEST_LEAD = 5
_MOST_WORDS = 12
#: What follows a place to say that something is in it or by it.
_WITHIN = frozenset("里内外旁边前后中上下")
_INSIDE = ("of", "and", "the")


def names(page: Page, pool: Pool, turn: int) -> Iterator[Claim]:
    """Yield the names of places that can be told by their wording, known or not. Names of things are found by ``mentions``."""
    known = _Known(pool, turn)
    yield from _lines(page)
    yield from _han(page, known)
    yield from _landmarks(page, known)
    yield from _listed(page, known)
    yield from _latin(page, known)


class _Known:
    """What is known by name in one turn; each name is looked up once."""

    def __init__(self, pool: Pool, turn: int) -> None:
        self._pool, self._turn = pool, turn
        self._answers: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        if name not in self._answers:
            self._answers[name] = self._pool.says(name, self._turn)
        return self._answers[name]

    def tail(self, name: str, kind: str) -> bool:
        """Return whether the end of ``name``, with at least two characters before its type word, is known."""
        least = len(kind) + 2
        tails = (name[start:] for start in range(max(len(name) - least + 1, 0)))
        return any(self(tail) for tail in tails if tail not in GENERIC)


def _lines(page: Page) -> Iterator[Claim]:
    for line in lines_in(page.reading.flat):
        yield Claim(line.start, line.end, "line", text=line.text)


def _han(page: Page, known: _Known) -> Iterator[Claim]:
    """Yield Chinese names by the type word they end in ("外砂工业区")."""
    text = page.reading.flat
    for match in _BRANCH.finditer(text):
        name = squeeze(match.group())
        if not known(name) and not known.tail(squeeze(without_brackets(match.group())), ""):
            start = match.end() - len(match.group().lstrip(" -·"))
            yield Claim(start, match.end(), "name", text=name)
    for match in _RUN.finditer(text):
        begin = _begin(page, match)
        known_start = _known_from(text, begin, match, known)
        start = cut(text, begin, match.end()) if known_start is None else known_start
        name = squeeze(text[start : match.end()])
        if _distinct(name, match["kind"]):
            yield Claim(start, match.end(), "name", text=name)


def _begin(page: Page, match: re.Match[str]) -> int:
    """Return where a run may begin: behind the bullet of its line, a blank in the original, and "里" of the place before it."""
    folded = page.reading.folded
    begin = max(match.start(), min(page.rows[page.row_at(match.start())].body, match.end()))
    for place in range(match.start("kind") - 2, begin, -1):
        if (
            folded.span(place, place + 1)[0] > folded.span(place - 1, place)[1]
            and folded.original[folded.span(place - 1, place)[1]].isspace()
        ):
            return place
    inside = begin > 0 and is_cjk(folded.flat[begin - 1]) and folded.flat[begin] in _WITHIN
    return begin + 1 if inside else begin


def _known_from(text: str, begin: int, match: re.Match[str], known: _Known) -> int | None:
    """Return where the longest known name begins that ends with a run; it has two characters before its type word."""
    stop = match.start("kind") - 1
    for start in range(begin, stop):
        name = squeeze(text[start : match.end()])
        core = SOFT.sub("", name)
        found = known(name) or (is_name_like(core) and core != name and known(core))
        if found and _distinct(name, match["kind"]):
            return start
    return None


def _landmarks(page: Page, known: _Known) -> Iterator[Claim]:
    """Yield what is named only to say where something is ("涿鹿附近")."""
    text = page.reading.flat
    for match in _LANDMARK.finditer(text):
        end = match.end("name")
        start = cut(text, max(match.start(), page.rows[page.row_at(match.start())].body), end)
        name = text[start:end]
        if len(name) >= 2 and _distinct(name, "") and not known.tail(name, ""):  # noqa: PLR2004  a name has two characters
            yield Claim(start, end, "name", text=name)


def _distinct(name: str, kind: str) -> bool:
    """Return whether a name says more than what sort of thing is meant."""
    if NO_NAME.search(name) or not any(map(is_cjk, name)):
        return False
    rest = COMMON.sub("", name[: len(name) - len(kind)] if kind else name)
    return sum(map(is_cjk, rest)) >= 2  # noqa: PLR2004  a name has two characters


def _listed(page: Page, known: _Known) -> Iterator[Claim]:
    """Yield short items of a list of places, and elements of a chain of arrows."""
    text = page.reading.flat
    heading = False
    for row in page.rows:
        if not row.bullet:
            heading = bool(_LIST_OF.search(text[max(row.end - _TITLE_LONGEST, row.start) : row.end].rstrip(" *:")))
        elif heading:
            yield from _title(text, row, known)


def _title(text: str, row: Row, known: _Known) -> Iterator[Claim]:
    end = row.end
    for mark in "(→:,，;|":
        place = text.find(mark, row.body, end)
        end = place if place >= 0 else end
    title = text[row.body : end].strip(" ")
    name = squeeze(title)
    short = _HEADING < len(name) <= _TITLE_LONGEST // 2 and all(map(is_cjk, name))
    if short and not CUT.search(name) and _distinct(name, "") and not known.tail(name, ""):
        start = text.find(title, row.body)
        yield Claim(start, start + len(title), "name", text=name)


def _latin(page: Page, known: _Known) -> Iterator[Claim]:
    """Yield runs of capitalised words, some of which say what sort of place it is and some which one."""
    flat = page.reading.flat
    for run in _runs(page):
        first = next((number for number, (start, end) in enumerate(run) if flat[start:end] not in _LEADING), len(run))
        words = [flat[start:end] for start, end in run[first:]]
        kinds = sum(word in TYPE_WORDS for word in words)
        if 0 < kinds < len(words) and not _is_known(words, known):
            yield Claim(run[first][0], run[-1][1], "name", text=squeeze(flat[run[first][0] : run[-1][1]]))


def _is_known(words: Sequence[str], known: _Known) -> bool:
    """Return whether the words are a known name, with other words before it or a plural, or the stop of a known place."""
    names = ["".join(words[number:]) for number in range(min(len(words) - 1, _LONGEST_LEAD))]
    if words[-1] in ("station", "stop"):
        names.append("".join(word for word in words if word not in TYPE_WORDS))
    return any(known(squeeze(name)) or known(squeeze(name).removesuffix("s")) for name in names)


def _runs(page: Page) -> Iterator[list[tuple[int, int]]]:
    """Yield runs of words that the agent wrote with capitals, joined by blanks, "of" and "&"."""
    folded = page.reading.folded
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(folded.flat):
        place = folded.span(match.start(), match.start() + 1)[0]
        capital = folded.original[place].isupper()
        joined = bool(run) and len(run) < _MOST_WORDS and folded.text[run[-1][1] : match.start()] in _JOINERS
        if capital and joined:
            run.append(match.span())
        elif capital or match.group() not in _INSIDE:
            if run:
                yield run
            run = [match.span()] if capital else []
    if run:
        yield run
