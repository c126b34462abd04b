"""The dialogues of the baselines ``surface`` and ``profile``: the oracle's search is played, and the first thing that does what is asked is proposed.

``surface`` looks at what the query asks for alone, ``profile`` at what the profile says, too. Both are told the checks of these requirements, as the oracle is told all.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, product
from typing import Any, NamedTuple

from pytest_mapsat.agents.baselines import Dialogue
from pytest_mapsat.judges import ChecksJudge, JudgedDialogue, KnownFigure
from pytest_mapsat.metrics import weight_of
from pytest_mapsat.model import (
    Case,
    Entities,
    Json,
    JsonObject,
    OracleTurn,
    PlannedCall,
    Requirement,
    Says,
    Step,
    Tool,
    Trajectory,
    Turn,
    canonical_json,
    distance_m,
    point_of,
    tokens,
    values_at,
)
from pytest_mapsat.reading import MONEY, Vocabulary, fold_phrase
from pytest_mapsat.sandbox import make_sandbox, named_items
from pytest_mapsat.suite import Suite

from .mutants import MONEY_WORDS
from .oracles import play_oracle

# -- a plain answer about things that tools returned

#: Sentences of figures, in English and in Chinese, by role.
_FIGURES = {
    "wait": ("The wait is {} min.", "要等{}分钟。"), "price": ("The price is {} {money}.", "价格{}{money}。"), "fee": ("The fee is {} {money}.", "收费{}{money}。"),
    "per_head": ("A meal per head is {} {money}.", "人均{}{money}。"), "total": ("The total is {} {money}.", "合计{}{money}。"), "rating": ("The rating is {} stars.", "评分{}分。"),
    "capacity": ("It takes {} people.", "可坐{}人。"), "headroom": ("The headroom is {} m.", "限高{}米。"), "frequency": ("It runs every {} min.", "每{}分钟一班。"),
    "temperature": ("It is {} °C.", "气温{}度。"),
}  # fmt: skip
#: How long a way is and how long it takes, by the way of travelling.
_TIMES = {
    "driving": ("It is a {} min drive.", "开车{}分钟。"), "walking": ("It is a {} min walk.", "步行{}分钟。"),
    "cycling": ("It is {} min by bike.", "骑车{}分钟。"), "transit": ("It is {} min by public transport.", "坐公交{}分钟。"),
}  # fmt: skip
_TIME, _LENGTH = ("The way takes {} min.", "路上要{}分钟。"), ("The way is {} m long.", "路程{}米。")
_STRAIGHT = ("It is {} m away as the crow flies.", "直线距离{}米。")
_CLOCKS = {
    "opening": ("It opens at {}.", "{}开门。"), "closing": ("It is open until {}.", "营业到{}。"), "departure": ("It leaves at {}.", "{}出发。"),
    "arrival": ("It arrives at {}.", "{}到达。"), "last_service": ("The last one leaves at {}.", "末班车{}。"),
}  # fmt: skip
_YOUR_ARRIVAL = ("You arrive at {}.", "{}到。")
_PHONE = ("The telephone number is {}.", "电话{}。")
_DAY, _MOST_CLAUSES = 24 * 60, 24


class ProposedThing(NamedTuple):
    """A thing that an answer proposes: its name, and what all results say of it."""

    name: str
    record: dict[str, Json]


def sentences_about(
    context: JudgedDialogue, things: Sequence[ProposedThing], wanted: Sequence[Requirement], vocabulary: Vocabulary
) -> list[str]:
    """Return the sentences of a plain answer: each thing is proposed, and behind it stands what the results say of it; last come words that requirements ask for.

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
        own = [
            figure
            for about, figure in figures
            if next((other for other in reversed(keys) if other in about), "") == key
        ]
        sentences += _figures(context, own, vocabulary, zh)
        sentences += (*_times(context, key, zh), *_identities(context, key, zh))
    if not things:
        sentences += _figures(context, [figure for _, figure in figures], vocabulary, zh)
        sentences += _times(context, "", zh)
    sentences += [f"{phrase}{'。' if zh else '.'}" for phrase in _phrases(wanted)]
    return list(dict.fromkeys(sentences))[:_MOST_CLAUSES]


def joined(sentences: Sequence[str], case: Case) -> str:
    """Return sentences as one reply in the language of the case."""
    return ("" if case.language.startswith("zh") else " ").join(sentences)


def _proposal(thing: ProposedThing, *, zh: bool) -> Iterator[str]:
    yield f"推荐{thing.name}。" if zh else f"I recommend {thing.name}."
    address = thing.record.get("address")
    if isinstance(address, str) and address:
        yield f"在{address}。" if zh else f"It is at {address}."


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}".rstrip("0")


def _figures(
    context: JudgedDialogue, figures: Sequence[KnownFigure], vocabulary: Vocabulary, zh: bool
) -> Iterator[str]:
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
    """Yield one figure of each role for each of the things, with those it is about; one of several of them, as of a road to a place, goes before one of a single one."""
    told: dict[tuple[str | None, str], dict[frozenset[str], KnownFigure]] = {}
    for figure in context.evidence.figures:
        about = keys & frozenset(figure.subject)
        if figure.source.origin == "tool" and (about or not keys):
            told.setdefault((figure.role, figure.mode), {}).setdefault(about, figure)
    for by_subject in told.values():
        most = max(map(len, by_subject))
        yield from ((about, figure) for about, figure in by_subject.items() if len(about) == most)


def _arrival(context: JudgedDialogue, minutes: float, zh: bool) -> Iterator[str]:
    now = context.visible.context.now if context.visible else None
    if now and len(now) > 15 and now[13] == ":":  # noqa: PLR2004  2026-03-01T18:22
        clock = (int(now[11:13]) * 60 + int(now[14:16]) + round(minutes)) % _DAY
        yield _YOUR_ARRIVAL[zh].format(f"{clock // 60:02d}:{clock % 60:02d}")


def _times(context: JudgedDialogue, key: str, zh: bool) -> Iterator[str]:
    for moment in context.evidence.times:
        if moment.source.origin == "tool" and moment.role in _CLOCKS and (not key or key in moment.subject):
            clock = moment.minutes % _DAY
            yield _CLOCKS[moment.role][zh].format(f"{clock // 60:02d}:{clock % 60:02d}")


def _identities(context: JudgedDialogue, key: str, zh: bool) -> Iterator[str]:
    for identity in context.evidence.identities:
        if identity.kind == "phone" and identity.source.origin == "tool" and key in identity.subject:
            yield _PHONE[zh].format(identity.text)


def _phrases(wanted: Sequence[Requirement]) -> Iterator[str]:
    """Yield the words that checks of requirements look for: the first of several that would do, and each of those that all must be there."""
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
    """Return what a baseline says and calls in a case.

    Args:
        case: the case.
        suite: its suite.
        kind: ``surface`` or ``profile``.

    Raises:
        MapsatError: the sandbox of the case cannot be made.
    """
    wanted = [requirement for requirement in case.truth.asked if requirement.leaves]
    if not wanted or not case.truth.oracle:
        return Dialogue((OracleTurn(say=case.visible.query),), {})
    if kind == "profile":
        implicit = case.truth.implicit
        wanted += [requirement for requirement in implicit if requirement.source == "profile" and requirement.leaves]
    reply = _Search(case, suite, kind, wanted).best()
    return Dialogue((OracleTurn(calls=reply.calls, say=reply.text),), reply.output or {})


class _Thing:
    """Something that a tool returned, by which later calls may name it."""

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
        """What it is known again by in other results."""
        return self.id or fold_phrase(self.name)


def _things_in(tool: Tool, result: Json) -> list[_Thing]:
    return [
        _Thing(declared, item)
        for declared in tool.entities
        if declared.sort != "leg"
        for item in named_items(values_at(result, declared.items), declared.id or declared.name)
    ]


def _record_of(thing: _Thing, results: Iterable[tuple[Tool, Json]]) -> dict[str, Json]:
    """Return all that results say of a thing, by field."""
    others = (other for tool, result in results for other in _things_in(tool, result) if other.key == thing.key)
    return {name: value for other in others for name, value in other.record.items()}


@dataclass
class _Planned:
    """A call of the oracle.

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
    """A reply with its calls. ``met``: the requirements that it meets; ``decisive``: the sentences that labels of these quote; ``names``: the things that it proposes."""

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
    """The search for the first thing that meets some requirements."""

    def __init__(self, case: Case, suite: Suite, kind: str, wanted: Sequence[Requirement]) -> None:
        self._case, self._suite, self._kind, self._wanted = case, suite, kind, wanted
        truth = case.truth.model_copy(update={"requirements": tuple(wanted)})
        self._narrow = case.model_copy(update={"truth": truth})
        self._judge = ChecksJudge(suite.tools, suite.vocabulary, suite=suite)
        self._played: dict[str, tuple[Step, ...]] = {}
        self._plan = _plan_of(case, suite, play_oracle(case, suite))

    def best(self) -> _Reply:
        """Return the reply that proposes the first thing which meets all that the oracle's own thing meets in plain words, and says no more than that takes."""
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
        """Return a reply without the sentences that the goal does not need; with ``naming`` those stay that name what is proposed."""
        named = {sentence for sentence in reply.sentences if naming and any(name in sentence for name in reply.names)}
        decisive = [sentence for sentence in reply.sentences if sentence in named or sentence in reply.decisive]
        shorter = self._said(reply, decisive) if decisive else reply
        reply = shorter if shorter.met >= goal else reply
        at = 0
        while at < len(reply.sentences) > 1:
            shorter = self._said(reply, (*reply.sentences[:at], *reply.sentences[at + 1 :]))
            if shorter.met >= goal and reply.sentences[at] not in named:
                reply = shorter
            else:
                at += 1
        return reply

    def _settled(self) -> tuple[_Setting, _Reply]:
        """Return the plainest way to make the calls in which the oracle's own thing does best, and that reply."""
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
        """Return how many asked requirements a reply meets, and how much of the others."""
        asked = sum(requirement.id in reply.met for requirement in self._case.truth.asked)
        others = [requirement for requirement in self._wanted if requirement.kind != "asked"]
        return asked, sum(weight_of(requirement) for requirement in others if requirement.id in reply.met)

    def _settings(self) -> Iterator[_Setting]:
        """Yield ways to make the calls, the plainest first: what the query does not say is left out, or is the first that the tool knows; last as the oracle makes them."""
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
        """Return the values of a parameter, those that the query has words for first."""
        match = tool.match.get(name)
        query = self._case.visible.query

        def unsaid(option: Json) -> bool:
            words = (str(option), *(match.synonyms.get(str(option), ()) if match else ()))
            return not any(_stands_in(word, query) for word in words)

        return sorted(options, key=unsaid)

    def _replies(self, setting: _Setting, *, own: bool = False) -> Iterator[_Reply]:
        """Yield the replies that propose the things of the results in their order; with ``own`` those of the oracle alone."""
        for calls, chosen in self._walk(setting, 0, (), {}, own=own):
            things = tuple(thing for at in chosen for thing in chosen[at] if thing.name)
            steps = self._steps(calls)
            names = tuple(thing.name for thing in things)
            reply = _Reply(calls, steps, self._output(steps, chosen), names=names)
            told = [ProposedThing(thing.name, self._record(thing, steps)) for thing in things]
            context = self._context(reply)
            sentences = sentences_about(context, told, self._wanted, self._suite.vocabulary)
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
        """Yield the calls for each choice among what they return, depth first."""
        for index in range(at, len(self._plan)):
            planned = self._plan[index]
            call = self._call(planned, setting, chosen)
            if call is None or call in calls:
                continue
            calls = (*calls, call)
            if not planned.own:
                continue
            taken = {thing.key for things in chosen.values() for thing in things}
            found, items = _things_in(planned.tool, self._steps(calls)[-1].result), planned.own[0].items
            things = [thing for thing in found if thing.items == items and thing.key not in taken]
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
        """Return a call of the oracle, made for what was chosen; None where it is not made."""
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
        arguments |= {
            name: value for (tool, name), value in dials.items() if tool == planned.tool.name and name in arguments
        }
        unsaid = {name for (tool, name), value in dials.items() if tool == planned.tool.name and value is None}
        given = {name: value for name, value in arguments.items() if name not in unsaid}
        return PlannedCall(tool=planned.call.tool, arguments=given)

    def _steps(self, calls: Sequence[PlannedCall]) -> tuple[Step, ...]:
        """Return the steps of calls in a fresh sandbox."""
        name = canonical_json([[call.tool, call.arguments] for call in calls])
        if name not in self._played:
            sandbox = make_sandbox(self._case, self._suite)
            self._played[name] = tuple(
                sandbox.call(call.tool, call.arguments).step(call.tool, call.arguments, f"call_{number}")
                for number, call in enumerate(calls, start=1)
            )
        return self._played[name]

    def _record(self, thing: _Thing, steps: Sequence[Step]) -> dict[str, Json]:
        """Return all that the results of calls say of a thing, by field."""
        tools = self._suite.tools
        return _record_of(thing, ((tools[step.tool], step.result) for step in steps if step.tool in tools))

    def _output(self, steps: Sequence[Step], chosen: Mapping[int, tuple[_Thing, ...]]) -> JsonObject | None:
        """Return the oracle's structured output with the values of what was chosen in place of those of the oracle's own."""
        pairs = [pair for index, things in chosen.items() for pair in zip(self._plan[index].own, things, strict=False)]
        planned = [(call.tool, call.result) for call in self._plan]
        full = [(_record_of(old, planned), self._record(new, steps)) for old, new in pairs]

        def valued(key: str, value: Json) -> Json:
            for old, new in full:
                fields = [key, *old] if key in old else [*old]
                field_of = next((name for name in fields if old[name] == value and name in new), None)
                if field_of is not None:
                    return new[field_of]
            return _swapped(value, pairs)

        def filled(value: Json, key: str = "") -> Json:
            if isinstance(value, dict):
                return {name: filled(part, name) for name, part in value.items()}
            return [filled(part, key) for part in value] if isinstance(value, list) else valued(key, value)

        output = filled(self._case.truth.output)
        return output if output and isinstance(output, dict) else None

    def _trajectory(self, reply: _Reply) -> Trajectory:
        turns = (
            Turn(role="user", text=self._case.visible.query),
            Turn(role="agent", text=reply.text, steps=reply.steps, output=reply.output),
        )
        return Trajectory(case=self._case.id, turns=turns, setup=self._setup)

    @cached_property
    def _setup(self) -> Any:
        return make_sandbox(self._case, self._suite).setup

    def _context(self, reply: _Reply) -> JudgedDialogue:
        return self._judge.context(self._narrow, self._trajectory(reply))

    def _said(self, reply: _Reply, sentences: Sequence[str]) -> _Reply:
        """Return a reply in other sentences, with what it meets."""
        reply = reply._replace(sentences=tuple(sentences), text=joined(sentences, self._case))
        labels = self._judge.judge(self._narrow, self._trajectory(reply)).labels
        passed = [label for label in labels if label.value == 1]
        places = [quote.start for label in passed for quote in label.quotes if quote.turn == 1]
        ends = [len(joined(sentences[: at + 1], self._case)) for at in range(len(sentences))]
        quoted = {bisect(ends, place) for place in places}
        decisive = tuple(sentence for at, sentence in enumerate(sentences) if at in quoted)
        return reply._replace(met=frozenset(label.requirement for label in passed), decisive=decisive)


def _plan_of(case: Case, suite: Suite, oracle: Trajectory) -> list[_Planned]:
    """Return the calls of an oracle dialogue, with what each finds and uses of what was found before."""
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
        planned.from_nowhere = any(
            thing.id in _scalars_in(step.arguments) and thing.key not in known and thing.id not in given
            for thing in returned
            if thing.id
        )
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
        named = sorted(names.values(), key=lambda thing: order[fold_phrase(thing.name)])
        planned.own = list({id(thing): thing for thing in (*named, *planned.own)}.values())
        planned.count = min(_MOST_CHOSEN, len(named) or max([1, *together]))
    return plan


def _names(arguments: JsonObject, tool: Tool, thing: _Thing, case: Case) -> bool:
    """Return whether arguments name a thing, by id, name or place, that is not just where the user is."""
    here = case.visible.context.location
    texts = {value for value in thing.texts.values() if isinstance(value, str)}
    if any(value in texts for value in _scalars_in(arguments)):
        return True
    if thing.point and here and distance_m(*thing.point, here.lon, here.lat) <= _SAME_M:
        return False
    return any(_is_at(value, thing) for value in (*_scalars_in(arguments), *_point_pairs(arguments, tool).values()))


def _point_pairs(arguments: JsonObject, tool: Tool) -> dict[tuple[str, str], list[Json]]:
    """Return the points that two parameters of a call make together, by their names."""
    pairs = [(name, match.pair) for name, match in tool.match.items() if match.pair]
    return {(lon, lat): [arguments[lon], arguments[lat]] for lon, lat in pairs if lon in arguments and lat in arguments}


def _is_at(value: Json, thing: _Thing) -> bool:
    if thing.point is None or not isinstance(value, list | str) or (isinstance(value, str) and "," not in value):
        return False
    point = point_of(value)
    return point is not None and distance_m(*point, *thing.point) <= _SAME_M


def _with_points(arguments: JsonObject, tool: Tool, pairs: Sequence[tuple[_Thing, _Thing]]) -> JsonObject:
    """Return arguments in which two parameters that make the point of an old thing make that of the new one."""
    moved = dict(arguments)
    for (lon, lat), point in _point_pairs(arguments, tool).items():
        new = next((new for old, new in pairs if _is_at(point, old) and new.point), None)
        if new is not None and new.point is not None:
            moved[lon], moved[lat] = new.point
    return moved


def _swapped(value: Json, pairs: Sequence[tuple[_Thing, _Thing]]) -> Json:
    """Return data in which ids, names and points of old things are those of the new ones."""

    def swapped(value: str) -> Json:
        for old, new in pairs:
            path = next((path for path, text in old.texts.items() if text == value), None)
            if path is not None:
                return new.texts.get(path, value)
            if _is_at(value, old) and new.point is not None:
                return f"{new.point[0]},{new.point[1]}"
        return value

    return _with_texts(value, swapped)


def _stands_in(word: str, text: str) -> bool:
    """Return whether a text has a word, or each word of several; a Chinese one wherever it stands."""
    return {*tokens(word)} <= {*tokens(text)} if word.isascii() else word in text


def _with_texts(value: Json, changed: Callable[[str], Json]) -> Json:
    """Return data with each text in it changed."""
    if isinstance(value, dict):
        return {key: _with_texts(part, changed) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_texts(part, changed) for part in value]
    return changed(value) if isinstance(value, str) else value


def _scalars_in(value: Json) -> Iterator[Json]:
    """Yield the texts, figures and the like in data."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _scalars_in(part)
    else:
        yield value
