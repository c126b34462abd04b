"""Are two runs of one kind? What must be equal for a difference between them to be the agent's, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter

from pytest_mapsat.metrics import by_key
from pytest_mapsat.model import (
    ASSERTED_AS,
    OBSERVATION,
    STATE,
    UNDECIDED,
    Blame,
    CallCounts,
    CardRequirement,
    ComparedRun,
    EpisodeTiming,
    Label,
    Lost,
    Noun,
    Outcome,
    Run,
    RunManifest,
    RunRequest,
    Scorecard,
    SuiteInfo,
    Unlike,
    Usage,
    digest,
    listed,
    share_field_sets,
    trajectory_digest,
)
from pytest_mapsat.options import fields_that_change

_NONE = "none"
#: What an episode is laid to of which the verdict is open, and not lost.
OPEN = (UNDECIDED, "sandbox")
#: Options that may differ: they say how much is run and what is made of it, not what happens in an episode.
_FREE = fields_that_change("item", "run")


#: Prompts for labels that only some metric sets read. They may differ: two runs are compared on the metric sets that both have.
_BESIDE = tuple(f"/judge_{kind}" for kind in (STATE, OBSERVATION))


@dataclass(frozen=True)
class Side:
    """One of the two runs in a comparison.

    Attributes:
        manifest: what was run.
        cards: its scorecards.
        lost: episodes that have none.
        partial: whether cases that are missing were left out on purpose, so that what there is may be compared.
    """

    manifest: RunManifest
    cards: Sequence[Scorecard]
    lost: Sequence[Lost] = ()
    partial: bool = False

    @classmethod
    def of(cls, run: Run) -> Side:
        """Return a saved run as a side of a comparison, without the turns of its dialogues."""
        return cls(
            run.manifest,
            tuple(map(without_turns, run.cases)),
            run.accounting.lost,
            partial=bool(run.manifest.options.sample),
        )

    def cases(self) -> dict[str, list[Scorecard]]:
        """Return the scorecards by case; cases and scorecards are sorted."""
        return by_key((card.id, card) for card in sorted(self.cards, key=lambda card: card.key))

    @cached_property
    def lost_cases(self) -> frozenset[str]:
        """Return the cases with an episode that has no scorecard or could not be judged."""
        unjudged = {card.id for card in self.cards if lost_to(card) not in (None, *OPEN)}
        return frozenset(unjudged.union(loss.id for loss in self.lost))

    @cached_property
    def build(self) -> str:
        """Return the agent's build, as requested or as all answers name it; empty if the build is unknown or varies."""
        builds = builds_named(self.manifest.request, self.cards)
        return builds[0] if len(builds) == 1 else ""

    def of_trials(self, trials: Collection[int]) -> Side:
        """Return the run with only some of its trials."""
        return replace(self, cards=[card for card in self.cards if card.trial in trials])

    @property
    def decisions(self) -> tuple[str, ...]:
        """Return the digests of the human decisions on which the labels of the run rest."""
        return (self.manifest.decisions, *(info.decisions for info in self.manifest.suites))

    def asserting(self, asserted: frozenset[str]) -> Side:
        """Return the run as it would have ended if other kinds of requirements had been asserted."""
        if self.manifest.options.asserted_kinds == asserted:
            return self
        return replace(self, cards=tuple(asserted_card(card, asserted) for card in self.cards))

    def described(self) -> ComparedRun:
        """Return the description of the run for a comparison."""
        manifest = self.manifest
        return ComparedRun(
            agent=manifest.agent,
            agent_source=manifest.agent_source,
            agent_build=self.build,
            suites=tuple(f"{info.name} {info.version} {info.fingerprint}" for info in manifest.suites),
            user=manifest.user,
            judge=manifest.judge.spec,
            versions=manifest.versions,
            digest=digest(sorted([*map(str, card.key), dialogue_of(card)] for card in self.cards)),
            cases=len({card.id for card in self.cards}),
            episodes=len(self.cards),
        )


def without_turns(card: Scorecard) -> Scorecard:
    """Return a scorecard with the turns of its dialogue replaced by a digest of the dialogue."""
    if not card.trajectory.turns:
        return card
    reduced_card = card.trajectory.model_copy(update={"turns": (), "environment": None})
    return card.model_copy(update={"dialogue": dialogue_of(card), "trajectory": reduced_card})


class _Compared(Scorecard):
    """A scorecard reduced to the fields that every comparison reads; its full labels are kept as JSON."""

    _labels: bytes = b""


#: What no comparison reads.
_UNREAD: Mapping[str, Any] = {"attributes": {}, "classes": {}, "sandbox": {}, "warnings": ()}
_LABELS: TypeAdapter[tuple[Label, ...]] = TypeAdapter(tuple[Label, ...], config=ConfigDict(defer_build=True))


def reduced_card(card: Scorecard) -> Scorecard:
    """Return a scorecard reduced to the fields that a comparison needs, which take a fifth of the memory."""
    card = without_turns(card)
    fields = {
        **vars(card),
        "metrics": _measured(*card.metrics.items()),
        "labels": tuple(
            [
                _shared_noun(
                    Label,
                    requirement=item.requirement,
                    kind=item.kind,
                    outcome=item.outcome,
                    value=item.value,
                    blame=item.blame,
                    why=UNDECIDED * item.undecided,
                )
                for item in card.labels
            ]
        ),
        "requirements": tuple(
            [_shared_noun(CardRequirement, id=item.id, kind=item.kind, text="") for item in card.requirements]
        ),
        "calls": _shared_noun(CallCounts, total=card.calls.total),
        "spent": _shared_noun(Usage, **vars(card.spent)),
        "timing": EpisodeTiming(agent=card.timing.agent),
        **_UNREAD,
    }
    kept = _Compared.model_construct(**fields)
    kept._labels = _LABELS.dump_json(card.labels, exclude_defaults=True)  # noqa: SLF001  ours
    share_field_sets(kept)
    return kept


@lru_cache(maxsize=10_000)
def _measured(*metrics: tuple[str, float | None]) -> dict[str, float | None]:
    """Return metrics as a dict, cached so that scorecards with equal metrics share it."""
    return dict(metrics)


@lru_cache(maxsize=10_000)
def _shared_noun(sort: Callable[..., Noun], /, **fields: Any) -> Any:
    """Return an object of a class with these fields, cached because many scorecards have equal objects."""
    noun = sort(**fields)
    share_field_sets(noun)
    return noun


def builds_named(request: RunRequest, cards: Iterable[Scorecard]) -> tuple[str, ...]:
    """Return the builds that a run and its answers name, sorted; an empty name means an answer without a build."""
    parts = [request.agent_build] if request.agent_build else []
    return tuple(sorted({*parts, *chain.from_iterable(card.trajectory.builds for card in cards)}))


def lost_to(card: Scorecard) -> str | None:
    """Return the party because of which an episode has no verdict (one of ``OPEN`` if it is undecided); None if it has a verdict."""
    if card.unknown and card.outcome != "failed":
        labels = {label.requirement: label for label in card.labels}
        blames = [_blame(card, labels.get(name), name) for name in card.unknown]
        return next((blame for blame in blames if blame not in OPEN), blames[0])
    if card.outcome == "unevaluated" or (card.outcome == "error" and card.blame != "agent"):
        return card.blame or (UNDECIDED if card.unknown else "judge")
    return None


def _blame(card: Scorecard, label: Label | None, name: str) -> str:
    """Return the party to blame for an unknown label, or for a metric of that name."""
    if label is None and name in card.faults:
        return card.faults[name].blame
    if label is None:
        return UNDECIDED if name in card.bounds else "judge"
    return label.blame or (UNDECIDED if label.bounded else "judge")


def labels_of(card: Scorecard) -> tuple[Label, ...]:
    """Return the full labels of a scorecard, even if the scorecard was reduced."""
    return _LABELS.validate_json(card._labels) if isinstance(card, _Compared) else card.labels  # noqa: SLF001  ours


def asserted_card(card: Scorecard, asserted: frozenset[str]) -> Scorecard:
    """Return an episode with its ending under other asserted kinds; unchanged if it broke or ``success`` is asserted.

    Args:
        card: the episode.
        asserted: kinds of requirements that fail an item, as ``hard`` and ``facts``.
    """
    if card.outcome == "error" or card.trajectory.fault is not None or "success" in asserted:
        return card
    kinds = {requirement.id: requirement.kind for requirement in card.requirements}
    labels = [label for label in card.labels if ASSERTED_AS.get(kinds.get(label.requirement, "")) in asserted]
    unknown = tuple(label.requirement for label in labels if label.outcome in ("unevaluated", "error"))
    failed = any(label.outcome == "failed" or (label.value or 1) < 1 for label in labels)
    outcome: Outcome = "failed" if failed else "unevaluated" if unknown else "passed"
    blame: Blame | None = "agent" if failed else None
    return card.model_copy(update={"outcome": outcome, "blame": blame, "unknown": unknown})


def dialogue_of(card: Scorecard) -> str:
    """Return the digest of a dialogue; empty if the scorecard has neither a digest nor turns."""
    return card.dialogue or (trajectory_digest(card.trajectory) if card.trajectory.turns else "")


class Likeness(NamedTuple):
    """The differences between two runs.

    Attributes:
        broken: why one of them is no whole run at all: nothing to compare.
        kind: what makes them runs of different kinds: no part of them is common.
        part: what only some cases differ in.
        changed: cases that both have, and that are not the same in both.
        lost: cases that one of the runs lost.
    """

    broken: tuple[Unlike, ...]
    kind: tuple[Unlike, ...]
    part: tuple[Unlike, ...]
    changed: frozenset[str]
    lost: frozenset[str]

    @property
    def all(self) -> tuple[Unlike, ...]:
        """Return all differences, the most serious first."""
        return (*self.broken, *self.kind, *self.part)

    @property
    def besides_memory(self) -> tuple[Unlike, ...]:
        """Return all differences except the memories of the agents."""
        return tuple(unlike for unlike in self.all if not unlike.what.endswith(("agent-memory", "/remember")))

    def refusal(self, *, common: bool) -> tuple[str, ...]:
        """Return why the runs cannot be compared, and a remedy; empty if they can be compared.

        Args:
            common: whether the common part of runs that are alike in part is asked for.
        """
        if self.broken:
            way = "--mapsat-resume finishes a run that did not end"
        elif self.kind and not self.besides_memory:
            way = "mapsat compare --memories shows runs of several memories beside each other"
        elif self.kind:
            way = "mapsat regrade judges the baseline again; with another user or other limits it has to be run again"
        elif self.lost and not common:
            way = "--mapsat-resume plays what was lost; mapsat compare --common compares the rest"
        elif self.part and not common:
            way = (
                "run the baseline again, or compare the cases that are the same in both with mapsat compare --common; "
                "an anchor moves with mapsat compare ANCHOR RUN --accept"
            )
        else:
            return ()
        return (*(f"the runs cannot be compared: {difference_text(unlike)}" for unlike in self.all), way)


def difference_text(unlike: Unlike) -> str:
    """Return a difference in words."""
    return f"{unlike.what}: baseline {unlike.baseline}, new {unlike.new}"


def likeness(baseline: Side, new: Side) -> Likeness:
    """Return the differences between two runs other than their agents and trials.

    Settings of the dialogue and of the judging make them runs of different kinds. Suites, versions and cases may be alike in part.
    """
    return Likeness(
        broken=tuple(_broken(baseline, new)),
        kind=(
            *_differing(_kind(baseline.manifest.request), _kind(new.manifest.request)),
            *_differing(*(_marks("prompt", side.manifest.prompts) for side in (baseline, new))),
            *_differing(_calibrations(baseline.manifest), _calibrations(new.manifest)),
        ),
        part=(
            *_differing(*(_marks("version of", side.manifest.versions) for side in (baseline, new))),
            *_differing(_suites(baseline.manifest.suites), _suites(new.manifest.suites)),
            *_cases(baseline, new),
        ),
        changed=_changed(baseline, new),
        lost=baseline.lost_cases | new.lost_cases,
    )


def _broken(baseline: Side, new: Side) -> Iterable[Unlike]:
    """Yield a difference if one of the runs did not finish."""
    if baseline.manifest.unfinished or new.manifest.unfinished:
        whole = "a whole run"
        yield Unlike(what="end", baseline=baseline.manifest.unfinished or whole, new=new.manifest.unfinished or whole)


def _kind(request: RunRequest) -> dict[str, str]:
    """Return by name the settings that must be equal in two comparable runs."""
    options = request.options.model_dump(mode="json", by_alias=True)
    return {
        "user": request.user,
        "judge": request.judge,
        **{name.replace("_", "-"): setting_text(value) for name, value in options.items() if name not in _FREE},
    }


def setting_text(value: object) -> str:
    """Return the value of a setting in words."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _marks(what: str, marks: Mapping[str, str]) -> dict[str, str]:
    """Return versions or digests by name, without prompts that only some metric sets use."""
    return {f"{what} {name}": mark for name, mark in marks.items() if not name.endswith(_BESIDE)}


def _calibrations(manifest: RunManifest) -> dict[str, str]:
    """Return the digests of the calibration tables of suites, by the suite."""
    return {f"calibration table of {info.name}": info.calibration for info in manifest.suites if info.calibration}


def _suites(infos: Iterable[SuiteInfo]) -> dict[str, str]:
    """Return versions and fingerprints of suites, by the suite."""
    versions = by_key(
        (f"suite {info.name}", f"version {info.version}, fingerprint {info.fingerprint}") for info in infos
    )
    return {name: " and ".join(listed_versions) for name, listed_versions in versions.items()}


def _differing(baseline: dict[str, str], new: dict[str, str]) -> Iterable[Unlike]:
    """Yield a difference for each name that has different values in two runs."""
    for name in dict.fromkeys((*baseline, *new)):
        pair = baseline.get(name, _NONE), new.get(name, _NONE)
        if pair[0] != pair[1]:
            yield Unlike(what=name, baseline=pair[0], new=pair[1])


def _cases(baseline: Side, new: Side) -> Iterable[Unlike]:
    """Yield the differences between the cases of two runs: lost, in one run only, changed, or from other agents."""
    before, after = ({card.id for card in side.cards} for side in (baseline, new))
    lost = baseline.lost_cases, new.lost_cases
    if any(lost):
        texts = (f"{len(some)}{f' ({listed(sorted(some))})' if some else ''}" for some in lost)
        yield Unlike(what="lost cases", baseline=next(texts), new=next(texts))
    alone = sorted(before - after - lost[1]), sorted(after - before - lost[0])
    if (alone[0] and not new.partial) or alone[1]:
        yield Unlike(what="cases", baseline=_counted(alone[0], len(before)), new=_counted(alone[1], len(after)))
    if changed := sorted(_changed(baseline, new)):
        yield Unlike(what="changed cases", baseline=listed(changed), new="not the same as before")
    agents = [sorted({card.agent for card in side.cards}) for side in (baseline, new)]
    if agents[0] != agents[1]:
        texts = (", ".join(name or _NONE for name in names) for names in agents)
        yield Unlike(what="parameters of mapsat_agent", baseline=next(texts), new=next(texts))


def _counted(alone: Sequence[str], count: int) -> str:
    """Return in words how many cases a run has, and which cases the other run lacks."""
    return f"{count}" + (f", of them only here {listed(alone)}" if alone else "")


def _changed(baseline: Side, new: Side) -> frozenset[str]:
    """Return the cases with different stamps in two runs; cases without a stamp count as unchanged."""
    stamps = {card.id: card.stamp for card in baseline.cards if card.stamp}
    return frozenset(card.id for card in new.cards if card.stamp and stamps.get(card.id, card.stamp) != card.stamp)
