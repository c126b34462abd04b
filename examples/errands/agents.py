"""Two agents without a model for the errands beside this file: ``remembering`` uses its memory of the user, ``forgetful`` has none.

``pytest examples/errands --mapsat-agent=examples.errands.agents:remembering --mapsat-agent-memory=full``
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

#: Words of a request that name the kind of an errand.
_KINDS = {
    "coffee": ("coffee", "咖啡"),
    "lunch": ("lunch", "午饭", "份饭"),
    "taxi": ("taxi", "辆车"),
    "table": ("table", "订位", "位子", "锚酒馆"),
    "cinema": ("cinema", "ticket", "票"),
    "delivery": ("parcel", "包裹"),
}
#: The beginning of a line of a memory: date and speaker. Only the user's own words count, and lines without a speaker, which are preferences.
_SPEAKER = re.compile(r"\d{4}-\d\d-\d\d\S* (?P<who>\w+): ")
_OWN_WORDS = ("user", "review")
_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]?")
_DEPENDS = re.compile(
    r"(?:when|if|如果)\s*(?P<when>[^,，]+)[,，]\s*(?P<then>[^;；]+)[;；]\s*(?:otherwise|否则)\s*(?P<otherwise>.+)",
    re.IGNORECASE,
)
_GIVEN_UP = ("any more", "no longer", "no need", "need not", "不用")
_YES = ("yes", "是的")


class Wishes:
    """The wishes of a memory about the offers of one kind.

    Args:
        memory: its text, the oldest line first.
        offers: the offers, each with ``options``: the names of what it has, by subject.
    """

    def __init__(self, memory: str, offers: list[dict[str, Any]]) -> None:
        options = [(about, tuple(names)) for offer in offers for about, names in offer["options"].items()]
        self._options = list(dict.fromkeys(options))
        #: What the user likes, by subject.
        self.likes: dict[str, str] = {}
        #: A wish that depends on something only the user knows: the condition, the likes where it holds, and where it does not.
        self.depends: tuple[str, dict[str, str], dict[str, str]] | None = None
        for sentence in _sentences(memory):
            self._hear(sentence)

    def _hear(self, sentence: str) -> None:
        if match := _DEPENDS.search(sentence):
            then, otherwise = dict(self._named(match["then"])), dict(self._named(match["otherwise"]))
            if then and otherwise:
                self.depends = match["when"].strip(), then, otherwise
            return
        for about, name in self._named(sentence):
            if any(words in sentence.lower() for words in _GIVEN_UP):
                if self.likes.get(about) == name:
                    del self.likes[about]
            else:
                self.likes[about] = name

    def _named(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the options that a text names, each by its English name."""
        yield from ((about, names[0]) for about, names in self._options if any(name in text.lower() for name in names))


def _sentences(memory: str) -> Iterator[str]:
    for line in memory.splitlines():
        speaker = _SPEAKER.match(line)
        if speaker is None or speaker["who"] in _OWN_WORDS:
            words = line[speaker.end() :] if speaker else line
            yield from (sentence for sentence in _SENTENCE.findall(words) if sentence.rstrip()[-1:] not in ("?", "？"))


def remembering(message: str, tools: Any, context: Any, session: Any) -> str:
    """Order what the user likes according to the memory; ask where that depends on something no memory can hold."""
    state = session.state
    if "offers" not in state:
        state["offers"] = _offers(message, tools)
        state["wishes"] = Wishes(context.memory, state["offers"])
    wishes: Wishes = state["wishes"]
    liked = dict(wishes.likes)
    if wishes.depends is not None:
        when, then, otherwise = wishes.depends
        if not state.get("asked"):
            state["asked"] = True
            chinese = context.locale.startswith("zh")
            return f"这次是否如此：{when}？" if chinese else f"Does this hold today: {when}?"
        liked |= then if any(words in message.lower() for words in _YES) else otherwise
    return _order(state["offers"], liked, tools, context)


def forgetful(message: str, tools: Any, context: Any) -> str:
    """Order the cheapest, for every user."""
    return _order(_offers(message, tools), {}, tools, context)


def _offers(message: str, tools: Any) -> list[dict[str, Any]]:
    kind = next(kind for kind, words in _KINDS.items() if any(word in message.lower() for word in words))
    offers: list[dict[str, Any]] = tools.find_offers(kind=kind)["offers"]
    return offers


def _order(offers: list[dict[str, Any]], liked: Mapping[str, str], tools: Any, context: Any) -> str:
    """Order the cheapest offer that has all of this, and say so in the user's language."""
    fitting = [offer for offer in offers if all(offer["options"][about][0] == name for about, name in liked.items())]
    offer = min(fitting, key=lambda offer: float(offer["price"]))
    tools.place_order(user=context.uid, offer=offer["id"])
    if context.locale.startswith("zh"):
        return f"已下单：{'、'.join(names[1] for names in offer['options'].values())}，{offer['price']} 元。"
    return f"Ordered: {', '.join(names[0] for names in offer['options'].values())}, for {offer['price']} yuan."
