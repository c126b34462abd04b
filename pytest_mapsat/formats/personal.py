"""Personal data in conversations: found with their places, and replaced by aliases, the same for the same value.

Telephone numbers, e-mail addresses, number plates, numbers of cards, accounts, identity papers and passports, IP addresses, keys and passwords, and
points that are called home. Rather too much is found than too little: an alias that stands for an order number does no harm, and a telephone number that
comes through does.
"""

from __future__ import annotations

import ipaddress
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pytest_mapsat.model import Json

from .files import limits
from .plain_data import parse_json
from .redaction import KEYS

PersonalKind = Literal[
    "telephone number", "e-mail address", "number plate", "card number", "account number", "identity number", "passport number", "IP address", "secret", "home position",
]  # fmt: skip

_ALIASES: dict[PersonalKind, str] = {
    "telephone number": "phone",
    "e-mail address": "email",
    "number plate": "plate",
    "card number": "card",
    "account number": "account",
    "identity number": "identity",
    "passport number": "passport",
    "IP address": "ip",
    "secret": "secret",
}
#: Kinds whose values are read again to know them in another spelling, and those that have one spelling.
_READ_AGAIN: frozenset[PersonalKind] = frozenset({"telephone number", "e-mail address", "card number"})
_AS_IT_IS: frozenset[PersonalKind] = frozenset({"IP address", "secret"})
#: Digits of a telephone number: the most, and the least where its field or the words before it say what it is.
_MOST, _LEAST = 15, 5
_CARD = range(13, 20)
#: Digits of a number that begins with the 0 of its country, and has no other sign of a telephone.
_NATIONAL = 8
#: Numbers with the same last digits are one number: with and without the code of the country.
_TELLING = 10
#: A point is exact from so many decimals on; an alias has fewer. Points that lie so near to home (degrees) are home.
_EXACT, _ROUGH, _AT_HOME = 3, 2, 0.001

_SEP = r"[\s\-\u2010-\u2015.·]{0,2}"
_LOOSE = r"[\s\-\u2010-\u2015().\[\]/·]{0,3}"
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_.])", r"(?![A-Za-z0-9_])"
_UNITS = r"(?!\s?(?:k?m\b|m²|min|h\b|yuan|rmb|eur|usd|€|\$|¥|元|米|公里|分钟|块|%))"
#: Forms that are telephone numbers wherever they stand.
_PHONES = tuple(map(re.compile, (
    rf"(?<![A-Za-z0-9_])(?:\+|00(?=[1-9]))\s?\(?\d(?:{_LOOSE}\d){{6,13}}{_AFTER}",
    rf"{_BEFORE}(?:\(?86\)?{_SEP})?1[3-9](?:\d{_SEP}\d{{4}}{_SEP}\d{{4}}|\d{{3}}{_SEP}\d{{6}}|\d{_SEP}\d{{3}}{_SEP}\d{{5}}){_AFTER}",
    rf"{_BEFORE}1[\s\-]?[3-9](?:[\s\-]\d){{9}}{_AFTER}",
    rf"{_BEFORE}(?<!\d-)\(?0\d{{2,3}}\)?[\s\-\u2010-\u2015]{{0,2}}\d{{3,4}}[\s\-]?\d{{4}}(?:\s?(?:-|ext\.?|转)\s?\d{{1,5}})?{_AFTER}",
    rf"{_BEFORE}[48]00[\s\-]?\d{{3,4}}[\s\-]?\d{{3,4}}{_AFTER}",
    rf"{_BEFORE}(?:1[\s\-.])?\([2-9]\d\d\)\s?\d{{3}}[\s\-.]?\d{{4}}{_AFTER}",
    rf"{_BEFORE}(?:1[\s\-.])?[2-9]\d\d[\s\-.]\d{{3}}[\s\-.]\d{{4}}{_AFTER}",
)))  # fmt: skip
#: Forms that may be something else where a field says so: the id of an order, a time.
_LIKELY = tuple(map(re.compile, (
    rf"{_BEFORE}(?<!\d-)\(?0\d{{1,5}}\)?(?:\s?[/\-\u2010-\u2015]\s?\d{{4,8}}(?:[\s\-]\d{{2,6}}){{0,2}}|(?:\s\d{{2,8}}){{1,4}}|(?:[.\-]\d{{2,4}}){{3,4}}){_AFTER}",
    rf"{_BEFORE}0[1-9]\d{{7,10}}{_AFTER}",
    rf"{_BEFORE}(?<![\-¥$€])[2-9]\d\d-\d{{4}}(?!-){_AFTER}{_UNITS}",
    rf"{_BEFORE}[2-9]\d\d[2-9]\d{{6}}{_AFTER}",
)))  # fmt: skip
_CALLED = re.compile(
    r"(?:\b(?:tel(?:ephone)?|phone|mobile|cell|call|ring|dial|fax|whatsapp|text (?:me|us|him|her|them)|reach(?:ed)?|contact)\b|电话|手机|致电|联系|拨打|号码|来电|打给|☎|📞)"
    rf"[^\d\n]{{0,25}}?(\+?\(?\d(?:{_LOOSE}\d){{4,14}}){_AFTER}{_UNITS}",
    re.IGNORECASE,
)
_DIGIT_WORDS = {
    "zero": "0", "oh": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
}  # fmt: skip
_WORD = rf"(?:(?:double|triple)\s)?(?:{'|'.join(_DIGIT_WORDS)})"
_SPOKEN = re.compile(rf"\b(?:plus\s)?{_WORD}(?:[\s,\-]{{1,2}}{_WORD}){{5,14}}\b", re.IGNORECASE)
_CHINESE_DIGITS = str.maketrans("零〇幺一二三四五六七八九", "001123456789")
_SPOKEN_ZH = re.compile(r"[零〇幺一二三四五六七八九](?:[\s\-，、]?[零〇幺一二三四五六七八九]){6,14}")
_DATE = re.compile(r"\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}(?:[ T][0-2]?\d)?|\d{4}[-/. ]?[01]\d(?:[-/. ]?[0-3]\d)?")
_DECIMAL = re.compile(r"\d+\.\d+")
#: A run of digits and signs; what may stand before a number, and behind it; the most digits of a country's code, 00 before it included.
_RUNS = re.compile(rf"\d(?:{_LOOSE}\d){{{_LEAST - 1},}}")
_PREFIX = re.compile(rf"(?:\(?(?:\+|00)\s?\(?\d{{0,3}}\)?{_LOOSE})?(?:\(?0?\)?)?\(?$")
_EXTENSION, _CODE = re.compile(r"\s?(?:ext\.?|转|x)\s?", re.IGNORECASE), 5
#: What a text without any of these has nothing personal in.
_MAY_BE = re.compile(
    rf"\d|@|%40|[\[(]at[\])]|[A-Za-z][-_]\w{{4}}|[零〇幺一二三四五六七八九]{{2}}|{_WORD}[\s,\-]{{1,2}}{_WORD}",
    re.IGNORECASE,
)
_CARDS = re.compile(rf"{_BEFORE}[2-6]\d{{3}}(?:[\s\-]{{0,2}}\d){{9,15}}{_AFTER}")
_MAILS = re.compile(
    r"[A-Za-z0-9\u00c0-\u024f_.+'%&=-]{1,64}(?:@|%40|\s?[\[(]at[\])]\s?)[A-Za-z0-9\u00c0-\u024f-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}"
)
_PLATES = tuple(map(re.compile, (
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使领][A-Za-z][\s·•.\-]{0,2}(?:[A-HJ-NP-Za-hj-np-z0-9]{5,6}|[A-HJ-NP-Za-hj-np-z0-9]{4}[挂学警港澳领])(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9\-])[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}[\s\-]?\d{1,4}[EH]?(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9\-])[A-Z]{2}\d{2}\s?[A-Z]{3}(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9\-])[A-Z]{2}[\s\-]\d{3}[\s\-][A-Z]{2}(?![A-Za-z0-9])",
)))  # fmt: skip
_PLATE_NAMED = re.compile(
    r"(?:\b(?:number|licen[cs]e|registration) ?(?:plate|number)?s?\b|\bplates?\b|车牌号?码?)[^A-Za-z0-9\n]{0,6}(?:is |reads |no\.? ?)?((?=[A-Z0-9\- ]*\d)(?=[0-9\- ]*[A-Z])[A-Z0-9]{1,4}(?:[ \-]?[A-Z0-9]{1,4}){0,2})(?![A-Za-z0-9])"
)
#: Numbers of identity papers, by the form that a country gives them: China, Taiwan, Hong Kong, Korea, India (Aadhaar, PAN), the United States, Britain,
#: Spain and Italy.
_IDENTITIES = tuple(map(re.compile, (
    rf"{_BEFORE}[1-9]\d{{5}}[\s\-]?(?:18|19|20)\d\d[\s\-]?(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[\s\-]?\d{{3}}[\dXx]{_AFTER}",
    rf"{_BEFORE}[A-Z][12]\d{{8}}{_AFTER}",
    r"(?<![A-Za-z0-9])[A-Z]{1,2}\d{6}\([0-9A]\)",
    rf"{_BEFORE}\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{{6}}{_AFTER}",
    rf"{_BEFORE}[2-9]\d{{3}} \d{{4}} \d{{4}}{_AFTER}(?! \d)",
    rf"{_BEFORE}[A-Z]{{3}}[ABCFGHJLPT][A-Z]\d{{4}}[A-Z]{_AFTER}",
    rf"{_BEFORE}(?!000|666|9\d\d)\d{{3}}-(?!00)\d\d-(?!0000)\d{{4}}{_AFTER}",
    rf"{_BEFORE}[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\s?\d\d\s?\d\d\s?\d\d\s?[A-D]{_AFTER}",
    rf"{_BEFORE}(?:\d{{8}}|[XYZ]-?\d{{7}})-?[TRWAGMYFPDXBNJZSQVHLCKE]{_AFTER}",
    rf"{_BEFORE}[A-Z]{{6}}\d\d[A-EHLMPRST]\d\d[A-Z]\d{{3}}[A-Z]{_AFTER}",
)))  # fmt: skip
_PASSPORTS = re.compile(rf"{_BEFORE}(?:E[A-HJ-NP-Z]\d{{7}}|[EGDPS]\d{{8}}){_AFTER}")
#: What stands between the word for a paper and its number, and the number.
_IS = r"(?:\s?(?:number|nr|no|num|details|号码?|码|is|was|reads|ends in|为|是)\b\.?)*[\s:：#=（(,，是为]{0,4}((?=[A-Z0-9\s\-]*\d)[A-Z0-9](?:[\s\-]?[A-Z0-9]){4,23})(?![A-Za-z0-9])"
_PASSPORT_NAMED = re.compile(
    rf"(?:\b[Pp]assport\b|\b[Rr]eisepass\b|\b[Pp]asaporte\b|\b[Pp]asseport\b|护照|通行证){_IS}"
)
_IDENTITY_NAMED = re.compile(
    rf"(?:\b(?:(?:[Nn]ational |[Pp]ersonal )?(?:ID|[Ii]dentity) ?(?:[Cc]ard|[Nn]umber|[Nn]o\b)|[Nn]ational (?:ID|[Ii]nsurance)|SSN|[Ss]ocial [Ss]ecurity|[Tt]ax(?:payer)? ?(?:ID|[Nn]umber)|[Dd]riv(?:ing|er'?s) licen[cs]e|Aadhaar|NHS|PAN card"
    rf"|DNI|NIE|[Pp]ersonalausweis\w*)|身份证|证件|驾驶?[照证]|社保|居住证){_IS}"
)
_ACCOUNTS = re.compile(rf"{_BEFORE}[A-Z]{{2}}\d\d(?:\s?[A-Z0-9]{{4}}){{2,7}}(?:\s?[A-Z0-9]{{1,3}})?{_AFTER}")
_ADDRESSES = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\.\d)|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?!\w)"
)
_PASSWORDS = re.compile(
    r"(?:\b(?:password|passcode|passphrase|pin(?: code)?)\b(?:\s(?:is|was))?|密码)\s?[:：=是为]?\s?[\"'“‘`]?((?=[^\s\"'“”‘’`,，。]*\d)[^\s\"'“”‘’`,，。;；]{4,64})",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rf"(?<![\d.])(-?\d{{1,3}}\.\d{{{_EXACT},}})°?\s?[NSEWnsew]?\s*(?:[,，;；/|\s]|\blat(?:itude)?\b|\blon(?:gitude)?\b|\blng\b|纬度|经度|[:：=\"'])+\s*(-?\d{{1,3}}\.\d{{{_EXACT},}})(?!\.?\d)"
)
_HOME = (
    r"(?:\b(?:home|my (?:house|place|flat|apartment)|her (?:house|flat)|his (?:house|flat)|residence|where I live|I live|zu ?hause|chez moi|domicile|mi casa)\b"
    r"|我的?家|回家|家里|家庭|住址|住处|住在|自家|家在|家[:：（(]|(?<!\w)家(?!\w))"
)
_HOME_BEFORE = re.compile(rf"{_HOME}[^\n]{{0,60}}$", re.IGNORECASE)
_HOME_BEHIND = re.compile(rf"^[^\n\d]{{0,25}}{_HOME}", re.IGNORECASE)
_HOME_NAME = re.compile(
    r"\s*(?:(?:my|our|the user'?s|user'?s)\s+)?(?:home|house|residence|home address)\s*|\s*(?:我的?|用户的?)?(?:家|家庭住址|住址|住处|家里)\s*",
    re.IGNORECASE,
)
_OF_PHONES = frozenset({
    "tel", "tels", "telephone", "telephones", "phone", "phones", "mobile", "mobiles", "cell", "cellphone", "fax", "whatsapp", "msisdn",
    "phonenumber", "contactnumber", "hotline",
})  # fmt: skip
_OF_PHONES_ZH = re.compile("电话|手机|座机|传真|联系方式")
#: Words in the key of a field, all of them together too, that name a paper.
_PAPERS: tuple[tuple[PersonalKind, frozenset[str]], ...] = (
    ("passport number", frozenset({"passport", "passports", "passportnumber", "护照"})),
    ("identity number", frozenset({"ssn", "nationalid", "idcard", "idnumber", "identitynumber", "idcardnumber", "taxid", "nin", "aadhaar", "dni", "身份证"})),
    ("account number", frozenset({"iban", "accountnumber", "bankaccount"})),
)  # fmt: skip
_OF_PLATES = frozenset({"plate", "plates", "licenseplate", "licenceplate", "numberplate"})
_OF_IDS = frozenset({
    "id", "ids", "uid", "order", "tracking", "parcel", "shipment", "booking", "reference", "ref", "code", "no", "sku", "timestamp", "time",
    "ts", "date", "created", "updated", "expires", "hash", "trace", "span", "version", "seed", "zip", "postcode", "adcode",
})  # fmt: skip
_OF_HOMES = frozenset({"home", "homes", "residence", "homeaddress", "homelocation"})
_OF_NAMES = frozenset({
    "name", "label", "type", "kind", "tag", "title", "alias", "category", "place", "address", "what",
})  # fmt: skip


@dataclass(frozen=True)
class PersonalDatum:
    """A piece of personal data: its kind, its place, and its first characters."""

    kind: PersonalKind
    place: str
    begin: str

    def __str__(self) -> str:
        return f"{self.place}: a {self.kind} ({self.begin}...)".replace("a e-mail", "an e-mail")


@dataclass(frozen=True)
class _Hit:
    """A piece of personal data found in a text: start, end, kind and text."""

    start: int
    end: int
    kind: PersonalKind
    text: str

    @property
    def key(self) -> str:
        """The key that all spellings of the value share; see ``_key``."""
        return _key(self.kind, self.text)


class PersonalData:
    """Finds and replaces personal data: call ``look`` on all parts of a conversation first, then ``clean`` on each part.

    Attributes:
        found: each value with each of its places, in the order of the look.
    """

    def __init__(self) -> None:
        self.found: list[PersonalDatum] = []
        self._aliases: dict[tuple[PersonalKind, str], str] = {}
        self._counts: Counter[PersonalKind] = Counter()
        self._homes: list[tuple[float, float]] = []
        self._written: dict[PersonalKind, re.Pattern[str]] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}

    def look(self, value: Json, place: str, *, again: bool = True) -> None:
        """Find the personal data in a value, add the data to ``found`` and remember them for ``clean``.

        Args:
            value: a text, or JSON data.
            place: where it stands; fields further in are added to it.
            again: whether a value that is known already is told again, with this place.
        """
        before, known = len(self.found), (len(self._aliases), len(self._homes))
        self._look(value, place, "", home=False, depth=0)
        if not again and known == (len(self._aliases), len(self._homes)):
            del self.found[before:]

    def clean(self, value: Json) -> Json:
        """Return a value with all personal data found so far replaced by aliases: in texts, keys, numbers and JSON in texts."""
        return self._cleaned(value, 0)

    # -- finding

    def _look(self, value: Json, place: str, field: str, *, home: bool, depth: int) -> None:
        """Find personal data in a value and its members; ``home``: whether a point in the value is somebody's home."""
        if isinstance(value, Mapping):
            home = home or any(
                _words(key) & _OF_NAMES and isinstance(name, str) and _HOME_NAME.fullmatch(name)
                for key, name in value.items()
            )
            self._take_points(list(value.values()), place, home=home)
            for key, member in value.items():
                self._look(str(key), f"{place}, a key", "", home=False, depth=depth)
                below = home or bool(_words(str(key)) & _OF_HOMES) or bool(_HOME_NAME.fullmatch(str(key)))
                self._look(member, f"{place}.{key}", str(key), home=below, depth=depth + 1)
        elif isinstance(value, list):
            self._take_points(value, place, home=home)
            for number, member in enumerate(value):
                self._look(member, f"{place}[{number}]", field, home=home, depth=depth + 1)
        elif isinstance(value, str):
            inside = _json_in(value) if depth < limits.DEPTH else None
            if inside is not None:
                self._look(inside, place, field, home=home, depth=depth + 1)
            else:
                self._look_at_text(value, place, field, home=home)
        elif isinstance(value, int) and not isinstance(value, bool):
            self._look_at_text(str(value), place, field, home=False)

    def _look_at_text(self, text: str, place: str, field: str, *, home: bool) -> None:
        """Find personal data in a text, and points that the text calls home."""
        flat = _flat(text)
        for hit in _hits(flat, field):
            self._learn(hit, place)
        for pair in _PAIR.finditer(flat):
            before, behind = flat[max(0, pair.start() - 80) : pair.start()], flat[pair.end() : pair.end() + 40]
            if home or _HOME_BEFORE.search(before) or _HOME_BEHIND.search(behind):
                self._learn_home(float(pair[1]), float(pair[2]), place)

    def _take_points(self, members: list[Json], place: str, *, home: bool) -> None:
        """Remember the first two coordinates among the members as a home, if ``home`` is set."""
        exact = [number for number in map(_degrees, members) if number is not None]
        if home and len(exact) >= 2:  # noqa: PLR2004  two coordinates
            self._learn_home(exact[0], exact[1], place)

    def _learn(self, hit: _Hit, place: str) -> None:
        """Add a value to ``found``, and give a new value an alias."""
        if (hit.kind, hit.key) not in self._aliases:
            self._counts[hit.kind] += 1
            self._aliases[hit.kind, hit.key] = f"{_ALIASES[hit.kind]}-{self._counts[hit.kind]}"
        self._written = {}
        self.found.append(PersonalDatum(hit.kind, place, hit.text[:2]))

    def _learn_home(self, first: float, second: float, place: str) -> None:
        """Add a home position to ``found``, and remember a new position."""
        if (first, second) not in self._homes:
            self._homes.append((first, second))
        self.found.append(PersonalDatum("home position", place, f"{int(first)}."))

    # -- replacing

    def _cleaned(self, value: Json, depth: int) -> Json:
        """Return a value with personal data replaced by aliases and home coordinates rounded, at any depth."""
        if isinstance(value, Mapping):
            cleaned: dict[str, Json] = {}
            for number, (key, member) in enumerate(zip(value, self._cleaned([*value.values()], depth), strict=True)):
                name = self._clean_text(str(key))
                cleaned[f"{name}-{number}" if name in cleaned else name] = member  # two spellings of one number
            return cleaned
        if isinstance(value, list):
            at_home = self._at_home(value)
            return [
                _rounded(member) if number in at_home else self._cleaned(member, depth + 1)
                for number, member in enumerate(value)
            ]
        if isinstance(value, str):
            inside = _json_in(value) if depth < limits.DEPTH else None
            if inside is not None and (cleaned_inside := self._cleaned(inside, depth + 1)) != inside:
                return json.dumps(cleaned_inside, ensure_ascii=False)
            return self._clean_text(value)
        if isinstance(value, int) and not isinstance(value, bool):
            text = self._clean_text(str(value))
            return value if text == str(value) else text
        return _rounded(value) if isinstance(value, float) and any(value in home for home in self._homes) else value

    def _clean_text(self, text: str) -> str:
        """Return a text with personal data replaced by aliases and home coordinates rounded."""
        flat, parts, at = _flat(text), [], 0
        spans = [*self._aliases_in(flat)] if self._aliases else []
        for pair in _PAIR.finditer(flat) if self._homes else ():
            if len(self._at_home([float(pair[1]), float(pair[2])])) == 2:  # noqa: PLR2004  both coordinates
                spans += [(*pair.span(group), str(_rounded(float(pair[group])))) for group in (1, 2)]
        for start, end, alias in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start >= at:
                parts += [text[at:start], alias]
                at = end
        return "".join([*parts, text[at:]])

    def _aliases_in(self, flat: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and alias of each known value in a text, in any spelling."""
        forms: tuple[tuple[re.Pattern[str], PersonalKind], ...] = (
            (_MAILS, "e-mail address"), (_SPOKEN, "telephone number"), (_SPOKEN_ZH, "telephone number"),
        )  # fmt: skip
        if not self._written:
            keys = {kind: sorted({key for other, key in self._aliases if other == kind}, key=len, reverse=True) for kind in _ALIASES}  # fmt: skip
            self._written = {kind: _any_of(kind, keys[kind]) for kind in _ALIASES if kind not in _READ_AGAIN}
            self._lengths = {kind: tuple(dict.fromkeys(map(len, keys[kind]))) for kind in ("card number", "telephone number")}  # fmt: skip
        for pattern, kind in (*forms, *((written, kind) for kind, written in self._written.items())):
            for hit in _matches(pattern, flat, kind):
                if (alias := self._aliases.get((kind, hit.key))) is not None:
                    yield hit.start, hit.end, alias
        for run in _RUNS.finditer(flat):
            yield from self._numbers(flat, run)

    def _numbers(self, flat: str, run: re.Match[str]) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and alias of known card and telephone numbers in a run of digits, including any country code."""
        places = [run.start() + place for place, char in enumerate(run.group()) if char.isdecimal()]
        digits = "".join(flat[place] for place in places)
        kinds: tuple[PersonalKind, ...] = ("card number", "telephone number")
        for kind in kinds:
            for length in self._lengths[kind]:
                for first in range(len(digits) - length + 1):
                    alias = self._aliases.get((kind, digits[first : first + length]))
                    end = places[first + length - 1] + 1 if alias is not None else 0
                    if alias is None or (flat[end : end + 1].isascii() and flat[end : end + 1].isalnum()):
                        continue
                    before = re.search(r"\d*$", flat[: places[first]][-_MOST:])
                    code = before.group() if before is not None else ""
                    if code.strip("0") and (kind == "card number" or length < _TELLING or len(code) > _CODE):
                        continue  # the end of a longer number
                    begin = _PREFIX.search(flat[: places[first] - len(code)][-_MOST:])
                    yield places[first] - len(code) - (len(begin.group()) if begin is not None else 0), end, alias

    def _at_home(self, members: list[Json]) -> set[int]:
        """Return the indices of members that together are the coordinates of a known home; empty if there are none."""
        degrees = {place: number for place, member in enumerate(members) if (number := _degrees(member)) is not None}
        for pair in self._homes:
            near = [
                {place for place, number in degrees.items() if abs(number - coordinate) < _AT_HOME}
                for coordinate in pair
            ]
            if near[0] and near[1] and len(near[0] | near[1]) > 1:
                return near[0] | near[1]
        return set()


def _any_of(kind: PersonalKind, keys: list[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of the keys, with any spacing between their characters."""
    between = "" if kind in _AS_IT_IS else r"[\s·•.\-]{0,2}"
    spellings = "|".join(between.join(map(re.escape, key)) for key in keys)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{spellings or '(?!)'})(?![A-Za-z0-9])", re.IGNORECASE)


def _words(key: Any) -> frozenset[str]:
    """Return the lower-case words in a key, such as ``phoneNumber`` or ``home-address``, and the joined words."""
    parts = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _flat(str(key))).lower())
    return frozenset([*parts, "".join(parts)])


def _flat(text: str) -> str:
    """Return a text with full-width characters replaced by plain ones; its length stays the same."""
    if text.isascii():
        return text
    return "".join(
        form if len(form := unicodedata.normalize("NFKC", char)) == 1 and char not in "\u00b2\u00b3\u00b9" else char
        for char in text
    )


def _hits(flat: str, field: str) -> Iterator[_Hit]:
    """Yield the personal data in a text, preferring the longest of overlapping matches; ``field``: the key of the text."""
    if not _MAY_BE.search(flat):
        return
    words = _words(field)
    hits = [*_matches(_MAILS, flat, "e-mail address")]
    hits += [hit for hit in _matches(_CARDS, flat, "card number") if _is_card(hit.text)]
    hits += _papers(flat, field, words)
    for pattern in _PLATES:
        hits += _matches(pattern, flat, "number plate")
    hits += _matches(_PLATE_NAMED, flat, "number plate", 1)
    if words & _OF_PLATES or "车牌" in field:
        hits += [_Hit(0, len(flat), "number plate", flat)] if _is_named_plate(flat) else []
    phones = [hit for pattern in _PHONES for hit in _matches(pattern, flat, "telephone number")]
    phones += _matches(_CALLED, flat, "telephone number", 1)
    phones += [*_matches(_SPOKEN, flat, "telephone number"), *_matches(_SPOKEN_ZH, flat, "telephone number")]
    if words & _OF_PHONES or _OF_PHONES_ZH.search(field):
        phones += _matches(re.compile(rf"\+?\(?\d(?:{_LOOSE}\d){{{_LEAST - 1},{_MOST - 1}}}"), flat, "telephone number")
    elif not words & _OF_IDS:
        phones += [
            hit
            for pattern in _LIKELY
            for hit in _matches(pattern, flat, "telephone number")
            if hit.text[0] not in "(0" or len(_digits(hit.text)) >= _NATIONAL
        ]
    hits += filter(_is_phone, phones)
    taken = bytearray(len(flat))
    for hit in sorted(hits, key=lambda hit: hit.start - hit.end):
        if taken.find(1, hit.start, hit.end) < 0:
            taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
            yield hit


def _papers(flat: str, field: str, words: frozenset[str]) -> list[_Hit]:
    """Return the account, passport and identity numbers, IP addresses and secrets in a text."""
    hits = [hit for hit in _matches(_ACCOUNTS, flat, "account number") if _is_account(hit.key)]
    hits += [hit for hit in _matches(_ADDRESSES, flat, "IP address") if _is_address(hit.text)]
    secrets = [*_matches(KEYS, flat, "secret"), *_matches(_PASSWORDS, flat, "secret", 1)]
    hits += [hit for hit in secrets if re.search(r"\d", hit.text) and not re.search(r"secret-\d+$", hit.text)]
    hits += _matches(_PASSPORT_NAMED, flat, "passport number", 1)
    hits += _matches(_IDENTITY_NAMED, flat, "identity number", 1)
    for kind, key_words in _PAPERS:
        if words & key_words or any(name in field for name in key_words):
            hits += [_Hit(0, len(flat), kind, flat)] if re.fullmatch(r"(?=.*\d)[\w\s().\-]{5,32}", flat) else []
    if not words & _OF_IDS:
        hits += _matches(_PASSPORTS, flat, "passport number")
        hits += [hit for pattern in _IDENTITIES for hit in _matches(pattern, flat, "identity number")]
    return hits


def _matches(pattern: re.Pattern[str], flat: str, kind: PersonalKind, group: int = 0) -> Iterator[_Hit]:
    """Yield each match of a pattern in a text as a hit of a kind."""
    return (_Hit(*match.span(group), kind, match[group]) for match in pattern.finditer(flat))


def _is_named_plate(text: str) -> bool:
    """Return whether a text in a field for plates can be a number plate: 4 to 9 characters with letters and digits."""
    letters = re.sub(r"[\s\-·]", "", text)
    return 4 <= len(letters) <= 9 and any(map(str.isdigit, letters)) and any(map(str.isalpha, letters))  # noqa: PLR2004


def _is_phone(hit: _Hit) -> bool:
    """Return whether a hit has a telephone number's count of digits, and is neither a date nor a decimal number."""
    count = len(_digits(hit.text))
    return _LEAST <= count <= _MOST + 1 and not _DATE.fullmatch(hit.text) and not _DECIMAL.fullmatch(hit.text)


def _is_card(text: str) -> bool:
    """Return whether a number is a card number, by its length and check digit (Luhn)."""
    digits = [int(digit) for digit in _digits(text)]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return len(digits) in _CARD and (sum(digits[-1::-2]) + doubled) % 10 == 0


def _is_account(key: str) -> bool:
    """Return whether a text is an IBAN, by its check digits (ISO 13616: modulo 97)."""
    return int("".join(str(int(char, 36)) for char in key[4:] + key[:4])) % 97 == 1


def _is_address(text: str) -> bool:
    """Return whether a text is an IP address other than a loopback or unspecified one."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _digits(text: str) -> str:
    """Return the digits of a text, including digits spelled as words."""
    if _SPOKEN.fullmatch(text):
        spoken = ""
        times = 1
        for word in re.findall(r"[a-z]+", text.lower()):
            times = {"double": 2, "triple": 3}.get(word, times)
            if word in _DIGIT_WORDS:
                spoken, times = spoken + _DIGIT_WORDS[word] * times, 1
        return spoken
    return re.sub(r"\D", "", text.translate(_CHINESE_DIGITS) if _SPOKEN_ZH.fullmatch(text) else text)


def _key(kind: PersonalKind, text: str) -> str:
    """Return a normalised form of a value that is the same for all its spellings."""
    if kind == "telephone number":
        digits = _digits(_EXTENSION.split(text)[0])
        return digits.lstrip("0")[-_TELLING:] or digits
    if kind == "card number":
        return _digits(text)
    if kind == "secret":
        return text
    if kind == "IP address":
        return text.lower()
    if kind == "e-mail address":
        return re.sub(r"%40|\s?[\[(]at[\])]\s?", "@", text).casefold()
    return re.sub(r"[\s·•.\-]", "", text).upper()


def _degrees(value: Json) -> float | None:
    """Return a coordinate with enough decimals to give an exact place; None for any other value."""
    text = _flat(str(value)).strip() if isinstance(value, (float, str)) else ""
    exact = re.fullmatch(rf"-?\d{{1,3}}\.\d{{{_EXACT},}}", text) is not None and abs(float(text)) <= 180  # noqa: PLR2004
    return float(text) if exact else None


def _rounded(value: Json) -> Json:
    """Return a coordinate rounded so that it no longer identifies a house."""
    number = round(float(value), _ROUGH)
    return str(number) if isinstance(value, str) else number


def _json_in(text: str) -> Json:
    """Return the JSON object or list in a text; None if the text is anything else."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            return parse_json(text)
    return None
