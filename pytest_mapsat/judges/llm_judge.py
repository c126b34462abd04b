"""The judges ``llm:MODEL`` and ``llm-lean:MODEL``: labels that a machine decides without reading are kept; a model decides the others, or the doubtful ones among them.

Nothing turns on words that do not stand in the dialogue.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_mapsat.llm import OF_THE_REPLY, ModelClient, ModelError, Request, prompt
from pytest_mapsat.model import (
    OBSERVATION,
    QUALITY,
    SOFT_LEVELS,
    STATE,
    Calls,
    Case,
    Check,
    ClockTime,
    Json,
    JsonObject,
    Label,
    LabelKind,
    Number,
    Requirement,
    Trajectory,
    Usage,
    Verdict,
    Window,
    digest,
    total_usage,
)

from .context import JudgedDialogue
from .evidence import UNITS, is_unit
from .findings import SHOWN_AT_MOST, Finding, cite
from .labels import UNDECIDED, besides, too_long, unevaluated, unjudgeable
from .llm_material import (
    RELATIONS,
    UNITS_OF_CLAIMS,
    ClaimedFigure,
    FoundWords,
    Material,
    Outcome,
    UncheckedError,
    compare,
    material_of,
    visible,
)
from .python_check import Blocks, Decided

if TYPE_CHECKING:
    from .judge import ChecksJudge


#: The prompts in use, by file name: instructions for a whole dialogue and for windows of it, the material, and the second asking.
PROMPTS = ("judge", "judge_window", "judge_dialogue", "judge_again")
#: The instructions for labels beside the requirements, by their kind; a quality is judged as requirements are.
BESIDE_PROMPTS: Mapping[LabelKind, str] = {STATE: "judge_state", OBSERVATION: "judge_observation"}
#: The dimension of requirements that are followed through windows of the dialogue.
WINDOWED = "windowed"
#: What the model may say of a requirement; a requirement with levels takes one of them in place of the first two.
PASSED, FAILED, NOT_STATED, CANNOT_SAY = "passed", "failed", "not_stated", "cannot_say"
LEVELS: Mapping[str, float] = {f"{level:g}": level for level in SOFT_LEVELS}

#: The most that is read of a reply: entries, entries on one requirement, quotes and figures of an entry, characters of a text.
_MOST_ENTRIES, _MOST_ON_ONE, _MOST_QUOTES, _MOST_FIGURES = 500, 3, 12, 40
_LONGEST_REASON, _LONGEST_TEXT, _SHOWN = 400, 2_000, 80
#: Words that address a judge, which no answer to a user has. A paragraph with one of them proves nothing.
_TO_THE_JUDGE = re.compile(
    r"\bverdicts?\b.{0,40}\b(?:pass|passed|fail|failed|requirements?|judge|grader)\b|\"verdict\"|\b(?:graders?|evaluators?|rubrics?|the judges?|dear judge|llm|language model|system (?:message|prompt|note)|not_stated|cannot_say|"
    r"(?:ignore|disregard|forget) (?:(?:all|any|the|every|your|previous|prior|above) )+(?:instructions?|rules?|orders?|messages?))\b|"
    r"\bsystem\s*[:>\]]|data-[0-9a-f]{6}|判定|评审|评分员|裁判|阅卷|评判|系统(?:消息|提示|指令)|(?:忽略|无视)(?:以上|之前|上面|上述|前面|所有)",
    re.IGNORECASE,
)
#: Words that claim to have done what was asked. An answer may have them, and they prove nothing either.
_PRAISES_ITSELF = re.compile(
    r"\b(?:checks?|requirements?) (?:\d+ )?(?:all )?(?:pass|passed|are met|is met|hold|are satisfied)\b|(?:全部|所有|各项|每条)要求(?:均|都|已)",
    re.IGNORECASE,
)


def _object(**properties: Json) -> JsonObject:
    """Return the JSON schema of an object with exactly these properties."""
    # Strict modes of the services want every property required and no other one.
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list_of(**properties: Json) -> JsonObject:
    """Return the JSON schema of a list of objects with exactly these properties."""
    return {"type": "array", "items": _object(**properties)}


_TEXT: JsonObject = {"type": "string"}
_FIGURE = dict.fromkeys(("words", "of", "unit", "value", "relation", "known"), _TEXT)
#: The form of the reply. The reason comes before the verdict: what is written first is thought first.
SCHEMA = _object(
    labels=_list_of(
        requirement={"type": "integer"},
        reason=_TEXT,
        quotes=_list_of(part=_TEXT, words=_TEXT),
        figures=_list_of(
            **(_FIGURE | {"unit": _TEXT | {"enum": [*UNITS_OF_CLAIMS]}, "relation": _TEXT | {"enum": [*RELATIONS]}})
        ),
        verdict=_TEXT | {"enum": [PASSED, FAILED, NOT_STATED, CANNOT_SAY, *LEVELS]},
    )
)


@dataclass(frozen=True)
class AskedRequirements:
    """The requirements in one dimension of one dialogue, numbered from 1 in the order of one vote; the language is a BCP 47 tag.

    ``window``: which window of the dialogue is shown, and ``standing``: how each requirement stands after those before; empty where the whole is shown.
    """

    dimension: str
    requirements: tuple[Requirement, ...]
    material: Material
    language: str
    window: str = ""
    standing: Mapping[str, str] = field(default_factory=dict)

    def messages(self) -> tuple[JsonObject, ...]:
        """Return the system and user messages for the model."""
        if self.window:
            instructions = prompt("judge_window", self.language).fill(fence=self.material.fence, window=self.window)
        else:
            name = BESIDE_PROMPTS.get(self.dimension, "judge")
            instructions = prompt(name, self.language).fill(fence=self.material.fence)
        dialogue = prompt("judge_dialogue", self.language).fill(
            situation=self.material.fenced({"situation"}),
            dialogue=self.material.fenced({"user", "reply"}),
            calls=self.material.fenced({"call", "thought", "thing"}) or "-",
            left_out=str(self.material.left_out),
            requirements="\n".join(
                self._line(number, requirement) for number, requirement in enumerate(self.requirements, 1)
            ),
        )
        return {"role": "system", "content": instructions}, {"role": "user", "content": dialogue}

    def _line(self, number: int, requirement: Requirement) -> str:
        """Return the numbered line of a requirement, with the expected kind of verdict and, in windows, the verdict so far."""
        words = "fact" if requirement.kind == "fact" else "level" if has_levels(requirement) else "yes-or-no"
        so_far = f" (so far: {self.standing.get(requirement.id, 'open')})" if self.window else ""
        return f"{number}. [{words}] {' '.join(requirement.text.split())}{so_far}"

    def again(self, request: Request, answer: str, problems: Mapping[str, str]) -> Request:
        """Return the second and last request, which lists the problems of the first reply.

        Args:
            request: the first asking.
            answer: the model's reply; empty where it gave none that can be used.
            problems: its problems, by requirement.
        """
        listed = [
            f"- {number}: {problems[requirement.id]}"
            for number, requirement in enumerate(self.requirements, 1)
            if requirement.id in problems
        ]
        text = prompt("judge_again", self.language).fill(problems="\n".join(listed))
        before: list[JsonObject] = [{"role": "assistant", "content": answer}] if answer else []
        messages = (*request.messages, *before, {"role": "user", "content": text})
        return request.model_copy(update={"messages": messages})


def shuffled(requirements: Sequence[Requirement], *seed: Json) -> tuple[Requirement, ...]:
    """Return the requirements in a reproducible order that depends on a seed and their ids."""
    return tuple(sorted(requirements, key=lambda each: (digest([*seed, each.id], 16), each.id)))


def dimension_of(requirement: Requirement) -> str:
    """Return the dimension of a requirement: its kind, but "explicit" for asked, "implicit" for hard and soft."""
    return {"asked": "explicit", "hard": "implicit", "soft": "implicit"}.get(requirement.kind, requirement.kind)


def has_levels(requirement: Requirement) -> bool:
    """Return whether a requirement is judged by degrees: a quality, or a soft requirement without its own check."""
    return requirement.kind in ("soft", QUALITY) and requirement.check is None


@dataclass(frozen=True)
class Opinion:
    """A verified answer on one requirement: the verdict, its reason on one line, and the supporting quotes."""

    verdict: str
    reason: str
    quotes: tuple[FoundWords, ...] = ()


class _BadEntryError(Exception):
    """An entry of the model's reply failed verification; the message says why."""


def read_reply(
    data: JsonObject, asked: AskedRequirements, context: JudgedDialogue
) -> tuple[dict[str, Opinion], dict[str, str]]:
    """Return the verified opinions of a reply by requirement, and the problems of all other requirements.

    Args:
        data: the reply, a JSON object of any content.
        asked: what was asked.
        context: the dialogue as the checks read it.
    """
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for entry in _listed(data, "labels", _MOST_ENTRIES):
        entries.setdefault(str(_get(entry, "requirement")).strip(), []).append(entry)
    opinions: dict[str, Opinion] = {}
    problems: dict[str, str] = {}
    for number, requirement in enumerate(asked.requirements, 1):
        try:
            read = [
                _opinion(entry, requirement, asked, context) for entry in entries.get(str(number), ())[:_MOST_ON_ONE]
            ]
        except _BadEntryError as bad:
            problems[requirement.id] = str(bad)
            continue
        if len({opinion.verdict for opinion in read}) == 1:
            opinions[requirement.id] = read[0]
        else:
            problems[requirement.id] = "two entries contradict each other" if read else "there is no entry for it"
    return opinions, problems


def _opinion(
    entry: Mapping[str, Any], requirement: Requirement, asked: AskedRequirements, context: JudgedDialogue
) -> Opinion:
    """Verify one entry and return it as an opinion. Raises _BadEntryError."""
    verdict = _verdict(entry.get("verdict"), requirement)
    reason = " ".join(visible(_text(entry, "reason")).split())[:_LONGEST_REASON]
    if verdict == CANNOT_SAY:
        return Opinion(verdict, reason)
    quotes = tuple(_quotes(entry, asked.material))
    of_the_way = requirement.kind == "policy" or requirement.scope == "trajectory"
    own = {"reply", "call", "thought"} if of_the_way else {"reply"}
    bearing = [quote for quote in quotes if quote.part.kind in own]
    if not bearing:
        raise _BadEntryError("no quote is from a reply of the candidate; give the words that decide, or come nearest")
    if verdict not in (FAILED, "0") and all(map(_speaks_to_the_judge, bearing)):
        raise _BadEntryError(
            f"the quote {bearing[0].text[:_SHOWN]!r} speaks to a judge, which proves nothing; quote what is said to the user"
        )
    figures = list(_figures(entry, requirement, asked, context))
    if verdict == PASSED and (wrong := [shown for shown, outcome in figures if outcome == "misfit"]):
        raise _BadEntryError(f"it is called passed, but a figure is not as it must be: {wrong[0]}")
    if requirement.kind == "fact":
        verdict = _of_a_fact(verdict, figures, requirement, context)
    return Opinion(verdict, reason, quotes)


def _verdict(given: Any, requirement: Requirement) -> str:
    """Return an entry's verdict as one of the words allowed for the requirement. Raises _BadEntryError."""
    word = f"{given:g}" if isinstance(given, int | float) and not isinstance(given, bool) else given
    word = word.strip().lower() if isinstance(word, str) else ""
    word = {"1.0": "1", "0.0": "0"}.get(word, word)
    words: Sequence[str] = (PASSED, FAILED, *((NOT_STATED,) if requirement.kind == "fact" else ()), CANNOT_SAY)
    alike = {"1": PASSED, "0": FAILED}
    if has_levels(requirement):
        words, alike = (*LEVELS, CANNOT_SAY), {PASSED: "1", FAILED: "0"}
    word = alike.get(word, word)
    if word not in words:
        raise _BadEntryError(f"the verdict is {str(given)[:_SHOWN]!r}, expected one of {', '.join(words)}")
    return word


def _get(value: Any, key: str) -> Any:
    """Return a key's value; None if it is missing or the container is not an object."""
    return value.get(key) if isinstance(value, dict) else None


def _text(value: Any, key: str) -> str:
    """Return the text at a key, cut to a maximum length; empty if there is none."""
    text = _get(value, key)
    return text[:_LONGEST_TEXT] if isinstance(text, str) else ""


def _listed(value: Any, key: str, most: int) -> list[Any]:
    """Return the first elements of the list at a key; empty if there is none."""
    listed = _get(value, key)
    return listed[:most] if isinstance(listed, list) else []


def _quotes(entry: Mapping[str, Any], material: Material) -> Iterator[FoundWords]:
    """Yield the quotes of an entry with their places in the material. Raises _BadEntryError if a quote does not occur there."""
    for quote in _listed(entry, "quotes", _MOST_QUOTES):
        words = quote[:_LONGEST_TEXT] if isinstance(quote, str) else _text(quote, "words")
        place = material.find(words, _text(quote, "part").strip()) if words.strip() else None
        if place is None:
            raise _BadEntryError(f"the quote {words[:_SHOWN]!r} occurs in no part; copy it letter by letter")
        yield place


def speaks_to_a_model(text: str) -> bool:
    """Return whether a text addresses a model, a judge or a system, as no real user would."""
    return _TO_THE_JUDGE.search(visible(text)) is not None


def _speaks_to_the_judge(quote: FoundWords) -> bool:
    """Return whether a quote lies in a passage addressed to a judge, so that the quote proves nothing."""
    text = quote.part.text
    for words, ends in ((_TO_THE_JUDGE, ("\n\n",)), (_PRAISES_ITSELF, (*".!?。！？\n",))):
        start = max(text.rfind(end, 0, quote.start) for end in ends) + 1
        after = [place for end in ends if (place := text.find(end, quote.end)) >= 0]
        if words.search(visible(text[start : min(after, default=len(text))])):
            return True
    return False


def _figures(
    entry: Mapping[str, Any], requirement: Requirement, asked: AskedRequirements, context: JudgedDialogue
) -> Iterator[tuple[str, Outcome]]:
    """Yield each figure of an entry in words, with the result of its comparison with known values. Raises _BadEntryError."""
    for given in _listed(entry, "figures", _MOST_FIGURES):
        figure = ClaimedFigure(*(_text(given, name) for name in ("words", "unit", "value", "relation", "known")))
        words = figure.words[:_SHOWN]
        if figure.unit not in UNITS_OF_CLAIMS or figure.relation not in RELATIONS:
            raise _BadEntryError(f"the figure {words!r} has no unit or relation of the form")
        place = asked.material.find(figure.words, kind="reply")
        if place is None:
            raise _BadEntryError(f"the figure's words {words!r} occur in no reply; copy them letter by letter")
        try:
            outcome = compare(figure, place, requirement, asked.material, context)
        except UncheckedError as unchecked:
            raise _BadEntryError(f"figure: {unchecked}") from None
        yield f"{figure.value} {figure.unit} ({words}), {figure.relation} {figure.known}", outcome


def _of_a_fact(
    verdict: str, figures: Sequence[tuple[str, Outcome]], requirement: Requirement, context: JudgedDialogue
) -> str:
    """Return the verdict on a fact; a pass without any relevant figure becomes not_stated.

    Raises:
        _BadError: its own figures contradict it, or it is about figures and gives none to compare.
    """
    checks = [leaf for leaf in requirement.leaves if isinstance(leaf, Number | ClockTime)]
    outcomes = {outcome for _, outcome in figures}
    if verdict == FAILED and outcomes == {"fits"}:
        raise _BadEntryError(f"it is called failed, but all its figures are as they must be: {figures[0][0]}")
    if verdict != PASSED:
        return verdict
    if "open" in outcomes:
        raise _BadEntryError("it is called passed, but a figure has nothing known to be compared with")
    if not checks or figures:
        return verdict
    units = {UNITS[check.unit][0] for check in checks if isinstance(check, Number)}
    clock = any(isinstance(check, ClockTime) for check in checks)
    if any(
        (clock and document.times)
        or any(is_unit(figure.unit, unit) for figure in document.quantities for unit in units)
        for document in context.replies
    ):
        raise _BadEntryError("it is called passed without its figures; give each of them, or say not_stated")
    return NOT_STATED


#: The vote of an evaluation without a reply that can be used.
NO_VOTE = "no_vote"
#: How many requests about one dialogue run at once.
_AT_ONCE = 6
_LONGEST_WHY = 900


@dataclass(frozen=True)
class Vote:
    """One evaluation of one dimension.

    Attributes:
        opinions: those that could be used, by requirement.
        problems: why the others could not be used, by requirement.
        fault: why there is no reply; empty where there is one.
        usage: what its requests spent.
    """

    opinions: Mapping[str, Opinion]
    problems: Mapping[str, str]
    fault: str
    usage: tuple[Usage, ...]

    def of(self, requirement: Requirement) -> str:
        """Return the vote's verdict on a requirement; NO_VOTE without a reply, CANNOT_SAY for an unusable answer."""
        if requirement.id in self.opinions:
            return self.opinions[requirement.id].verdict
        return NO_VOTE if self.fault else CANNOT_SAY


@dataclass(frozen=True)
class ModelJudge:
    """Labels requirements with a model.

    Attributes:
        checks: who judges first.
        client: the way to the model; None: it is closed, and what would be asked stays open.
        model: its name, as litellm knows it.
        parameters: its sampling parameters.
        spec: how the user named this judge.
        votes: how many evaluations of a dialogue are asked.
        lean: whether the model is asked only for facts, and for dimensions in which the checks do not pass every label.
        about: what the suite says of itself to judges.
        window: the windows in which requirements of scope trajectory are followed, policies apart; None: the whole is shown.
    """

    checks: ChecksJudge
    client: ModelClient | None
    model: str
    parameters: Mapping[str, Any]
    spec: str
    votes: int = 3
    lean: bool = False
    about: str = ""
    window: Window | None = None

    def context(self, case: Case, trajectory: Trajectory) -> JudgedDialogue:
        """Return the dialogue in the form that checks read; it can also query the model."""
        context = self.checks.context(case, trajectory)
        return replace(context, ask=partial(self._said_of, case, context))

    def judge(self, case: Case, trajectory: Trajectory, decided: Decided | None = None) -> Verdict:
        """Return one label for each requirement of the case, with its votes and its source.

        An episode that something other than the agent broke is not judged; one without words of the agent is left to the checks.
        """
        broken = unjudgeable(case, trajectory, self.spec, "model")
        broken = broken or too_long(case, trajectory, self.spec, "model", self.checks.longest)
        if broken is not None:
            return broken
        context = self.checks.context(case, trajectory).decided_by(decided)
        extra = besides(case, context, self.checks.besides)
        verdict = self.checks.verdict(case, context, extra)
        labels = {label.requirement: label for label in verdict.labels}
        requirements = [each for each in case.truth.by_kind if each.id not in context.found]
        if (none := case.truth.none) is not None:
            told = (
                f"kept; or, as nothing meets all of {', '.join(none.relax)}, the only one given up, and a reply says so"
            )
            texts = {each.id: f"{each.text} ({told})" for each in requirements if each.id in none.relax}
            requirements = [each.model_copy(update={"text": texts.get(each.id, each.text)}) for each in requirements]
        requirements += (observed for observed, _ in extra)
        asked = self._asked(requirements, labels) if context.replies else {}
        votes = self._votes(case, trajectory, asked, context)
        for dimension, listed in asked.items():
            labels |= {
                requirement.id: _label(requirement, votes[dimension], labels[requirement.id]) for requirement in listed
            }
        spent = [usage for of_dimension in votes.values() for vote in of_dimension for usage in vote.usage]
        spent += [] if decided is None else decided.usage
        return verdict.model_copy(
            update={
                "judge": self.spec,
                "labels": tuple(labels.values()),
                "usage": total_usage(spent) if spent else None,
            }
        )

    def _said_of(self, case: Case, context: JudgedDialogue, text: str, blocks: Blocks | None) -> Finding:
        """Return the votes' finding on a sentence from a Python body."""
        asked = Requirement(id="judged", kind="hard", text=text)
        (votes,) = self._votes(case, context.trajectory, {dimension_of(asked): [asked]}, context).values()
        if blocks is not None:
            blocks.usage += [usage for vote in votes for usage in vote.usage]
        label = _label(asked, votes, unevaluated(asked, "", None))
        passed = None if label.value is None else bool(label.value)
        return Finding(passed, label.why.removeprefix(UNDECIDED), broken=label.blame is not None)

    def _asked(self, requirements: Sequence[Requirement], labels: Mapping[str, Label]) -> dict[str, list[Requirement]]:
        """Return the unsettled requirements to ask the model about, by dimension."""
        doubted = {
            self._dimension(requirement)
            for requirement in requirements
            if requirement.kind == "fact" or labels[requirement.id].outcome != PASSED
        }
        asked: dict[str, list[Requirement]] = {}
        for requirement in requirements:
            label, dimension = labels[requirement.id], self._dimension(requirement)
            settled = label.blame is not None or (requirement.machine_sure and label.value is not None)
            if not settled and (dimension in doubted or not self.lean):
                open_so_far = (
                    label.why.removeprefix(UNDECIDED) if any(map(_wants_agreement, requirement.leaves)) else ""
                )
                text = f"{requirement.text} ({open_so_far})" if open_so_far else requirement.text
                asked.setdefault(dimension, []).append(requirement.model_copy(update={"text": text}))
        return asked

    def _dimension(self, requirement: Requirement) -> str:
        """Return the dimension of a requirement: WINDOWED if it is followed through windows, otherwise its kind."""
        followed = self.window is not None and requirement.scope == "trajectory" and requirement.kind != "policy"
        return WINDOWED if followed else dimension_of(requirement)

    def _votes(
        self, case: Case, trajectory: Trajectory, asked: Mapping[str, Sequence[Requirement]], context: JudgedDialogue
    ) -> dict[str, list[Vote]]:
        """Return all votes by dimension, with one request per vote and several requests in parallel."""
        if not asked:
            return {}
        _ = context.replies, context.evidence  # read once, before several threads want them
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            waiting: dict[str, list[Future[Vote]]] = {}
            for dimension, requirements in asked.items():
                material = material_of(case, trajectory, requirements, context, about=self.about)
                for vote in range(1, self.votes + 1):
                    order = shuffled(requirements, case.id, dimension, vote)
                    request = AskedRequirements(dimension, order, material, case.language)
                    task = partial(self._vote, request, context, trajectory.trial, vote)
                    if dimension == WINDOWED:
                        task = partial(self._followed, case, trajectory, requirements, context, vote)
                    waiting.setdefault(dimension, []).append(pool.submit(copy_context().run, task))
            return {dimension: [vote.result() for vote in votes] for dimension, votes in waiting.items()}

    def _followed(
        self,
        case: Case,
        trajectory: Trajectory,
        requirements: Sequence[Requirement],
        context: JudgedDialogue,
        vote: int,
    ) -> Vote:
        """Return a vote collected window by window; the last opinion counts, and an unusable opinion reopens a requirement."""
        opinions: dict[str, Opinion] = {}
        problems: dict[str, str] = {}
        fault = ""
        usage: list[Usage] = []
        for seen in windows_of(trajectory, self.window) if self.window else ():
            shown = material_of(case, seen.trajectory, requirements, context, about=self.about)
            parts = tuple(part for part in shown.parts if part.turn < 0 or part.turn in seen.turns)
            standing = {name: opinion.verdict for name, opinion in opinions.items()}
            material, order = replace(shown, parts=parts), shuffled(requirements, case.id, WINDOWED, vote)
            asked = AskedRequirements(WINDOWED, order, material, case.language, seen.place, standing)
            of_window = self._vote(asked, context, trajectory.trial, vote)
            usage += of_window.usage
            changed = {name: opinion for name, opinion in of_window.opinions.items() if opinion.verdict != CANNOT_SAY}
            unread = {requirement.id for requirement in requirements} - of_window.opinions.keys()
            opinions = {name: opinion for name, opinion in {**opinions, **changed}.items() if name not in unread}
            problems = {name: why for name, why in problems.items() if name not in changed}
            problems |= {name: of_window.problems.get(name, "") for name in unread}
            fault = of_window.fault or fault
        silent = Opinion(CANNOT_SAY, "no window decides it")
        opinions = {
            requirement.id: opinions.get(requirement.id, silent)
            for requirement in requirements
            if requirement.id not in problems
        }
        return Vote(opinions, problems, fault if problems else "", tuple(usage))

    def _vote(self, asked: AskedRequirements, context: JudgedDialogue, trial: int, vote: int) -> Vote:
        """Ask the model, verify the reply against the dialogue, repeat the request once if it fails, and return the vote."""
        if self.client is None:
            return Vote({}, {}, "no way to models is open here", ())
        first = request = Request(
            model=self.model,
            messages=asked.messages(),
            schema_=SCHEMA,
            parameters=dict(self.parameters),
            trial=trial,
            vote=vote,
            purpose="judge",
        )
        opinions: dict[str, Opinion] = {}
        problems = {requirement.id: "there was no reply that could be read" for requirement in asked.requirements}
        usage: list[Usage] = []
        while True:
            text = ""
            try:
                answer = self.client.ask(request)
            except ModelError as error:
                if request is not first or error.kind not in OF_THE_REPLY or error.kind == "too_long":
                    return Vote(opinions, problems, str(error), tuple(usage))
            else:
                usage.append(answer.usage)
                text = answer.text
                read, left = read_reply(answer.data or {}, asked, context)
                opinions |= {name: opinion for name, opinion in read.items() if name in problems}
                problems = {name: left.get(name, "") for name in problems if name not in opinions}
            if not problems or request is not first:
                return Vote(opinions, problems, "", tuple(usage))
            request = asked.again(first, text, problems)


def _wants_agreement(check: Check) -> bool:
    """Return whether a check requires the user's agreement; the model then sees which points are open."""
    return isinstance(check, Calls) and check.agreed


def majority(votes: Sequence[str], requirement: Requirement) -> str:
    """Return the verdict of most votes: passed, failed, not_stated or a level; ``cannot_say`` without a majority.

    A label that holds or not needs more than half of all votes; a tie is no majority. A fact that is not stated holds. Of levels the one with
    the most votes counts, of those with equally many the lower one (spec, Judging).

    Args:
        votes: one for each evaluation, those that brought nothing included.
        requirement: what they are about.
    """
    if has_levels(requirement):
        counts = Counter(vote if vote in LEVELS else CANNOT_SAY for vote in votes)
        leading = [vote for vote, count in counts.items() if count == max(counts.values())]
        return CANNOT_SAY if CANNOT_SAY in leading else min(leading, key=lambda vote: LEVELS[vote])
    holds = [vote for vote in votes if vote in (PASSED, NOT_STATED)]
    if 2 * len(holds) > len(votes):
        return NOT_STATED if 2 * holds.count(NOT_STATED) > len(holds) else PASSED
    return FAILED if 2 * votes.count(FAILED) > len(votes) else CANNOT_SAY


def _label(requirement: Requirement, votes: Sequence[Vote], before: Label) -> Label:
    """Return the label of a requirement from the votes; unevaluated with a reason if the votes give none."""
    listed = tuple(vote.of(requirement) for vote in votes)
    verdict = majority(listed, requirement)
    label = Label(
        requirement=requirement.id,
        kind=requirement.kind,
        outcome="unevaluated",
        wanted=before.wanted,
        by="model",
        votes=listed,
    )
    if verdict == CANNOT_SAY:
        why, blame = _why_open(requirement, votes, listed)
        checks = f"; the checks: {before.why.removeprefix(UNDECIDED)}" if before.value is None and before.why else ""
        opened = {"why": f"{why}{checks}"[:_LONGEST_WHY], "blame": "judge" if blame else None}
        return label.model_copy(update=opened | ({"quotes": before.quotes} if before.value is None else {}))
    opinion = next(vote.opinions[requirement.id] for vote in votes if vote.of(requirement) == verdict)
    value = 1.0 if verdict in (PASSED, NOT_STATED) else 0.0 if verdict == FAILED else LEVELS[verdict]
    quotes = tuple(quote for place in opinion.quotes if (quote := place.quote) is not None)[:SHOWN_AT_MOST]
    others = [place for place in opinion.quotes if place.quote is None]
    shown = [*map(cite, quotes), *(f"{place.part.name} has {' '.join(place.text.split())!r}" for place in others)]
    why = f"{'; '.join(shown[:SHOWN_AT_MOST])}: {opinion.reason or 'no reason given'}"
    return label.model_copy(
        update={
            "outcome": "passed" if value > 0 else "failed",
            "value": value,
            "why": why[:_LONGEST_WHY],
            "wanted": before.wanted or requirement.text,
            "quotes": quotes,
            "nothing_claimed": verdict == NOT_STATED,
        }
    )


def _why_open(requirement: Requirement, votes: Sequence[Vote], listed: Sequence[str]) -> tuple[str, bool]:
    """Return why votes give no label, and whether the judge is to blame, as for missing replies."""
    opinions = [vote.opinions[requirement.id] for vote in votes if requirement.id in vote.opinions]
    faults = [vote.fault for vote in votes if vote.fault and requirement.id not in vote.opinions]
    if faults:
        return f"the model judge gave no reply: {faults[0]}", True
    if len(set(listed)) > 1:
        return f"{UNDECIDED}the votes of the model judge differ: {', '.join(listed)}", False
    if opinions:
        return f"{UNDECIDED}the model judge cannot say: {opinions[0].reason}", False
    bad = next((vote.problems[requirement.id] for vote in votes if vote.problems.get(requirement.id)), "nothing")
    return f"{UNDECIDED}what the model judge says does not check: {bad}", False


# -- a dialogue in overlapping windows: requirements are followed from one to the next ------------------------------


class SeenWindow(NamedTuple):
    """One window of a dialogue.

    Attributes:
        trajectory: the dialogue, with turns outside of the window emptied; every turn keeps its place.
        turns: the turns whose text is in the window, and always the first, which has the user's request.
        place: which window it is, in words: ``1 of 3``.
    """

    trajectory: Trajectory
    turns: frozenset[int]
    place: str


def windows_of(trajectory: Trajectory, window: Window) -> list[SeenWindow]:
    """Return the dialogue split into windows of messages: user texts, agent texts and calls with their results.

    Args:
        trajectory: the dialogue.
        window: how many messages a window has, and how many of them it shares with the one before.
    """
    messages: list[tuple[int, int | None]] = []
    for place, turn in enumerate(trajectory.turns):
        messages += [(place, at) for at, step in enumerate(turn.steps) if step.kind == "call"]
        messages += [(place, None)] if turn.text.strip() else []
    step = window.messages - window.overlap
    starts = range(0, max(len(messages) - window.overlap, 1), step)
    return [
        _seen(trajectory, messages[start : start + window.messages], f"{number} of {len(starts)}")
        for number, start in enumerate(starts, 1)
    ]


def _seen(trajectory: Trajectory, messages: Sequence[tuple[int, int | None]], place: str) -> SeenWindow:
    """Return one window: the dialogue with all texts and calls outside the window emptied."""
    texts = frozenset(turn for turn, at in messages if at is None) | {0}
    calls = {(turn, at) for turn, at in messages if at is not None}
    turns = [
        turn.model_copy(
            update={
                "text": turn.text if number in texts else "",
                "steps": tuple(step for at, step in enumerate(turn.steps) if (number, at) in calls),
            }
        )
        for number, turn in enumerate(trajectory.turns)
    ]
    return SeenWindow(trajectory.model_copy(update={"turns": tuple(turns)}), texts, place)
