"""The quality of a suite: the dialogues of the baselines ``first``, ``surface`` and ``profile``, their scores, and the parts of the suite on which all agents agree.

``first`` makes the oracle's first search and proposes the first thing in it. Of ``surface`` and ``profile`` the oracle's search is played, and the first thing that does what is asked is proposed. ``surface`` looks at what the query asks for
alone, ``profile`` at what the profile says, too. Both are told the checks of these requirements, as the oracle is told all.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, pairwise, product
from typing import Any, Literal, NamedTuple

from pydantic import Field

from pytest_mapsat.agents.baselines import Dialogue
from pytest_mapsat.formats import limits, package_data, parse_yaml, read_bytes, shown_path, validate
from pytest_mapsat.judges import ChecksJudge, JudgedDialogue, KnownFigure
from pytest_mapsat.metrics import summarise, weight_of, within_scale
from pytest_mapsat.model import (
    MSB_METRICS,
    Aggregate,
    Case,
    Entities,
    Json,
    JsonObject,
    Noun,
    OracleTurn,
    PlannedCall,
    Problem,
    Requirement,
    Says,
    Scorecard,
    Step,
    SuiteError,
    SuiteManifest,
    Tool,
    Trajectory,
    Turn,
    canonical_json,
    distance_m,
    normalise,
    point_of,
    tokens,
    values_at,
)
from pytest_mapsat.reading import MONEY, Vocabulary, fold_phrase
from pytest_mapsat.reports import code, columns, printable, wrap
from pytest_mapsat.sandbox import make_sandbox, named_items
from pytest_mapsat.suite import Suite

from .mutants import MONEY_WORDS
from .oracles import play_oracle

BASELINES = ("silent", "constant", "first", "surface", "profile", "oracle")
METRICS = ("ecr", "iisr", "ar", "ifs", "ts", "ses")
#: The metrics in which a baseline is to score higher than the one before it: what is asked parts surface from silence, what is hidden the others.
_STEPS = dict(zip(pairwise(BASELINES[1:]), (("ecr", "ar"),) * 2 + (("iisr", "ar"),) * 2, strict=True))
_MOST_NAMED, _MOST_VALUES = 5, 24
#: What the columns are called where pytest sums up a run.
LEGEND = ", ".join(
    f"{metric.name.upper()} {str(metric.plain).replace('_', ' ')}" for metric in MSB_METRICS if metric.name in METRICS
)
_WIDE = 12


class CaseReading(Noun):
    """Errors found in cases by a reviewer who read them as a user; the record states whether the reviewer was a person or a model.

    ``cases``: how many were read; ``defects``: found in these; ``note``: which cases, and whether the reader had written them.
    """

    reader: Literal["a large language model", "a person"]
    date: str = Field(pattern=r"^\d{4}-\d\d-\d\d$")
    cases: int = Field(ge=1)
    defects: int = Field(ge=0)
    note: str = ""


class CaseReadings(Noun):
    """The content of ``data/readings.yaml`` of a suite."""

    readings: tuple[CaseReading, ...]


def read_case_readings(suite: Suite) -> tuple[CaseReading, ...]:
    """Return the readings of ``data/readings.yaml`` in a suite; none if the file does not exist. Raises SuiteError."""
    path = suite.root / "data" / "readings.yaml"
    if not path.exists():
        return ()
    problems: list[Problem] = []
    documents = parse_yaml(read_bytes(path, limits.YAML_BYTES), shown_path(path))
    read = [validate(CaseReadings, document, shown_path(path), problems) for document in documents]
    if problems:
        raise SuiteError(*problems)
    return tuple(reading for each in read if each is not None for reading in each.readings)


@dataclass(frozen=True)
class SuiteWorth:
    """The scores of the baselines on a suite, and the conclusions about the suite.

    Attributes:
        manifest: what its manifest says.
        cases: its cases, without drafts.
        cards: the scorecards of the cases, in their order, by baseline.
        drafts: how many cases are drafts.
        readings: what readers made of its cases.
    """

    manifest: SuiteManifest
    cases: Sequence[Case]
    cards: Mapping[str, Sequence[Scorecard]]
    drafts: int = 0
    readings: Sequence[CaseReading] = ()

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Mapping[str, Aggregate]]]:
        """The metrics of each baseline over all cases (key ``""``), and for each value of the attribute ``query`` if there are several."""
        values = sorted({case.attributes.get("query", "") for case in self.cases})
        wanted = [""] + [value for value in values if value and values[1:]]

        def means(value: str, cards: Sequence[Scorecard]) -> Mapping[str, Aggregate]:
            """Return the means of the metrics over the cards with a value of ``query``."""
            own = [card for card in cards if value in ("", card.attributes.get("query"))]
            return within_scale(summarise(own), METRICS)

        return {value: {name: means(value, cards) for name, cards in self.cards.items()} for value in wanted}

    @cached_property
    def joined_steps(self) -> tuple[tuple[str, str, str], ...]:
        """The pairs of baselines whose intervals overlap in a metric: lower, higher, metric."""
        summary = self.groups[""]
        return tuple(
            (lower, higher, metric)
            for (lower, higher), metrics in _STEPS.items()
            for metric in metrics
            if not _above(summary[higher].get(metric), summary[lower].get(metric))
        )

    @cached_property
    def _hard(self) -> tuple[tuple[str, str, tuple[float | None, ...]], ...]:
        """Each hard requirement with its case and its value for each baseline."""
        cards = ((name, card) for name, cards in self.cards.items() for card in cards)
        labels = {(card.id, label.requirement, name): label.value for name, card in cards for label in card.labels}
        return tuple(
            (case.id, requirement.id, tuple(labels.get((case.id, requirement.id, name)) for name in BASELINES))
            for case in self.cases
            for requirement in case.truth.hard
        )

    @property
    def idle(self) -> tuple[tuple[str, str], ...]:
        """The hard requirements, with their cases, that have the same known value for all baselines."""
        return tuple((case, name) for case, name, values in self._hard if None not in values and len({*values}) == 1)

    @property
    def given_away(self) -> tuple[tuple[str, str], ...]:
        """The hard requirements, with their cases, that the baseline ``surface`` meets without looking for them."""
        at = BASELINES.index("surface")
        return tuple((case, name) for case, name, values in self._hard if values[at] == 1)

    @cached_property
    def twins(self) -> tuple[tuple[str, ...], ...]:
        """Groups of cases with the same query, ignoring blanks and punctuation."""
        by_words: dict[str, list[str]] = {}
        for case in self.cases:
            by_words.setdefault(normalise(case.visible.query), []).append(case.id)
        return tuple(tuple(ids) for ids in by_words.values() if len(ids) > 1)

    @cached_property
    def balance(self) -> Mapping[str, Mapping[str, int]]:
        """Counts of cases by domain, language, difficulty and attribute, and of hidden requirements by source."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in ("domain", "language", "source", "difficulty")}
        for case in self.cases:
            counts["domain"].update(case.domains)
            counts["language"][case.language] += 1
            counts["source"].update(requirement.source for requirement in case.truth.implicit)
            counts["difficulty"][case.difficulty or "none"] += 1
            for name, value in case.attributes.items():
                counts.setdefault(f"attributes.{name}", Counter())[value] += 1
        return {name: dict(sorted(values.items())) for name, values in counts.items() if values}

    def counts(self, most: int) -> Iterator[tuple[str, str]]:
        """Yield each name of the balance with its counts in words, or with the number of its values if there are more than ``most``."""
        for name, values in self.balance.items():
            each = ", ".join(f"{value} {count}" for value, count in values.items())
            yield name, each if len(values) <= most else f"{len(values)} values"

    @cached_property
    def requirements(self) -> Mapping[str, tuple[int, int]]:
        """The number of requirements of each kind, and the number of those with a check."""
        every = [requirement for case in self.cases for requirement in case.truth.requirements]
        kinds = ("asked", "hard", "soft", "fact", "policy")
        of_kind = {kind: [requirement for requirement in every if requirement.kind == kind] for kind in kinds}
        return {kind: (len(some), sum(bool(each.leaves) for each in some)) for kind, some in of_kind.items()}

    @property
    def variety(self) -> Mapping[str, str]:
        """The variety of the suite: numbers of kinds, wordings and other texts, and the share decided without reading prose."""
        queries = {normalise(case.visible.query) for case in self.cases}
        counted = {f"{name}s": len(self.balance.get(f"attributes.{name}", ())) for name in ("kind", "wording")}
        sure = [[requirement.machine_sure for requirement in case.truth.requirements] for case in self.cases]
        every = [each for case in sure for each in case]
        return {
            **{name: f"{count}" for name, count in counted.items() if count},
            "different queries": f"{len(queries)}",
            "cases decided without reading prose": _part(sum(map(all, sure)), len(sure)),
            "requirements decided without reading prose": _part(sum(every), len(every)),
        }

    def warnings(self) -> Iterator[str]:
        """Yield warnings about properties that make the suite unable to distinguish agents."""
        for lower, higher, metric in self.joined_steps:
            yield f"{lower} and {higher} are not apart in {metric.upper()} by their intervals"
        if self.idle:
            yield f"{_count(len(self.idle), 'hard requirement')} part no two baselines: {_listed(self.idle)}"
        for ids in self.twins:
            yield f"cases that ask in the same words: {', '.join(ids)}"

    def to_json(self) -> JsonObject:
        """Return all figures as JSON data."""
        metrics: Any = {
            value or "all": {
                name: {metric: summary[metric].model_dump(mode="json") for metric in METRICS if metric in summary}
                for name, summary in by_baseline.items()
            }
            for value, by_baseline in self.groups.items()
        }
        return {
            "cases": len(self.cases),
            "drafts": self.drafts,
            "metrics": metrics,
            "not_apart": [list(step) for step in self.joined_steps],
            "idle": [list(pair) for pair in self.idle],
            "met_by_surface": [list(pair) for pair in self.given_away],
            "twins": [list(ids) for ids in self.twins],
            "variety": dict(self.variety),
            "readings": [reading.model_dump() for reading in self.readings],
            "balance": {name: dict(values) for name, values in self.balance.items()},
            "requirements": {kind: {"all": n, "checked": checked} for kind, (n, checked) in self.requirements.items()},
        }


def _above(higher: Aggregate | None, lower: Aggregate | None) -> bool:
    """Return whether the interval of one mean lies entirely above the interval of another; False if one is unknown."""
    if higher is None or lower is None or higher.low is None or lower.high is None:
        return False
    return higher.low > lower.high


def _part(some: int, every: int) -> str:
    """Return a number of a whole as text, with its share."""
    return f"{some} of {every} ({some / every:.0%})" if every else "0 of 0"


def _count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the first pairs of case and requirement in words, with a count of the rest."""
    listed = "; ".join(": ".join(pair) for pair in pairs[:_MOST_NAMED])
    return listed + (f"; and {len(pairs) - _MOST_NAMED} more" if len(pairs) > _MOST_NAMED else "")


def value_text(value: Aggregate | None) -> str:
    """Return a mean as text, or as two bounds if labels are undecided; a dash if there is no mean."""
    if value is None or value.bounds is None:
        return "-"
    return f"{value.mean:.2f}" if value.mean is not None else f"{value.bounds[0]:.2f}-{value.bounds[1]:.2f}"


def interval_text(value: Aggregate | None) -> str:
    """Return the interval of a mean as text; empty if there is none."""
    if value is None or value.low is None or value.high is None:
        return ""
    return f"({value.low:.2f}-{value.high:.2f})"


def worth_table(worth: SuiteWorth) -> Iterator[str]:
    """Yield the lines of the report on a suite, at most as wide as the terminal."""
    for value, by_baseline in worth.groups.items():
        yield from ("",) if value else ()
        yield from wrap(f"query: {value}" if value else f"baselines over {_count(len(worth.cases), 'case')}", columns())
        yield f"{'':8}" + "".join(f"{metric.upper():>{_WIDE}}" for metric in METRICS)
        for name, summary in by_baseline.items():
            yield f"{name:8}" + "".join(f"{value_text(summary.get(metric)):>{_WIDE}}" for metric in METRICS)
            intervals = [interval_text(summary.get(metric)) for metric in METRICS]
            yield from [f"{'':8}" + "".join(f"{interval:>{_WIDE}}" for interval in intervals)] if any(intervals) else ()
    yield ""
    yield from wrap(f"in pytest's summary: {LEGEND}", columns(), hang=2)
    yield ""
    for name, counts in worth.counts(_MOST_VALUES):
        yield from wrap(f"{name}: {printable(counts)}", columns(), hang=2)
    kinds = worth.requirements.items()
    checked_of = ", ".join(f"{kind} {checked} of {every}" for kind, (every, checked) in kinds if every)
    yield from wrap(f"requirements with a check: {checked_of}", columns(), hang=2)
    hard = worth.requirements["hard"][0]
    yield from wrap(f"surface meets {len(worth.given_away)} of {_count(hard, 'hard requirement')}", columns(), hang=2)
    yield ""
    told_any = False
    for warning in worth.warnings():
        told_any = True
        yield from wrap(f"warning: {printable(warning)}", columns(), hang=2)
    if not told_any:
        yield "each baseline is apart from the next by its intervals"


# -- the data card of a suite ------------------------------------------------------------------------------------------

_COORDINATES = {"gcj02": "GCJ-02", "wgs84": "WGS 84"}


def card_text(worth: SuiteWorth) -> str:
    """Return the data card of a suite in Markdown.

    Args:
        worth: the suite with the scorecards of its baselines.
    """
    return "\n".join(_lines(worth)) + "\n"


def _lines(worth: SuiteWorth) -> Iterator[str]:
    """Yield the lines of the data card."""
    manifest = worth.manifest
    yield f"# Data card: {_plain(manifest.name)} {_plain(manifest.version)}"
    yield ""
    yield "<!-- Written by mapsat lint SUITE --baselines --card FILE. Changes by hand are lost. -->"
    yield ""
    yield from ([_plain(manifest.description), ""] if manifest.description else [])
    facts = [
        ("licence", manifest.license or "not stated"),
        ("coordinates", _COORDINATES.get(manifest.coordinates or "", "none")),
        ("currency", manifest.currency),
        ("cases", f"{len(worth.cases)}" + (f", and {worth.drafts} drafts, which do not count" if worth.drafts else "")),
    ]
    yield from _table(("", ""), facts)
    yield from ("", "## Requirements", "")
    rows = [(kind, f"{every}", f"{checked}") for kind, (every, checked) in worth.requirements.items() if every]
    yield from _table(("kind", "all", "with a check"), rows)
    yield from ("", "## Balance", "")
    yield "Cases by domain, language, difficulty and attribute; hidden requirements by source."
    yield ""
    yield from _table(("of", "counts"), worth.counts(_MOST_VALUES))
    yield from ("", "## Variety and readings", "")
    yield from _table(("", ""), worth.variety.items())
    yield ""
    if worth.readings:
        read = [
            (each.reader, each.date, f"{each.cases}", f"{each.defects / each.cases:.2f}", each.note)
            for each in worth.readings
        ]
        yield from _table(("read by", "on", "cases", "defects a case", "note"), read)
    else:
        yield "No reading for defects is recorded in data/readings.yaml."
    yield from _baselines(worth)
    yield from ("", "## Known gaps", "")
    gaps = [*worth.warnings()]
    yield from (f"- {_plain(gap)}" for gap in gaps)
    yield from () if gaps else ["None was found."]


def _baselines(worth: SuiteWorth) -> Iterator[str]:
    """Yield the lines of the data card's section on baselines."""
    yield from ("", "## Baselines", "")
    yield "Means with intervals of 95 %. Two figures with a hyphen are the bounds of a mean that undecided labels leave open. `first` takes the first thing that it finds,"
    yield "`surface` does what the query asks for and nothing else, `profile` what the profile says, too, and `oracle` knows everything."
    if worth.manifest.cluster:
        yield f"The intervals draw cases with the same {code(worth.manifest.cluster)} together."
    yield f"In pytest's summary: {LEGEND}."
    for value, by_baseline in worth.groups.items():
        yield ""
        if value:
            yield f"Cases with the query {code(value)}:"
            yield ""
        rows = []
        for name, summary in by_baseline.items():
            values = [summary.get(metric) for metric in METRICS]
            rows.append((name, *(f"{value_text(value)} {interval_text(value)}".strip() for value in values)))
        yield from _table(("baseline", *(metric.upper() for metric in METRICS)), rows)
    yield ""
    yield f"`surface` meets {len(worth.given_away)} of {worth.requirements['hard'][0]} hard requirements."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(map(_plain, row))} |"


def _plain(text: str) -> str:
    """Return text on one line with its Markdown marks escaped."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|" else char for char in " ".join(text.split()))


# -- the dialogues of the baselines that know a part of the truth ----------------------------------------------------------

_SENTENCES = package_data(__package__, "sentences.yaml")
#: Sentences of figures, in English and in Chinese, by role.
_FIGURES: Mapping[str | None, Sequence[str]] = _SENTENCES["figures"]
#: How long a way is and how long it takes, by the way of travelling.
_TIMES: Mapping[str, Sequence[str]] = _SENTENCES["times"]
_TIME, _LENGTH = ("The way takes {} min.", "路上要{}分钟。"), ("The way is {} m long.", "路程{}米。")
_STRAIGHT = ("It is {} m away as the crow flies.", "直线距离{}米。")
_CLOCKS: Mapping[str | None, Sequence[str]] = _SENTENCES["clocks"]
_YOUR_ARRIVAL = ("You arrive at {}.", "{}到。")
_PHONE = ("The telephone number is {}.", "电话{}。")
_DAY, _MOST_CLAUSES = 24 * 60, 24


class ProposedThing(NamedTuple):
    """A thing that an answer recommends: its name, and all fields in the results."""

    name: str
    record: dict[str, Json]


def sentences_about(
    context: JudgedDialogue, things: Sequence[ProposedThing], wanted: Sequence[Requirement], vocabulary: Vocabulary
) -> list[str]:
    """Return the sentences of a plain answer: each recommendation with its results, then phrases that checks require.

    Args:
        context: the dialogue up to the reply, with the evidence of its calls.
        things: what is proposed, in its order.
        wanted: the requirements that the answer is to meet.
        vocabulary: the words of the suite, and its currency.
    """
    zh = context.language.startswith("zh")
    keys = [fold_phrase(thing.name) for thing in things]
    figures = list(_closest(context, frozenset(keys)))
    sentences: list[str] = []
    for thing, key in zip(things, keys, strict=True):
        sentences += _proposal(thing, zh=zh)
        last = ((next((other for other in reversed(keys) if other in about), ""), each) for about, each in figures)
        sentences += _figures(context, [figure for other, figure in last if other == key], vocabulary, zh)
        sentences += (*_times(context, key, zh), *_identities(context, key, zh))
    if not things:
        sentences += _figures(context, [figure for _, figure in figures], vocabulary, zh)
        sentences += _times(context, "", zh)
    sentences += [f"{phrase}{'。' if zh else '.'}" for phrase in _phrases(wanted)]
    return list(dict.fromkeys(sentences))[:_MOST_CLAUSES]


def joined(sentences: Sequence[str], case: Case) -> str:
    """Return sentences joined into one reply in the language of the case."""
    return ("" if case.language.startswith("zh") else " ").join(sentences)


def _proposal(thing: ProposedThing, *, zh: bool) -> Iterator[str]:
    """Yield the sentences that recommend a thing and give its address, if known."""
    yield f"推荐{thing.name}。" if zh else f"I recommend {thing.name}."
    address = thing.record.get("address")
    if isinstance(address, str) and address:
        yield f"在{address}。" if zh else f"It is at {address}."


def _number(value: float) -> str:
    """Return a number as text with at most two decimals."""
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}".rstrip("0")


def _figures(
    context: JudgedDialogue, figures: Sequence[KnownFigure], vocabulary: Vocabulary, zh: bool
) -> Iterator[str]:
    """Yield a sentence for each figure with a known role, with the arrival time after a travel time."""
    money = MONEY_WORDS[vocabulary.currency][zh]
    for figure in figures:
        if figure.role == "travel_time":
            yield _TIMES.get(figure.mode, _TIME)[zh].format(_number(figure.value))
            yield from _arrival(context, figure.value, zh)
        elif figure.role == "travel_distance":
            yield (_STRAIGHT if figure.mode == "straight" else _LENGTH)[zh].format(_number(figure.value))
        elif figure.role in _FIGURES:
            yield _FIGURES[figure.role][zh].format(_number(figure.value), money=money)
        elif figure.unit == MONEY:
            yield _FIGURES["price"][zh].format(_number(figure.value), money=money)


def _closest(context: JudgedDialogue, keys: frozenset[str]) -> Iterator[tuple[frozenset[str], KnownFigure]]:
    """Yield the tool figures by role, each with the recommended things to which they apply; those of most things take precedence."""
    figures: dict[tuple[str | None, str], dict[frozenset[str], KnownFigure]] = {}
    for figure in context.evidence.figures:
        about = keys & frozenset(figure.subject)
        if figure.source.origin == "tool" and (about or not keys):
            figures.setdefault((figure.role, figure.mode), {}).setdefault(about, figure)
    for by_subject in figures.values():
        most = max(map(len, by_subject))
        yield from ((about, figure) for about, figure in by_subject.items() if len(about) == most)


def _arrival(context: JudgedDialogue, minutes: float, zh: bool) -> Iterator[str]:
    """Yield the sentence with the arrival time after a trip of a number of minutes; nothing if the current time is unknown."""
    now = context.visible.context.now if context.visible else None
    if now and len(now) > 15 and now[13] == ":":  # noqa: PLR2004  2026-03-01T18:22
        clock = (int(now[11:13]) * 60 + int(now[14:16]) + round(minutes)) % _DAY
        yield _YOUR_ARRIVAL[zh].format(f"{clock // 60:02d}:{clock % 60:02d}")


def _times(context: JudgedDialogue, key: str, zh: bool) -> Iterator[str]:
    """Yield a sentence for each time that tools returned for a thing (empty key: any thing)."""
    for moment in context.evidence.times:
        if moment.source.origin == "tool" and moment.role in _CLOCKS and (not key or key in moment.subject):
            clock = moment.minutes % _DAY
            yield _CLOCKS[moment.role][zh].format(f"{clock // 60:02d}:{clock % 60:02d}")


def _identities(context: JudgedDialogue, key: str, zh: bool) -> Iterator[str]:
    """Yield a sentence for each telephone number that tools returned for a thing."""
    for identity in context.evidence.identities:
        if identity.kind == "phone" and identity.source.origin == "tool" and key in identity.subject:
            yield _PHONE[zh].format(identity.text)


def _phrases(wanted: Sequence[Requirement]) -> Iterator[str]:
    """Yield the phrases that checks search for: the first of alternatives, and all phrases required together."""
    for requirement in wanted:
        for check in requirement.leaves:
            if isinstance(check, Says):
                yield from (*check.any[:1], *check.all)


#: The most choices of a case that are tried, and the most ways to make its calls.
_MOST, _MOST_SETTINGS = 60, 24
#: Two points are one place within so many metres.
_SAME_M = 5.0
_MOST_CHOSEN = 5


def dialogue_of(case: Case, suite: Suite, kind: str) -> Dialogue:
    """Return the calls and words of a baseline in a case.

    Args:
        case: the case.
        suite: its suite.
        kind: ``first``, ``surface`` or ``profile``.

    Raises:
        MapsatError: the sandbox of the case cannot be made.
    """
    wanted = [requirement for requirement in case.truth.asked if requirement.leaves]
    if not wanted or not case.truth.oracle:
        return Dialogue((OracleTurn(say=case.visible.query),), {})
    if kind == "first":
        return _first_found(case, suite)
    if kind == "profile":
        implicit = case.truth.implicit
        wanted += [requirement for requirement in implicit if requirement.source == "profile" and requirement.leaves]
    reply = _Search(case, suite, kind, wanted).best()
    return Dialogue((OracleTurn(calls=reply.calls, say=reply.text),), reply.output or {})


def _first_found(case: Case, suite: Suite) -> Dialogue:
    """Return the dialogue that makes a minimal form of the oracle's first finding call and recommends the first result."""
    for planned in _plan_of(case, suite, play_oracle(case, suite)):
        required = planned.tool.parameters.get("required", ())
        plain = {name: value for name, value in planned.call.arguments.items() if name in required}
        for call in (planned.call.model_copy(update={"arguments": plain}), planned.call):
            result = make_sandbox(case.without("faults", "events"), suite).call(call.tool, call.arguments).result
            things = [thing for thing in _things_in(planned.tool, result) if thing.name]
            if things and not (planned.tool.profile or planned.from_nowhere):
                sentences = _proposal(
                    ProposedThing(things[0].name, things[0].record), zh=case.language.startswith("zh")
                )
                return Dialogue((OracleTurn(calls=(call,), say=joined([*sentences], case)),), {})
    return Dialogue((OracleTurn(say=case.visible.query),), {})


class _Thing:
    """A thing that a tool returned, with the id, name and point by which later calls may refer to it."""

    def __init__(self, declared: Entities, record: Mapping[str, Json]) -> None:
        self.record = dict(record)
        self.name = str(record.get(declared.name) or "")
        self.id = str(record.get(declared.id) or "") if declared.id else ""
        self.items = declared.items
        kinds = {meaning.kind: path for path, meaning in declared.fields.items()}
        ids = [path for path, meaning in declared.fields.items() if meaning.kind == "id"]
        self.texts = {path: record.get(path) for path in filter(None, (declared.id, declared.name, *ids))}
        lon, lat = record.get(kinds.get("lon", "")), record.get(kinds.get("lat", ""))
        self.point = point_of(record.get(kinds["point"])) if "point" in kinds else point_of([lon, lat])

    @property
    def key(self) -> str:
        """The key that identifies the thing across results: its id, otherwise its folded name."""
        return self.id or fold_phrase(self.name)


def _things_in(tool: Tool, result: Json) -> list[_Thing]:
    """Return the things that a tool declares in a result, without legs."""
    return [
        _Thing(declared, item)
        for declared in tool.entities
        if declared.sort != "leg"
        for item in named_items(values_at(result, declared.items), declared.id or declared.name)
    ]


def _record_of(thing: _Thing, results: Iterable[tuple[Tool, Json]]) -> dict[str, Json]:
    """Return all fields of a thing in the results."""
    others = (other for tool, result in results for other in _things_in(tool, result) if other.key == thing.key)
    return {name: value for other in others for name, value in other.record.items()}


@dataclass
class _Planned:
    """A call of the oracle, with the things that the call uses and finds.

    ``uses``: the things of earlier calls that its arguments name; ``own``: those of its result that the oracle goes on with, the first ``count`` of them being proposed;
    ``from_nowhere``: its arguments have the id of a thing that no earlier call returned and the user did not give: who is not the oracle cannot make it.
    """

    call: PlannedCall
    tool: Tool
    result: Json
    uses: list[_Thing] = field(default_factory=list)
    own: list[_Thing] = field(default_factory=list)
    count: int = 1
    from_nowhere: bool = False


class _Reply(NamedTuple):
    """A reply with its calls: the requirements that it meets, the decisive sentences quoted by labels, and the recommended things."""

    calls: tuple[PlannedCall, ...] = ()
    steps: tuple[Step, ...] = ()
    output: JsonObject | None = None
    sentences: tuple[str, ...] = ()
    text: str = ""
    met: frozenset[str] = frozenset()
    decisive: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


#: How a setting makes calls: whether it makes those that search nothing, and the values of parameters, by tool and name; None: not given.
_Setting = tuple[bool, dict[tuple[str, str], Json]]


class _Search:
    """Searches for the first recommendation that meets some requirements."""

    def __init__(self, case: Case, suite: Suite, kind: str, wanted: Sequence[Requirement]) -> None:
        self._case, self._suite, self._kind, self._wanted = case, suite, kind, wanted
        truth = case.truth.model_copy(update={"requirements": tuple(wanted)})
        self._narrow = case.model_copy(update={"truth": truth})
        self._judge = ChecksJudge(suite.tools, suite.vocabulary, suite=suite)
        self._played: dict[str, tuple[Step, ...]] = {}
        self._plan = _plan_of(case, suite, play_oracle(case, suite))

    def best(self) -> _Reply:
        """Return the first reply that matches the oracle's own recommendation in plain words, cut to its necessary parts."""
        setting, goal = self._settled()
        wanted = goal.met | {requirement.id for requirement in self._case.truth.asked if requirement.leaves}
        may_do: _Reply | None = None
        for reply in islice(self._replies(setting), _MOST):
            if reply.met >= wanted:
                return self._shortened(reply, wanted)
            if reply.met >= goal.met and may_do is None:
                may_do = reply
        # Nothing is sure to do all that is asked: the first that does as much as the oracle's own thing is taken.
        reply = may_do or goal
        if not reply.names and not reply.met:
            return self._said(reply, [self._case.visible.query])
        return self._shortened(reply, goal.met, naming=True)

    def _shortened(self, reply: _Reply, goal: frozenset[str], *, naming: bool = False) -> _Reply:
        """Return a reply without sentences that the goal does not need; ``naming``: keep sentences that name a recommendation."""
        kept = {sentence for sentence in reply.sentences if naming and any(name in sentence for name in reply.names)}
        decisive = [sentence for sentence in reply.sentences if sentence in kept or sentence in reply.decisive]
        shorter = self._said(reply, decisive) if decisive else reply
        reply = shorter if shorter.met >= goal else reply
        at = 0
        while at < len(reply.sentences) > 1:
            shorter = self._said(reply, (*reply.sentences[:at], *reply.sentences[at + 1 :]))
            if shorter.met >= goal and reply.sentences[at] not in kept:
                reply = shorter
            else:
                at += 1
        return reply

    def _settled(self) -> tuple[_Setting, _Reply]:
        """Return the simplest setting of the calls in which the oracle's own recommendation scores best, with its reply."""
        best: tuple[_Setting, _Reply] | None = None
        for setting in islice(self._settings(), _MOST_SETTINGS):
            for reply in islice(self._replies(setting, own=True), 1):
                if best is None or self._worth(reply) > self._worth(best[1]):
                    best = setting, reply
            if best is not None and len(best[1].met) == len(self._wanted):
                break
        if best is None:
            return (True, {}), self._said(_Reply(), [self._case.visible.query])
        return best

    def _worth(self, reply: _Reply) -> tuple[int, float]:
        """Return the number of asked requirements that a reply meets, and the total weight of all other met requirements."""
        asked = sum(requirement.id in reply.met for requirement in self._case.truth.asked)
        others = [requirement for requirement in self._wanted if requirement.kind != "asked"]
        return asked, sum(weight_of(requirement) for requirement in others if requirement.id in reply.met)

    def _settings(self) -> Iterator[_Setting]:
        """Yield ways to make the calls, simplest first, with omitted or known arguments; the oracle's own way comes last."""
        dials: dict[tuple[str, str], list[Json]] = {}
        for planned in self._plan:
            for name, value in planned.call.arguments.items():
                schema = planned.tool.parameters["properties"].get(name, {})
                options = [] if name in planned.tool.parameters.get("required", ()) else [None]
                options += self._in_order(planned.tool, name, schema.get("enum", [] if not options else [value]))
                if options and (schema.get("enum") or schema.get("type") == "boolean"):
                    dials.setdefault((planned.tool.name, name), options)
        for *values, all_calls in product(*dials.values(), (False, True)):
            yield bool(all_calls), dict(zip(dials, values, strict=True))
        yield True, {}

    def _in_order(self, tool: Tool, name: str, options: Sequence[Json]) -> list[Json]:
        """Return the values of a parameter, starting with values mentioned in the query."""
        match = tool.match.get(name)
        query = self._case.visible.query

        def unsaid(option: Json) -> bool:
            """Return whether the query has no word for a value."""
            words = (str(option), *(match.synonyms.get(str(option), ()) if match else ()))
            return not any(_stands_in(word, query) for word in words)

        return sorted(options, key=unsaid)

    def _replies(self, setting: _Setting, *, own: bool = False) -> Iterator[_Reply]:
        """Yield replies that recommend the found things in result order; ``own``: only the oracle's choice."""
        for calls, chosen in self._walk(setting, 0, (), {}, own=own):
            things = tuple(thing for at in chosen for thing in chosen[at] if thing.name)
            steps = self._steps(calls)
            names = tuple(thing.name for thing in things)
            reply = _Reply(calls, steps, self._output(steps, chosen), names=names)
            proposed = [ProposedThing(thing.name, self._record(thing, steps)) for thing in things]
            context = self._context(reply)
            sentences = sentences_about(context, proposed, self._wanted, self._suite.vocabulary)
            yield self._said(reply, sentences or [self._case.visible.query])

    def _walk(
        self,
        setting: _Setting,
        at: int,
        calls: tuple[PlannedCall, ...],
        chosen: dict[int, tuple[_Thing, ...]],
        *,
        own: bool,
    ) -> Iterator[tuple[tuple[PlannedCall, ...], dict[int, tuple[_Thing, ...]]]]:
        """Yield the calls for each choice among their results, with the choices, depth first."""
        for index in range(at, len(self._plan)):
            planned = self._plan[index]
            call = self._call(planned, setting, chosen)
            if call is None or call in calls:
                continue
            calls = (*calls, call)
            if not planned.own:
                continue
            taken = {thing.key for things in chosen.values() for thing in things}
            returned, items = _things_in(planned.tool, self._steps(calls)[-1].result), planned.own[0].items
            things = [thing for thing in returned if thing.items == items and thing.key not in taken]
            right = [thing.key for thing in planned.own[: planned.count]]
            if own:  # in another way of travelling there may be other roads
                things = sorted(things, key=lambda thing: right.index(thing.key) if thing.key in right else len(right))
            choices: Iterator[tuple[_Thing, ...]] = combinations(things, min(planned.count, len(things)))
            if own:
                choices = islice(choices, 1)
            for choice in choices:
                yield from self._walk(setting, index + 1, calls, {**chosen, index: choice}, own=own)
            return
        yield calls, chosen

    def _call(
        self, planned: _Planned, setting: _Setting, chosen: Mapping[int, tuple[_Thing, ...]]
    ) -> PlannedCall | None:
        """Return a call of the oracle adapted to the chosen things; None if this baseline does not make the call."""
        all_calls, dials = setting
        reads_profile = planned.tool.profile
        if reads_profile and self._kind == "surface":
            return None
        if planned.from_nowhere or not (all_calls or reads_profile or planned.own or planned.uses):
            return None
        swap: dict[str, _Thing | None] = {}
        for index, things in chosen.items():
            own = self._plan[index].own
            swap |= dict(zip((thing.key for thing in own), (*things, *[None] * len(own)), strict=False))
        if any(swap.get(thing.key) is None for thing in planned.uses):
            return None
        pairs = [(thing, new) for thing in planned.uses if (new := swap.get(thing.key)) is not None]
        arguments = _swapped(_with_points(planned.call.arguments, planned.tool, pairs), pairs)
        for (tool, name), value in dials.items():
            if tool == planned.tool.name and value is None:
                arguments.pop(name, None)
            elif tool == planned.tool.name and name in arguments:
                arguments[name] = value
        return PlannedCall(tool=planned.call.tool, arguments=arguments)

    def _steps(self, calls: Sequence[PlannedCall]) -> tuple[Step, ...]:
        """Return the steps of calls made in a fresh sandbox; cached."""
        name = canonical_json([[call.tool, call.arguments] for call in calls])
        if name not in self._played:
            sandbox = make_sandbox(self._case.without("faults", "events"), self._suite)
            self._played[name] = tuple(
                sandbox.call(call.tool, call.arguments).step(call.tool, call.arguments, f"call_{number}")
                for number, call in enumerate(calls, start=1)
            )
        return self._played[name]

    def _record(self, thing: _Thing, steps: Sequence[Step]) -> dict[str, Json]:
        """Return all fields of a thing in the results of some steps."""
        tools = self._suite.tools
        return _record_of(thing, ((tools[step.tool], step.result) for step in steps if step.tool in tools))

    def _output(self, steps: Sequence[Step], chosen: Mapping[int, tuple[_Thing, ...]]) -> JsonObject | None:
        """Return the oracle's structured output with the chosen things instead of its own; None if the output is empty."""
        pairs = [pair for index, things in chosen.items() for pair in zip(self._plan[index].own, things, strict=False)]
        planned = [(call.tool, call.result) for call in self._plan]
        full = [(_record_of(old, planned), self._record(new, steps)) for old, new in pairs]

        def valued(key: str, value: Json) -> Json:
            """Return a value of the oracle's thing replaced by the same field of the chosen thing."""
            for old, new in full:
                fields = [key, *old] if key in old else [*old]
                field_of = next((name for name in fields if old[name] == value and name in new), None)
                if field_of is not None:
                    return new[field_of]
            return _swapped(value, pairs)

        output = _changed(self._case.truth.output, valued)
        return output if output and isinstance(output, dict) else None

    def _trajectory(self, reply: _Reply) -> Trajectory:
        """Return the dialogue of the query and a reply."""
        query = Turn(role="user", text=self._case.visible.query)
        answer = Turn(role="agent", text=reply.text, steps=reply.steps, output=reply.output)
        return Trajectory(case=self._case.id, turns=(query, answer), setup=self._setup)

    @cached_property
    def _setup(self) -> Any:
        """The setup of a fresh sandbox of the case."""
        return make_sandbox(self._case, self._suite).setup

    def _context(self, reply: _Reply) -> JudgedDialogue:
        """Return the dialogue with a reply in the form that the judge reads, with only the searched requirements."""
        return self._judge.context(self._narrow, self._trajectory(reply))

    def _said(self, reply: _Reply, sentences: Sequence[str]) -> _Reply:
        """Return a reply made of other sentences, judged: the requirements that it meets and the decisive sentences."""
        reply = reply._replace(sentences=tuple(sentences), text=joined(sentences, self._case))
        labels = self._judge.judge(self._narrow, self._trajectory(reply)).labels
        passed = [label for label in labels if label.value == 1]
        places = [quote.start for label in passed for quote in label.quotes if quote.turn == 1]
        ends = [len(joined(sentences[: at + 1], self._case)) for at in range(len(sentences))]
        quoted = {bisect(ends, place) for place in places}
        decisive = tuple(sentence for at, sentence in enumerate(sentences) if at in quoted)
        return reply._replace(met=frozenset(label.requirement for label in passed), decisive=decisive)


def _plan_of(case: Case, suite: Suite, oracle: Trajectory) -> list[_Planned]:
    """Return the oracle's calls, each with the things that it uses from earlier calls and the things that it finds."""
    judge = ChecksJudge(suite.tools, suite.vocabulary, suite=suite)
    standings = judge.context(case, oracle).standings("last")
    order = {key: at for at, (key, standing) in enumerate(standings.items()) if standing.proposed is not False}
    plan: list[_Planned] = []
    known: dict[str, tuple[_Thing, _Planned]] = {}
    given = {case.visible.query, *_scalars_in(case.visible.context.to_json())}
    for step in oracle.calls:
        if step.tool not in suite.tools:
            continue
        call = PlannedCall(tool=step.tool, arguments=step.arguments)
        planned = _Planned(call, suite.tools[step.tool], step.result if step.status == "ok" else None)
        for thing, owner in known.values():
            if _names(step.arguments, planned.tool, thing, case):
                planned.uses.append(thing)
                owner.own.append(thing)
        returned = _things_in(planned.tool, planned.result)
        unknown = {thing.id for thing in returned if thing.key not in known} - {"", *given}
        planned.from_nowhere = any(value in unknown for value in _scalars_in(step.arguments) if isinstance(value, str))
        for thing in returned:
            earlier = known.get(thing.key)
            # What the profile knows and a search returns, too, is the search's; who looks it up by its id has it of the profile.
            searched = earlier and earlier[1].tool.profile and not planned.tool.profile and not planned.uses
            if thing.key and (earlier is None or searched):
                known[thing.key] = (thing, planned)
        plan.append(planned)
    for thing, owner in known.values():
        if fold_phrase(thing.name) in order:
            owner.own.append(thing)
    for planned in plan:
        together = [sum(thing in other.uses for thing in planned.own) for other in plan]
        names = {fold_phrase(thing.name): thing for thing in reversed(planned.own) if fold_phrase(thing.name) in order}
        things = sorted(names.values(), key=lambda thing: order[fold_phrase(thing.name)])
        planned.own = list({id(thing): thing for thing in (*things, *planned.own)}.values())
        planned.count = min(_MOST_CHOSEN, len(things) or max([1, *together]))
    return plan


def _names(arguments: JsonObject, tool: Tool, thing: _Thing, case: Case) -> bool:
    """Return whether arguments refer to a thing by id, name or point, and not only to the user's location."""
    here = case.visible.context.location
    texts = {value for value in thing.texts.values() if isinstance(value, str)}
    if any(value in texts for value in _scalars_in(arguments)):
        return True
    if thing.point and here and distance_m(*thing.point, here.lon, here.lat) <= _SAME_M:
        return False
    return any(_is_at(value, thing) for value in (*_scalars_in(arguments), *_point_pairs(arguments, tool).values()))


def _point_pairs(arguments: JsonObject, tool: Tool) -> dict[tuple[str, str], list[Json]]:
    """Return the points made of two parameters each, by the names of both."""
    pairs = [(name, match.pair) for name, match in tool.match.items() if match.pair]
    return {(lon, lat): [arguments[lon], arguments[lat]] for lon, lat in pairs if lon in arguments and lat in arguments}


def _is_at(value: Json, thing: _Thing) -> bool:
    """Return whether a value is a point at the place of a thing."""
    if thing.point is None or not isinstance(value, list | str) or (isinstance(value, str) and "," not in value):
        return False
    point = point_of(value)
    return point is not None and distance_m(*point, *thing.point) <= _SAME_M


def _with_points(arguments: JsonObject, tool: Tool, pairs: Sequence[tuple[_Thing, _Thing]]) -> JsonObject:
    """Return arguments in which two parameters with an old thing's point have the new thing's point."""
    moved = dict(arguments)
    for (lon, lat), point in _point_pairs(arguments, tool).items():
        new = next((new for old, new in pairs if _is_at(point, old) and new.point), None)
        if new is not None and new.point is not None:
            moved[lon], moved[lat] = new.point
    return moved


def _swapped(value: Json, pairs: Sequence[tuple[_Thing, _Thing]]) -> Json:
    """Return data with ids, names and points of old things replaced by those of new ones."""

    def swapped(_: str, value: Json) -> Json:
        """Return a single value with an old thing's id, name or point replaced."""
        for old, new in pairs if isinstance(value, str) else ():
            path = next((path for path, text in old.texts.items() if text == value), None)
            if path is not None:
                return new.texts.get(path, value)
            if _is_at(value, old) and new.point is not None:
                return f"{new.point[0]},{new.point[1]}"
        return value

    return _changed(value, swapped)


def _stands_in(word: str, text: str) -> bool:
    """Return whether a text contains a word, or all words of a phrase; a Chinese phrase may occur anywhere."""
    return {*tokens(word)} <= {*tokens(text)} if word.isascii() else word in text


def _changed(value: Json, change: Callable[[str, Json], Json], key: str = "") -> Json:
    """Return data with each scalar replaced by the result of ``change`` for its key and value."""
    if isinstance(value, dict):
        return {name: _changed(part, change, name) for name, part in value.items()}
    return [_changed(part, change, key) for part in value] if isinstance(value, list) else change(key, value)


def _scalars_in(value: Json) -> Iterator[Json]:
    """Yield all scalars in data."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _scalars_in(part)
    else:
        yield value
