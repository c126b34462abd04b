"""Sessions out of events: what a user looked for, in which words, and what they took at last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_mapsat.sandbox import tokens

from .logs import Event, Place

#: A pause so long ends a session, seconds.
GAP_S = 30 * 60
TAKEN = ("navigate", "order")
_ASKING = ("search", "say")
#: A query tells a kind of place where most of so many sessions ended there.
_QUERIES, _MOST = 3, 0.6
#: A word of queries tells one where this share of more sessions ended there, and others end there more seldom.
_WORDS, _MOST_OF_WORDS, _MORE = 10, 0.75, 1.5
#: How many queries are learned from.
_LEARNED = 20_000


@dataclass(frozen=True)
class Session:
    """What a user did about one kind of place without a long pause; glances at other kinds are left out.

    Attributes:
        kind: the kind of place.
        events: by time.
        jumps: how many events about other kinds were left out.
    """

    kind: str
    events: tuple[Event, ...]
    jumps: int = 0

    @cached_property
    def query_at(self) -> int | None:
        """The place of the query among the events: the first search, else the first utterance; None without either."""
        for sort in _ASKING:
            if (at := next((at for at, event in enumerate(self.events) if event.type == sort), None)) is not None:
                return at
        return None

    @cached_property
    def anchor(self) -> Event | None:
        """The last order or navigation after the query, of the whole session where it has no query."""
        first = 0 if self.query_at is None else self.query_at + 1
        return next((event for event in reversed(self.events[first:]) if event.type in TAKEN), None)

    @cached_property
    def filters(self) -> tuple[Event, ...]:
        """The filters that the query comes with: those before it, and those set next, before anything else happens."""
        if self.query_at is None:
            return ()
        before = [event for event in self.events[: self.query_at] if event.type == "filter"]
        after: list[Event] = []
        for event in self.events[self.query_at + 1 :]:
            if event.type != "filter":
                break
            after.append(event)
        return (*before, *after)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The ids of all places that the session's searches showed before the anchor."""
        end = self.anchor.at if self.anchor else float("inf")
        return tuple(dict.fromkeys(id_ for event in self.events if event.at <= end for id_ in event.shown))


class Kinds:
    """The kinds of places of a catalogue, and which of them a text or an event is about.

    A text is about the kind that it names, else about the kind at which most sessions of the log with this query ended, or with these words.

    Args:
        places: the catalogue, by id.
        users: the events of each user. The first ones are learned from.
    """

    def __init__(self, places: Mapping[str, Place], users: Iterable[Sequence[Event]] = ()) -> None:
        self._places = places
        kinds = sorted({place.kind for place in places.values()}, key=lambda kind: (-len(kind), kind))
        self._words = {kind: naming(kind) for kind in kinds}
        self._ends: dict[str, Counter[str]] = {"": Counter()}
        for events in users:
            for sitting in _sittings(event for event in events if not event.place or event.place in places):
                taken = [places[event.place].kind for event in sitting if event.type in TAKEN]
                for query in _queries(sitting) if taken else ():
                    for part in ("", *_parts(query.text)):
                        self._ends.setdefault(part, Counter())[taken[-1]] += 1
            if self._ends[""].total() > _LEARNED:
                break

    def named(self, text: str) -> list[str]:
        """Return the kinds that a text names, the longest first."""
        words = spoken(text)
        return [kind for kind, pattern in self._words.items() if pattern.search(words)]

    def of_each(self, events: Sequence[Event]) -> list[str]:
        """Return for each event of one sitting the kind that it is about; empty where it fits any."""
        kinds = [""] * len(events)
        ahead = ""  # the kind of the next place that is opened or taken
        queries = {id(event) for event in _queries(events)}
        for at in reversed(range(len(events))):
            event = events[at]
            if event.place:
                ahead = kinds[at] = self._places[event.place].kind
            elif event.type in _ASKING:
                named = self.named(event.text) or (self._learned(event.text) if id(event) in queries else [])
                kinds[at] = ahead if ahead in named else next(iter(named), "") or self._most_shown(event)
        return kinds

    def _learned(self, text: str) -> list[str]:
        """Return the kind at which sessions with this query ended; of a new query that with its words, where all that tell one tell the same."""
        whole, *words = _parts(text)
        if self._ends.get(whole, Counter()).total() >= _QUERIES:
            return [kind for kind, count in self._ends[whole].items() if count >= _MOST * self._ends[whole].total()]
        told = set()
        for counts in (self._ends[word] for word in words if word in self._ends):
            ((kind, count),) = counts.most_common(1)
            usual = self._ends[""][kind] / self._ends[""].total()
            if counts.total() >= _WORDS and count / counts.total() >= max(_MOST_OF_WORDS, _MORE * usual):
                told.add(kind)
        return [*told] if len(told) == 1 else []

    def _most_shown(self, event: Event) -> str:
        counts = Counter(self._places[id_].kind for id_ in event.shown if id_ in self._places)
        kind, count = next(iter(counts.most_common(1)), ("", 0))
        return kind if 2 * count > counts.total() else ""


def spoken(text: str) -> str:
    """Return the words of a text, folded, with one space between them."""
    return " ".join(tokens(text.replace("_", " ")))


def naming(word: str) -> re.Pattern[str]:
    """Return what finds a word, or several, among spoken ones; English words also in the plural."""
    words = re.escape(spoken(word))
    return re.compile(rf"\b{words}(?:e?s)?\b" if word.isascii() else words)


def _queries(sitting: Sequence[Event]) -> list[Event]:
    """Return the searches of a sitting, else its first utterance."""
    searches = [event for event in sitting if event.type == "search"]
    return searches or [event for event in sitting if event.type == "say"][:1]


def _parts(text: str) -> list[str]:
    """Return a text, folded, its words, and each two characters of Chinese ones."""
    words = tokens(text)
    pairs = (word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1))
    return [" ".join(words), *dict.fromkeys((*filter(str.isascii, words), *pairs))]


def restore(events: Iterable[Event], kinds: Kinds) -> Iterator[Session]:
    """Give the sessions of one user.

    A session ends at a pause of 30 minutes, at another session id, or at another kind of place. What comes between two events about one kind is a glance and is
    left out, unless something was taken there.
    """
    for sitting in _sittings(events):
        about = kinds.of_each(sitting)
        start = 0
        while start < len(sitting):
            kind = next((named for named in about[start:] if named), "")
            own: list[Event] = []
            at, jumps = start, 0
            while at < len(sitting):
                if about[at] in ("", kind):
                    own.append(sitting[at])
                    at += 1
                    continue
                back = next((later for later in range(at, len(sitting)) if about[later] == kind), None)
                if back is None or any(event.type in TAKEN for event in sitting[at:back]):
                    break
                jumps += back - at
                at = back
            if kind:
                yield Session(kind, tuple(own), jumps)
            start = at


def _sittings(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Give the events that no long pause and no other session id parts."""
    sitting: list[Event] = []
    for event in events:
        if sitting and (event.at - sitting[-1].at > GAP_S or _other_session(sitting[-1], event)):
            yield sitting
            sitting = []
        sitting.append(event)
    if sitting:
        yield sitting


def _other_session(before: Event, event: Event) -> bool:
    return bool(before.session and event.session and before.session != event.session)
