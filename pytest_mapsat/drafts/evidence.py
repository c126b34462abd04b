"""Evidence for a condition in what stood before a reply: words and values that support it, each with its quote and its place."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pytest_mapsat.model import Evidence, Json, Tool, same

from .conversations import Conversation
from .fields import Field, figures_in, names_in
from .needs import any_spoken, key_words, leaves_of, listed, needs_of, sentences, tells, words_of

Source = Literal["context", "profile", "environment"]
_LONGEST_QUOTE = 200
#: So many places of evidence are kept for one condition.
_MOST = 5
#: Sentences of a system message that say what the agent is or does, and nothing of the user.
_INSTRUCTS = re.compile(
    r"You are (?!.*\b(?:user|customer|who)\b)|(?:Always|Never|Keep|Answer|Offer|Use|Ask|Reply)\b|你是[^，,：:]*$"
    r"|(?!.*(?:user|customer|用户|客户)).*(?:\b[Aa]ssistant\b|助手|客服|顾问|管家)"
)
_Relevance = Literal["strong", "weak"]


@dataclass(frozen=True)
class Told:
    """Something that stood before the reply: a text, or a value in data with its dotted path; ``asked``: it stands in the query."""

    place: str
    source: Source
    text: str
    path: str = ""
    value: Json = None
    asked: bool = False

    @property
    def quote(self) -> str:
        """It as it is quoted."""
        text = f"{self.path}: {json.dumps(self.value, ensure_ascii=False)}" if self.path else self.text
        return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


@dataclass(frozen=True)
class Support:
    """What supports a condition before the reply.

    Attributes:
        field: the condition, with the bound that the evidence gives where it gives one.
        asked: whether the query states it.
        source: where the first evidence stands.
        evidence: all of it; empty where none was found.
        kind: hard or soft, where a model says so; empty: the user's words say it.
    """

    field: Field
    asked: bool
    source: Source | Literal["unstated"]
    evidence: tuple[Evidence, ...]
    kind: Literal["", "hard", "soft"] = ""


def told_before(conversation: Conversation, tools: Mapping[str, Tool], listing: Collection[str]) -> tuple[Told, ...]:
    """Return what an agent could have known from before it gave the reply that is judged.

    Args:
        conversation: the conversation.
        tools: the tools by name.
        listing: the names of the tools that returned the things themselves: what these are like tells nothing of the need.
    """
    return tuple(_told(conversation, tools, listing))


def _told(conversation: Conversation, tools: Mapping[str, Tool], listing: Collection[str]) -> Iterator[Told]:
    context, at_query = conversation.context, conversation.lines[conversation.query_at].place
    for text in context.history:
        yield from (Told(at_query, "context", sentence) for sentence in sentences(text))
    for name, data, source in (("profile", context.profile, "profile"), ("details", context.details, "context")):
        yield from (
            Told(f"{at_query} (context.{name})", "profile" if source == "profile" else "context", "", path, value)
            for path, value in leaves_of(data)
        )
    for index, line in enumerate(conversation.lines[: conversation.reply_at + 1]):
        if line.role == "system" or (line.role == "user" and index <= conversation.query_at):
            asked = index == conversation.query_at
            yield from (Told(line.place, "context", sentence, asked=asked) for sentence in sentences(line.text))
        for step in line.calls:
            profile = (step.tool in tools and tools[step.tool].profile) or bool(
                set(listed("profiles")) & set(words_of(step.tool))
            )
            if step.kind == "call" and step.status == "ok" and (profile or step.tool not in listing):
                source = "profile" if profile else "environment"
                yield from (
                    Told(line.place, "profile" if source == "profile" else "environment", "", path, value)
                    for path, value in leaves_of(step.result)
                )


def support_for(field: Field, told: tuple[Told, ...], known_at: str) -> Support:
    """Return what supports a condition.

    Args:
        field: the condition.
        told: what stood before the reply.
        known_at: the place that told the time that opening hours are held against; empty where none did.
    """
    bounded, kept, asked = field, [], False
    for part in told:
        relevance, figure = _relevance(field, part)
        if relevance is None:
            continue
        if figure is not None and bounded is field:
            bounded = field.with_figure(figure) or field
        if part.asked and (figure is not None or field.stated_in(part.text)):
            asked = True
        need: Literal["direct", "related"] = "direct" if relevance == "strong" else "related"
        kept.append((part.source, Evidence(text=part.quote, at=(part.place,), relevance=relevance, need=need)))
    if not kept and isinstance(field.match, dict) and field.match.get("op") == "open_at" and known_at:
        moment = Evidence(text=f"It is {field.match['time']}", at=(known_at,), relevance="strong", need="direct")
        kept.append(("environment", moment))
    # What states the need comes before what is only a sign of it.
    kept.sort(key=lambda pair: pair[1].relevance != "strong")
    source: Source | Literal["unstated"] = kept[0][0] if kept else "unstated"
    return Support(bounded, asked, source, tuple(evidence for _, evidence in kept[:_MOST]))


def linked_to(support: Support, words: str, told: tuple[Told, ...], returned: str) -> Support:
    """Return a condition without evidence with texts from before the reply that speak of what the objection speaks of.

    They share a name, or a pair of Chinese signs, that stands in no call and no result.
    """
    shared = names_in(words)
    texts = [part for part in told if part.text and any(name not in returned for name in names_in(part.text) & shared)]
    if support.evidence or not texts:
        return support
    evidence = (Evidence(text=part.quote, at=(part.place,), relevance="weak", need="related") for part in texts[:_MOST])
    return replace(support, source=texts[0].source, evidence=tuple(evidence))


def _relevance(field: Field, told: Told) -> tuple[_Relevance | None, float | None]:
    """Return how something supports a condition, None where it does not, and the figure that it gives for its bound."""
    if told.path:
        return _of_value(field, told)
    text = told.text
    if _INSTRUCTS.match(text) and not told.asked:
        return None, None
    related = bool(any_spoken(text, [phrase for need in field.needs for phrase in (*need.names, *need.signs)]))
    for figure in figures_in(text, field.bound, plain=related) if field.bound else ():
        if field.with_figure(figure):
            return "strong", figure
    named = field.stated_in(text) or any(any_spoken(text, need.names) for need in field.own_needs)
    return ("strong" if named else "weak" if related else None), None


def _of_value(field: Field, told: Told) -> tuple[_Relevance | None, float | None]:
    """Return the same of a value in data: by its name and its value, or by words in a text."""
    key = told.path.removesuffix(".*").rsplit(".", 1)[-1]
    own = set(key_words(field.path))
    shares = bool({need.name for need in needs_of(key)} & {need.name for need in field.needs})
    shares = shares or bool(own & {word for word in words_of(key) if tells(word)})
    value = told.value
    if isinstance(value, int | float) and not isinstance(value, bool) and field.bound:
        return ("strong", value) if shares and field.with_figure(value) else (None, None)
    texts = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]
    phrases = [phrase for need in field.own_needs for phrase in (*need.words, *need.signs, *need.fields)]
    phrases += [field.value] if tells(field.value.lower()) else []
    texts += (
        [" ".join(words_of(told.path))] if value and not shares and not field.value else []
    )  # what a person has by its name: daughter: 2
    holds = any(text.strip() and (same(text, field.value) or any_spoken(text, phrases)) for text in texts)
    for figure in (figure for text in texts if field.bound for figure in figures_in(text, field.bound, plain=shares)):
        if field.with_figure(figure):
            return "strong", figure
    if isinstance(value, bool) and isinstance(field.match, bool) and shares:
        # A need by another name (wheelchair: true) asks for the field; the field's own name must have its value.
        holds = value == field.match or (value and own.isdisjoint(words_of(key)))
    return ("strong" if holds else None), None
