"""Whether an agent asks the user for its go-ahead, and whether the user gives it. The words are data in ``go_ahead.yaml``.

A request for a go-ahead has two halves: a form that wants an answer (a question, a request to reply, a condition that the user is to fulfil), and an act that
the agent has in mind, or nothing else that could be answered. A missing detail, a choice, an offer to look something up, a report and a policy have one half only.
Both languages are always looked for. All patterns meet folded text, and none looks further than the sentence that it is in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import yaml

from .document import Document, fold_phrase
from .names import lexicon_of
from .page import open_page
from .reader import read_names

_READ_CHARS = 20_000
_BRACKETS = str.maketrans(dict.fromkeys("【】「」『』《》", '"'))
_PART = re.compile("<([a-z_]+)>")


@cache
def _words() -> Mapping[str, str]:
    """Return the parts and patterns by name; those that stand in others are still named there."""
    text = (files(__package__) / "go_ahead.yaml").read_text("utf-8")
    data = yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506  plain strings only
    return {name: "".join(text) for name, text in data["parts"].items()} | {
        name: text if isinstance(text, str) else "|".join(map("".join, text)) for name, text in data["patterns"].items()
    }


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return a pattern, compiled when a text is first looked through: most runs never ask for a go-ahead."""
    text = _words()[name]
    while _PART.search(text):
        text = _PART.sub(lambda part: _words()[part[1]], text)
    return re.compile(text)


class Request(NamedTuple):
    """What an agent's message asks, in words as they were written.

    Attributes:
        asking: the sentences that ask for a go-ahead; empty where none does.
        before: the sentences before the first of these; the whole message where there is none.
        after: the other sentences behind it.
        other: those that ask something else, or offer something.
    """

    asking: str
    before: str
    after: str
    other: str


@lru_cache(maxsize=256)
def read_request(message: str, language: str) -> Request:
    """Return what an agent's message asks the user.

    Args:
        message: the agent's words; of a longer one only the last 20,000 characters are read.
        language: BCP 47 tag of the case; a message in another language is read in that.
    """
    document = read_names(open_page(message[-_READ_CHARS:], language=language), lexicon_of(()))
    asking = go_ahead_requests(document)
    if not asking:  # in Chinese the parts of one question have commas between them
        joined = message[-_READ_CHARS:].replace("，", "、")
        again = read_names(open_page(joined, language=language), lexicon_of(()))
        asking = go_ahead_requests(again) if again.sentences == document.sentences else asking
    first = min(asking, default=len(document.sentences))
    questions = {question.sentence for question in document.questions}
    parts: dict[str, list[str]] = {"asking": [], "before": [], "after": [], "other": []}
    for number, span in enumerate(document.sentences):
        words = document.words(span)
        parts["asking" if number in asking else "before" if number < first else "after"].append(words)
        if number not in asking and (number in questions or "?" in fold_phrase(words)):
            parts["other"].append(words)
    return Request(**{name: "\n".join(sentences) for name, sentences in parts.items()})


@lru_cache(maxsize=256)
def asks_go_ahead(message: str, language: str) -> bool:
    """Return whether an agent's message asks the user for a go-ahead for an act that it has in mind. Arguments as for ``read_request``."""
    page = open_page(message[-_READ_CHARS:], language=language)
    return bool(go_ahead_requests(read_names(page, lexicon_of(()))))


def exclusion_in(text: str, *, asks: bool) -> str:
    """Return the word by which a folded text excludes something or adds a second act ("keep", "instead"); empty where there is none.

    Args:
        text: the text.
        asks: whether it is the question, in which a comparison ("the cheaper one") may mean another thing, too.
    """
    text = _pattern("whether_or_not").sub("", text)
    match = _pattern("excludes").search(text) or (asks and _pattern("compares").search(text))
    return match[0] if match else ""


def condition_in(text: str) -> str:
    """Return the word by which a folded text makes an act depend on something else than the user's yes ("if", "unless"); empty where there is none."""
    return found_in("conditional", _pattern("whether_or_not").sub("", text))


def found_in(name: str, text: str) -> str:
    """Return the first words of a folded text that fit a pattern of ``go_ahead.yaml``; empty where none do.

    Args:
        name: ``keeps`` (says that something stays as it is), ``informs`` (offers to look something up or to tell something), ``refers_back`` (leaves its act to
            the sentence before: "shall I do that?").
        text: the text.
    """
    match = _pattern(name).search(text)
    return match[0] if match else ""


def is_bound(before: str, behind: str) -> bool:
    """Return whether the words around a value, folded, make it a bound, a fee, or what a thing can hold: "until 10 Oct"."""
    return bool(_pattern("bound_before").search(before) or _pattern("bound_behind").search(behind))


@lru_cache(maxsize=4096)
def is_plain_word(word: str) -> bool:
    """Return whether a folded word, as "the" or 可以, or a word for an act, as "cancel", names no thing."""
    return not meaning_in(word, acts_in(word), shortest=1)


def meaning_in(text: str, acts: Iterable[str] = (), known: Collection[str] = (), *, shortest: int = 2) -> str:
    """Return the first word of a folded text that says more than courtesy, grammar and some acts; empty where there is none.

    Args:
        text: the text, without the values that are read in it.
        acts: acts whose words are understood.
        known: further words that are, without the ending of a plural.
        shortest: so many Chinese characters in a row say something; one alone is mostly a particle.
    """
    text = re.sub(r"\bper [a-z]+", "|", text)  # "9 EUR per month"
    text = without_acts(text, acts)
    for match in re.finditer(r"[a-z][a-z'-]*|[\u3400-\u9fff]+", text):
        word = match[0].strip("'-")
        if not word.isascii():
            left = re.search(f"[\u3400-\u9fff]{{{shortest},}}", _pattern("plain_han").sub("|", word))
            if left and not any(left[0] in one for one in known):
                return left[0]
        elif _forms(word).isdisjoint(known) and not all(
            any(map(_pattern("plain").fullmatch, _forms(part))) for part in re.split("['-]", word) if len(part) > 1
        ):
            return word
    return ""


def _forms(word: str) -> set[str]:
    return {word, word.removesuffix("'s"), word.removesuffix("s")}


def without_acts(text: str, acts: Iterable[str]) -> str:
    """Return a folded text without the words of some acts."""
    for act in sorted(acts):
        text = _pattern(f"act_{act}").sub("|", text)
    return text


def words_for(acts: Iterable[str], text: str) -> str:
    """Return the words in a folded text that name some acts, joined."""
    return "".join(match[0] for act in sorted(acts) for match in _pattern(f"act_{act}").finditer(text))


def acts_in(text: str, without: Iterable[str] = ()) -> frozenset[str]:
    """Return the acts that a folded text names, by their English verb; ``without``: acts whose words are left out first."""
    text = without_acts(text, without)
    return frozenset(act for act in _acts() if _pattern(f"act_{act}").search(text))


def acts_of(name: str, description: str) -> frozenset[str]:
    """Return the acts that a tool does, by their English verb: that with which its name begins, else its description; none where neither is known."""
    words = [word for word in fold_phrase(name).replace("-", "_").split("_") if not _pattern("light").fullmatch(word)]
    text = fold_phrase(description)
    if text[:1].isascii():
        beginnings = [text.split(maxsplit=1)[0].removesuffix("s")]
    else:
        beginnings = [text[:end] for end in range(1, len(text) + 1)]
    found = [acts for part in (*words[:1], *beginnings) if (acts := acts_in(part))]
    return next(
        (acts for acts in found if acts - {"apply"}), found[0] if found else frozenset()
    )  # 申请退货 asks for a return


def words_of(act: str) -> list[str]:
    """Return the plainest words of an act: its English verb, and a Chinese one."""
    return [act.replace("_", " "), *re.findall(r"[\u3400-\u9fff]{2,}", _words()[f"act_{act}"])[:1]]


@cache
def _acts() -> tuple[str, ...]:
    return tuple(name.removeprefix("act_") for name in _words() if name.startswith("act_"))


def go_ahead_requests(document: Document) -> frozenset[int]:
    """Return the indices of the sentences of an agent's message that ask for a go-ahead."""
    sentences = [_plain(document.words(span)) for span in document.sentences]
    whole = "\n".join(sentences)

    def has(*names: str) -> bool:
        return any(_pattern(name).search(whole) for name in names)

    # The forms of one sentence first: few messages have any, and each pattern that is not needed need not be compiled.
    return frozenset(
        number
        for number, (sentence, following) in enumerate(zip(sentences, [*sentences[1:], ""], strict=True))
        if not _pattern("answered").match(following)
        and (
            _asks(sentence)
            or (_accepts(sentence) and (has("pending", "zh_pending") or not has("reported", "zh_reported")))
            or (
                (_pattern("verified").search(sentence) or _pattern("zh_verified").search(sentence))
                and has("pending", "zh_pending")
            )
        )
    )


def _accepts(sentence: str) -> bool:
    """Return whether a sentence can be answered with nothing but a yes or a no."""
    if _pattern("choice").search(sentence) or _pattern("zh_choice").search(sentence):
        return False
    bare = any(_pattern("approving").search(match[0]) for match in _pattern("bare").finditer(sentence))
    return bare or bool(_pattern("accepted").search(sentence) or _pattern("zh_accepted").search(sentence))


def _asks(sentence: str) -> bool:
    """Return whether a sentence asks for a go-ahead by its own words, and for nothing else in the same breath."""
    if _pattern("general").search(sentence) and not sentence.endswith(("?", "吗")):
        return False
    if _pattern("may_ask").search(sentence) and any(
        _is_request(sentence, match.start(), match.end()) for match in _pattern("asks").finditer(sentence)
    ):
        return True
    return not sentence.isascii() and any(
        not _pattern("detail").search(match[0])
        and not _pattern("zh_told").search(sentence, 0, match.start() + (match[0][0] in ",。;:!"))
        for match in _pattern("zh_asks").finditer(sentence)
    )


def _is_request(sentence: str, start: int, end: int) -> bool:
    """Return whether a form of asking wants no detail, no choice and nothing that is left open."""
    before = _pattern("resets").split(sentence[:start])[-1]
    after = re.split(r"[,;?!]", sentence[end:])[0]
    around = f"{before}{sentence[start:end]}{after}"
    return not (
        _pattern("which").search(before)
        or _pattern("choice").search(sentence, start)
        or _pattern("anything").search(around)
    )


def _plain(sentence: str) -> str:
    """Return a sentence folded, without emoji at its end, what others said, and what was agreed before."""
    apart = _pattern("set_apart").sub(lambda match: f'{match[1]}{match[2]} "{match[3] or match[4]}"', sentence)
    folded = _pattern("single").sub(r'"\1"', fold_phrase(apart).translate(_BRACKETS))
    folded = _pattern("before").sub("", _pattern("quoted").sub('""', folded)).replace("请问", "")
    return re.sub(r"[\s~\u2600-\u27bf\U0001f300-\U0001faff]+$", "", folded) or folded


def agrees(message: str) -> bool | None:
    """Return whether a user's words plainly agree (True), plainly decline (False), or neither (None)."""
    answer = fold_phrase(message[:_READ_CHARS]).strip(" \"'.!")
    if _pattern("declines").match(answer):
        return False if "go ahead" not in answer and "?" not in answer else None
    return True if _pattern("agrees").match(answer) and not _pattern("hedged").search(answer) else None
