"""The metrics of LocalSearchBench (3.3): the answer by rules, its words by a model judge, and the calls by their results.

A *hop* is an entry of ``truth.tools``; its evidence are the rows that it must return. What cannot be decided leaves a metric between bounds, and no failed
judge is ever a 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_mapsat.formats import package_data
from pytest_mapsat.interpreter import cached
from pytest_mapsat.metrics import (
    Given,
    Measure,
    MetricInput,
    MetricSet,
    achieved,
    between,
    mean_of,
    not_applicable,
    read_label,
    share_of,
    weighted_share,
)
from pytest_mapsat.model import (
    QUALITY,
    Bound,
    Case,
    ExpectedTool,
    Output,
    Step,
    any_true,
    canonical_json,
    shown,
    values_at,
)
from pytest_mapsat.ports import packaged_metrics
from pytest_mapsat.sandbox import holds_evidence, hop_calls, id_text, returned_rows
from pytest_mapsat.suite import Remark, Suite

if TYPE_CHECKING:
    from pytest_mapsat.judges import Finding, JudgedDialogue, Observed
    from pytest_mapsat.reading import Document, Span


_METRICS = packaged_metrics(__package__)
_WORD = re.compile(r"[^\W\d_]+|\d+")
#: Words that tell nothing of a thing by themselves.
_EMPTY = frozenset(["a", "also", "an", "and", "are", "as", "at", "both", "by", "for", "has", "have", "in", "is", "it", "its", "of", "on", "or", "that", "the", "there", "this", "to", "which", "with", "的", "是", "在", "和", "与", "有"])  # fmt: skip
_FAILURES = [f"local_fails_{name}" for name in ("calls", "plan", "query", "noise")]
_NO_HOPS = "the case expects no call (truth.tools)"
_NO_CALL = "the agent called nothing"
_NOT_BOUND = "no hop asks for what another one found"


def _measure(metric_input: MetricInput) -> Mapping[str, Given]:
    """Return the metrics of an episode; after a fault, only its counts and the metrics that do not depend on success."""
    way = _HopCoverage(metric_input)
    counted: dict[str, Given] = {"local_calls": float(len(way.calls)), "local_rounds": _rounds(metric_input)}
    if metric_input.fault is not None:
        nothing = Measure(0.0, why=metric_input.fault.message)
        unserved = nothing if way.calls else not_applicable(_NO_CALL)
        by_call: dict[str, Given] = dict.fromkeys(("local_relevant", "local_efficient"), unserved)
        causal: dict[str, Given] = {"local_causal": nothing if way.causal else not_applicable(_NOT_BOUND)}
        return counted | by_call | causal | _failures(way, nothing)
    correct = _correct(metric_input, way)
    return {
        "local_correct": correct,
        "local_complete": _complete(metric_input),
        "local_faithful": _faithful(metric_input),
        **{f"local_{name}": _quality_score(metric_input, f"{QUALITY}:{name}") for name in ("fluent", "safe")},
        **counted,
        "local_relevant": share_of(way.serving, _NO_CALL) if way.hops else not_applicable(_NO_HOPS),
        "local_evidence": share_of(way.evidence, "no hop says which rows it must find"),
        "local_causal": share_of(way.causal, _NOT_BOUND),
        "local_efficient": way.efficiency,
        **_failures(way, correct),
    }


class _HopCoverage:
    """The calls of an episode compared with the hops of its case.

    Attributes:
        hops: the expected tools.
        calls: all calls, each under its tool's own name.
    """

    def __init__(self, metric_input: MetricInput) -> None:
        self._tools, self.hops, self.calls = metric_input.tools, metric_input.case.truth.tools, metric_input.calls

    @cached
    def fulfilled(self) -> Sequence[Mapping[int, int]]:
        """Return for each hop the positions of the calls that fulfil it, each with the number of unclear matches."""
        return hop_calls(self.hops, self.calls)

    def _finds(self, hop: ExpectedTool, call: Step) -> bool | None:
        """Return whether a call uses the hop's tool and returned all rows of its evidence; None if this is unknown."""
        if hop.name != call.tool or call.status != "ok":
            return False
        if "result" in call.unknown or hop.name not in self._tools:
            return None
        return holds_evidence(hop, self._tools[hop.name], call.result)

    @cached
    def serving(self) -> Sequence[bool | None]:
        """Return for each call whether it serves a hop: it follows the hop's rules and returns its evidence; None if unclear."""
        return [any_true(self._serves(hop, at) for hop in range(len(self.hops))) for at in range(len(self.calls))]

    def _serves(self, hop: int, at: int) -> bool | None:
        """Return whether one call serves one hop, both given by position; None if unclear."""
        if at not in self.fulfilled[hop]:
            return False
        finds = self._finds(self.hops[hop], self.calls[at])
        return None if finds and self.fulfilled[hop][at] else finds

    @cached
    def evidence(self) -> Sequence[bool | None]:
        """Return for each hop with evidence rows whether a call of its tool returned them; None if unclear."""
        return [any_true(self._finds(hop, call) for call in self.calls) for hop in self.hops if hop.evidence_rows]

    @cached
    def causal(self) -> Sequence[bool | None]:
        """Return for each hop bound to an earlier hop's result whether a call requests that result; None if unclear."""
        return [
            any_true(None if unknown else True for unknown in fulfilled.values())
            for hop, fulfilled in zip(self.hops, hop_calls(self.hops, self.calls, self._tools), strict=True)
            if any(_is_bound(match) for match in hop.match.values())
        ]

    @property
    def efficiency(self) -> Measure:
        """Return the number of hops with evidence per call, at most 1; not applicable without calls or evidence rows."""
        if not self.evidence:
            return not_applicable("no hop says which rows it must find")
        if not self.calls:
            return not_applicable(_NO_CALL)
        sure, unknown, calls = self.evidence.count(True), self.evidence.count(None), len(self.calls)
        least, most = min(1.0, sure / calls), min(1.0, (sure + unknown) / calls)
        return between(least, most, f"of {unknown} hops the evidence cannot be compared")


def _is_bound(match: object) -> bool:
    """Return whether a match is bound to the result of another call."""
    bound = getattr(match, "bound", None)
    return isinstance(bound, Bound) and bound.call is not None


def _rounds(metric_input: MetricInput) -> Measure:
    """Return the number of the model's turns: groups of parallel tool calls in each reply, plus the final answer.

    A thought begins a turn, and so does a tool that the turn has called: each is called at most once in a round (3.2). Whether calls of other tools were made
    at once is not recorded: they leave bounds.
    """
    least = most = 0
    for reply in metric_input.trajectory.replies:
        least, most, called = least + 1, most + 1, set[str]()
        for step in reply.steps:
            if step.kind == "thought":
                called = set()
            elif step.kind == "call":
                called = {step.tool} if step.tool in called else called | {step.tool}
                least, most = least + (len(called) == 1), most + 1
    return between(least, most, "whether calls of several tools were made at once is not recorded")


def _failures(way: _HopCoverage, correct: Measure) -> dict[str, Given]:
    """Return the kinds of failure (5.6) in an incorrect episode: 1, 0, or bounds if a kind is uncertain.

    ``calls``: a call is made twice, refused or wrong, or none is made. ``plan``: a hop has no call that asks for it, or for what an earlier hop found.
    ``query``: a hop is asked for and its evidence is never returned. ``noise``: all evidence was returned, and the answer is wrong all the same.
    """
    if correct.value != 0:
        why = "the answer is correct" if correct.value else "whether the answer is correct is not decided"
        return dict.fromkeys(_FAILURES, not_applicable(why))
    asked = [canonical_json([call.tool, call.arguments]) for call in way.calls if "arguments" not in call.unknown]
    served = [bool(calls) for calls in way.fulfilled]
    missing = [None if found is None else not found for found in way.evidence]
    of_asked = [asks for hop, asks in zip(way.hops, served, strict=True) if hop.evidence_rows]
    signs = (
        len({*asked}) < len(asked) or not way.calls or any(call.status not in ("ok", "miss") for call in way.calls),
        any_true([*(not calls for calls in served), *(None if asks is None else not asks for asks in way.causal)]),
        any_true(lacks if asks else False for lacks, asks in zip(missing, of_asked, strict=True)),
        False if True in missing or not missing else None if None in missing else True,
    )
    return {
        name: share_of([sign], "") if way.hops or name == _FAILURES[0] else not_applicable(_NO_HOPS)
        for name, sign in zip(_FAILURES, signs, strict=True)
    }


def _correct(metric_input: MetricInput, way: _HopCoverage) -> Measure:
    """Return 1 if all asked and hard requirements are met and tools returned every id in the output; otherwise 0."""
    truth = metric_input.case.truth
    if invented := next(_never_returned(metric_input, way), ""):
        return Measure(0.0, why=f"{invented} is handed over, and no result of this dialogue has it")
    readings = [metric_input.readings[requirement.id] for requirement in (*truth.asked, *truth.hard)]
    none = "the case has no asked or hard requirement"
    return achieved(weighted_share([(1.0, reading) for reading in readings], none))


def _never_returned(metric_input: MetricInput, way: _HopCoverage) -> Iterator[str]:
    """Yield the ids in the last output that their look-up tool never returned."""
    requirements = metric_input.case.truth.requirements
    checks = [leaf for requirement in requirements for leaf in requirement.leaves if isinstance(leaf, Output)]
    look_ups = [check for check in checks if check.tool is not None and check.id is not None]
    outputs = [turn.output for turn in metric_input.trajectory.replies if turn.output is not None]
    answered = [call for call in way.calls if call.status == "ok" and call.tool in {check.tool for check in look_ups}]
    if not outputs or any("result" in call.unknown for call in answered):
        return
    returned = {
        row.id
        for call in answered
        if call.tool in metric_input.tools
        for row in returned_rows(metric_input.tools[call.tool], call.result)
    }
    for path, name in dict.fromkeys((check.path, check.id or "") for check in look_ups):
        for value in values_at(outputs[-1], path):
            for entry in value if isinstance(value, list) else [value]:
                handed = values_at(entry, name) if isinstance(entry, dict) else []
                # A value that is no id, such as a list, was not returned either; null means that there is none.
                texts = (id_text(given) or shown(given) for given in handed if given is not None)
                yield from (text for text in texts if text not in returned)


def _complete(metric_input: MetricInput) -> Measure:
    """Return the mean completion over hops and soft requirements; a partly met hop counts in part (A.4, scoring and aggregation).

    The requirements of a hop are those that it names as evidence, else the one with its id; each counts alike. A soft requirement counts by its level.
    """
    hops, soft = [], {requirement.id for requirement in metric_input.case.truth.soft}
    for hop in metric_input.case.truth.tools:
        names = [part for part in hop.evidence if isinstance(part, str)] or [hop.key]
        readings = [metric_input.readings[name] for name in names if name in metric_input.readings]
        soft -= {*names}
        hops += [weighted_share([(1.0, reading) for reading in readings])] if readings else []
    hops += [weighted_share([(1.0, metric_input.readings[name])]) for name in sorted(soft)]
    applying = [share for share in hops if share.outcome_class != "not_applicable"]
    return mean_of(applying) if applying else not_applicable("no requirement of the case is that of a hop, or soft")


def _faithful(metric_input: MetricInput) -> Measure:
    """Return the share of claims that tool results support; a claimed fact of the case counts as another claim.

    A claim that no rule decides, and a sentence that says more than is read, may be supported or not: they leave bounds.
    """
    from pytest_mapsat.judges import ChecksJudge, JudgedDialogue  # noqa: PLC0415  only where an episode is measured

    longest, characters = ChecksJudge.longest, sum(len(reply.text) for reply in metric_input.trajectory.replies)
    if characters > longest:
        return Measure(None, "unevaluated", f"the replies have {characters:,} characters; at most {longest:,} are read")
    context = JudgedDialogue.of(metric_input.case, metric_input.trajectory, metric_input.tools)
    verdicts = [judged.verdict for judged in context.claims if judged.matters]
    supported = [None if verdict == "undecided" else verdict == "supported" for verdict in verdicts]
    facts = [metric_input.readings[fact.id] for fact in metric_input.case.truth.facts]
    supported += [fact.value == 1 for fact in facts if fact.value is not None and not fact.nothing_claimed]
    supported += [None for document in context.replies for _ in _unsupported_sentences(document, context)]
    return share_of(supported, "the replies claim nothing")


def _unsupported_sentences(document: Document, context: JudgedDialogue) -> Iterator[str]:
    """Yield the sentences of a reply with words that no claim reader recognises and no row of the named things contains."""
    records: dict[str, set[str]] = {}
    for entity in context.entities:
        records.setdefault(entity.key, set()).update(_WORD.findall(canonical_json(entity.record).casefold()))
    read = [judged.span for judged in context.claims if judged.document is document]
    # The word beside a figure says what it is a figure of.
    figures = [figure.span for figure in document.quantities if figure.role is not None and figure.span in read]
    asked = {question.sentence for question in document.questions}
    for number, sentence in enumerate(document.sentences):
        mentions = [mention for mention in document.mentions if sentence.start <= mention.span.start < sentence.end]
        keys = {key for mention in mentions for key in mention.keys}
        # Of several things only what is in the rows of all of them: nothing says which one the words are about.
        known = set.intersection(*(records.get(key, set()) for key in keys)) if keys else set()
        spans = [*read, *(mention.span for mention in mentions)]
        words = [
            word
            for word in _WORD.finditer(document.text, sentence.start, sentence.end)
            if not any(span.start <= word.start() < span.end for span in spans)
            and not any(_is_beside(document.text, word, span) for span in figures)
        ]
        denied = any(sentence.start <= span.start < sentence.end for span in document.negations)
        unknown = [word[0] for word in words if word[0].casefold() not in known | _EMPTY]
        if number not in asked and (denied or unknown):
            yield document.words(sentence)


def _is_beside(text: str, word: re.Match[str], span: Span) -> bool:
    """Return whether a word is next to a span, with at most one space between them."""
    before, after = text[word.end() : span.start], text[span.end : word.start()]
    return (word.end() <= span.start and before in ("", " ")) or (word.start() >= span.end and after in ("", " "))


def _quality_score(metric_input: MetricInput, name: str) -> Measure:
    """Return the mean of the judge's votes on a quality of the replies; a person's label counts as one vote."""
    label = metric_input.labels.get(name)
    reading = read_label(name, label, soft=True)
    if label is not None and reading.value is not None:
        levels = [float(vote) for vote in label.votes if vote.replace(".", "", 1).isdecimal()] or [reading.value]
        return Measure(math.fsum(levels) / len(levels), why=reading.why)
    return weighted_share([(1.0, reading)])


#: Those that rest on which calls were made.
_OF_CALLS = [
    *(f"local_{name}" for name in ("calls", "rounds", "relevant", "evidence", "causal", "efficient")),
    *_FAILURES,
]
#: The answer, its words, and the way to it.
LOCAL = MetricSet("local", _METRICS, _measure, frozenset({QUALITY}), _OF_CALLS)


# -- the level that a task states, by table 5 of the paper. ``mapsat lint`` asks of suites that are measured by ``local`` whether it agrees, and the hops.
#
# The table speaks of requirements in words. What of it a machine can count: a *condition* is a column of the rows that a hop must find; a requirement is
# *composite* when it takes several hops, *personalised* when the query leaves a part of it unstated, and *open-ended planning* when it takes at least three hops.

_LEVEL = re.compile(r"\s*L([1-5])\b", re.IGNORECASE)
#: The most conditions of the lowest level, and the fewest hops of an open-ended plan.
_BASIC, _PLANNED = 2, 3


def lint_levels(case: Case, suite: Suite) -> list[Remark]:
    """Return remarks if the stated level or number of hops of a case does not match its content.

    Args:
        case: the case.
        suite: its suite.
    """
    if LOCAL.name not in suite.manifest.metrics:
        return []
    hops = len(case.truth.tools)
    remarks = []
    if (stated := case.attributes.get("hops")) is not None and stated != str(hops):
        message = f"it says {stated} hops, and truth.tools has {hops}"
        remarks.append(Remark("warning", "hops", ("attributes", "hops"), message))
    level = _LEVEL.match(case.difficulty)
    if level is not None and hops and (wrong := _wrong_level(int(level[1]), case)):
        message = f"it says L{level[1]}, and {wrong}"
        remarks.append(Remark("warning", "level", ("difficulty",), message, "see table 5 of LocalSearchBench"))
    return remarks


def _wrong_level(level: int, case: Case) -> str:
    """Return why a case does not match a level; empty if it matches."""
    hops = len(case.truth.tools)
    conditions = max((len(row.where) for tool in case.truth.tools for row in tool.evidence_rows), default=0)
    if level == 1 and (hops > 1 or conditions > _BASIC):
        return f"L1 is one search with at most {_BASIC} conditions: this has {hops} hops, with up to {conditions}"
    if level == 2 and (hops > 1 or conditions <= _BASIC):  # noqa: PLR2004  the level itself
        return f"L2 is one search with {_BASIC + 1} conditions or more: this has {hops} hops, with up to {conditions}"
    if level in (3, 4) and hops == 1:
        return f"L{level} has a composite requirement: this has one hop"
    if level == 4 and hops < _PLANNED and not case.truth.implicit:  # noqa: PLR2004  the level itself
        has = f"no hard or soft requirement, and fewer than {_PLANNED} hops"
        return f"L4 is personalised or an open plan: this has {has}"
    if level == 5:  # noqa: PLR2004  the level itself
        return "L5 works across platforms, which no suite can offer"
    return ""


def label_qualities(case: Case, context: JudgedDialogue) -> Iterator[tuple[Observed, Finding]]:  # noqa: ARG001  as of all labels
    """Yield each quality of the replies with an undecided finding, because only a model can judge qualities."""
    from pytest_mapsat.judges import Finding, Observed  # noqa: PLC0415 (only where a suite asks for them)

    language = "zh" if case.language.startswith("zh") else "en"
    for name, texts in package_data(__package__, "words.yaml")["qualities"].items():
        text = texts[language]
        observed = Observed(id=f"{QUALITY}:{name}", kind=QUALITY, text=text)
        yield observed, Finding(None, "the quality of words is judged by a model only", text)
