"""Run files: where they go, what stands there, and earlier runs to go on from, to judge again or to compare with."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from pytest_mapsat import __version__
from pytest_mapsat.formats import (
    Journal,
    is_complete_run,
    is_journal,
    printable,
    read_journal,
    read_run,
    save_run,
    shown_path,
)
from pytest_mapsat.gate import Coverage, Side, compare, likeness, slim, without_turns
from pytest_mapsat.model import (
    Comparison,
    EpisodeTiming,
    Gate,
    JudgeInfo,
    Lost,
    MapsatError,
    Metric,
    Problem,
    Run,
    RunManifest,
    RunOptions,
    RunRequest,
    RunTiming,
    Scorecard,
    SuiteError,
    SuiteInfo,
    UsageError,
)
from pytest_mapsat.options import fields_that_change
from pytest_mapsat.suite import find_suite, role_of

from .request import drops_of, prompts_of


def check_save_path(path: Path, *, option: str = "--mapsat-save=") -> None:
    """Check that a run file or a report can be put at a path, before anything has run.

    Args:
        path: where it goes.
        option: what was typed before the path.

    Raises:
        UsageError: it is a folder, a device, a pipe or a file of a suite, or its folder cannot be written.
    """
    target = Path(os.path.realpath(path))
    problem = _not_a_file(target) or _unwritable(target) or _of_a_suite(target)
    if problem:
        raise UsageError(f"{option}{printable(str(path))}: {problem}")


def _not_a_file(target: Path) -> str:
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISDIR(mode):
        return "this is a folder; name a file in it, such as run.json"
    return "" if stat.S_ISREG(mode) else "this is not a regular file"


def _unwritable(target: Path) -> str:
    folder = next(folder for folder in target.parents if folder.exists())
    if not folder.is_dir():
        return f"{folder.name} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {folder} cannot be written"
    return "" if not target.exists() or os.access(target, os.W_OK) else "the file there cannot be written"


def _of_a_suite(target: Path) -> str:
    root = find_suite(target)
    role = None if root is None else role_of(target.relative_to(root))
    return "" if root is None or role is None else f"the suite in {root.name} would read it as a file of its {role}"


def journal_of(save: Path) -> Path:
    """Return where the journal of a run stands that is saved at a path."""
    return save.with_name(f"{save.name}.journal")


def put_aside(save: Path) -> dict[Path, Path]:
    """Move away what stands at the place of a run file and of its journal, so that no later step reads a stale result.

    A complete run becomes ``PATH.previous``. One that was stopped never takes the place of a complete one: it becomes ``PATH.partial``.

    Returns:
        Where each file went.

    Raises:
        UsageError: a file cannot be moved, or another run writes there.
    """
    moved: dict[Path, Path] = {}
    target = Path(os.path.realpath(save))
    if Journal.is_being_written(journal_of(save)):
        raise UsageError(
            f"--mapsat-save={printable(str(save))}: another run that is under way writes there; give each run a file of its own"
        )
    if target.exists():
        kind = "partial" if is_complete_run(target) is False else "previous"
        moved[target] = _moved(target, save.with_name(f"{save.name}.{kind}"))
    moved |= put_journal_aside(journal_of(save))
    return moved


def put_journal_aside(journal: Path) -> dict[Path, Path]:
    """Move an earlier journal away. One of a run that did not end is never written over.

    Returns:
        Where it went.

    Raises:
        UsageError: it cannot be moved.
    """
    if not journal.exists() and not journal.is_symlink():
        return {}
    place, number = journal.with_name(f"{journal.name}.previous"), 2
    while place.exists() and not _has_ended(place):
        place, number = journal.with_name(f"{journal.name}.previous-{number}"), number + 1
    return {journal: _moved(journal, place)}


def _has_ended(journal: Path) -> bool:
    """Say whether a journal is one of a run whose file was put in place."""
    try:
        return is_journal(journal) and any("ended" in note for note in read_journal(journal).notes)
    except MapsatError:
        return False


def _moved(source: Path, target: Path) -> Path:
    try:
        return source.replace(target)
    except OSError as error:
        raise UsageError(f"{printable(str(source))} cannot be moved to {target.name}: {error.strerror}") from None


def looked_for(places: Iterable[Path], root: Path) -> str:
    """Say where a suite was looked for, as a user would type the places."""
    named = [os.path.relpath(place, root) for place in places]
    return ", ".join(dict.fromkeys(map(printable, named))) or "nowhere"


#: Options that may differ: they say how much is run or what is made of it, not what happens in an episode.
_FREE = fields_that_change("run") - {"shard"}  # what one part has finished is none of another

EpisodeKey = tuple[str, int, str]


class Finished:
    """The finished episodes of an earlier run: those that the infrastructure stopped are none, and are played again.

    Attributes:
        path: the file they were read from.
        request: what that run was asked for.
        suites: the suites that it was of.
        prompts: the marks of the prompts that its models were asked with.
    """

    def __init__(
        self,
        path: Path,
        request: RunRequest,
        suites: Sequence[SuiteInfo],
        cards: Mapping[EpisodeKey, list[Scorecard]],
        prompts: Mapping[str, str],
    ) -> None:
        self.path = path
        self.request = request
        self.suites = tuple(suites)
        self.prompts = prompts
        played = ((key, _without_stopped(attempts)) for key, attempts in cards.items())
        self._cards = {key: attempts for key, attempts in played if attempts}

    def card(self, case: str, trial: int, agent: str, attempt: int) -> Scorecard | None:
        """Return the scorecard of an episode that has finished, or None."""
        attempts = self._cards.get((case, trial, agent), [])
        return attempts[attempt - 1] if attempt <= len(attempts) else None

    def cards(self) -> Iterator[Scorecard]:
        """Yield all of them."""
        for attempts in self._cards.values():
            yield from attempts

    def refuse_other_request(self, request: RunRequest) -> None:
        """Check that a new run asks for the same.

        Raises:
            UsageError: it does not; with everything that differs.
        """
        before, now = _facts(self.request), _facts(request)
        differs = [
            f"{name}: it had {before[name]!r}, now {now[name]!r}" for name in before if before[name] != now[name]
        ]
        if self.request.options.trials > request.options.trials:
            differs.append(f"trials: it had {self.request.options.trials}, now only {request.options.trials}")
        if not _within(self.request.options, request.options):
            differs.append(f"sample: it had {_sample(self.request.options)}, now {_sample(request.options)}")
        prompts = prompts_of(request)
        differs += [
            f"the prompt {name}: it had {mark}, now {prompts[name]}"
            for name, mark in self.prompts.items()
            if prompts.get(name, mark) != mark
        ]
        self._refuse(differs)

    def refuse_other_suites(self, suites: Iterable[SuiteInfo]) -> None:
        """Check that suites are those of the earlier run.

        Raises:
            UsageError: one has changed since, or was no part of it.
        """
        if not self.suites:
            return  # it ended before it had collected any case
        before: dict[str, list[str]] = {}
        for info in self.suites:
            before.setdefault(info.name, []).append(_of_suite(info))
        self._refuse(
            f"the suite {info.name}: it had {' and '.join(before.get(info.name, ['no such suite']))}, now {_of_suite(info)}"
            for info in suites
            if _of_suite(info) not in before.get(info.name, [])
        )

    def _refuse(self, differs: Iterable[str]) -> None:
        if said := "\n".join(f"  {one}" for one in differs):
            raise UsageError(f"--mapsat-resume={shown_path(self.path)}: that run was another one\n{said}")


def _within(before: RunOptions, now: RunOptions) -> bool:
    """Say whether the cases of a run are among those of another: a smaller sample lies in a larger one, and each in the suite."""
    alike = (before.sample_by, before.sample_seed) == (now.sample_by, now.sample_seed)
    return not now.sample or (alike and 0 < before.sample <= now.sample)


def _sample(options: RunOptions) -> str:
    return f"{options.sample} cases {options.drawn}" if options.sample else "all cases"


def _of_suite(info: SuiteInfo) -> str:
    """Return in words what must be equal; labelled answers are read by no run."""
    decisions = f", decisions {info.decisions}" if info.decisions else ""
    return f"version {info.version}, fingerprint {info.fingerprint}{decisions}"


def _facts(request: RunRequest) -> dict[str, object]:
    """Return what must be equal, by the name a user knows it by."""
    options = request.options.model_dump(mode="json", by_alias=True)
    return {
        "agent": request.agent,
        "the source of the agent, its helpers and conftests": request.agent_source,
        "user": request.user,
        "judge": request.judge,
        "decisions": request.decisions,
        **{name.replace("_", "-"): value for name, value in options.items() if name not in _FREE},
    }


def read_finished(path: Path) -> Finished:
    """Read what an earlier run has finished, from its journal or its run file.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is neither, or broken; with the line.
    """
    if not is_journal(path):
        run = read_run(path)
        cards = _attempts(("", card) for card in run.cases)
        return Finished(path, run.manifest.request, run.manifest.suites, cards, run.manifest.prompts)
    journal = read_journal(path)
    request = journal_request(path, journal.request)
    suites = journal_suites(path, journal.notes)
    return Finished(path, request, suites, _attempts(journal.episodes), journal_prompts(journal.notes))


def read_saved(path: Path, *, keep: Callable[[Scorecard], Scorecard] | None = None) -> Run:
    """Read a run to be judged again: a run file, or a journal, which makes a run that is marked as unfinished.

    Args:
        path: where it is.
        keep: what is kept of each scorecard of a run file; None: all of it.

    Raises:
        UsageError: there is no such file.
        SuiteError: it is neither, or broken; with the line.
    """
    if not is_journal(path):
        return read_run(path, keep=keep)
    journal = read_journal(path)
    request = journal_request(path, journal.request)
    attempts = _attempts(journal.episodes)
    cards = [
        card.model_copy(update={"attempt": number})
        for key in sorted(attempts)
        for number, card in enumerate(attempts[key], 1)
    ]
    if not cards:
        raise SuiteError(Problem(shown_path(path), 0, "the journal holds no episode that has ended"))
    known = [note["collected"] for note in journal.notes if isinstance(note.get("collected"), int)]
    of = f" of {known[-1]}" if known else ""
    manifest = RunManifest(
        versions={},
        suites=journal_suites(path, journal.notes),
        agent=request.agent,
        agent_source=request.agent_source,
        user=request.user,
        judge=JudgeInfo(spec=request.judge),
        options=request.options,
        prompts=journal_prompts(journal.notes),
        unfinished=f"this is partial: a journal, with {len(attempts)}{of} episodes; --mapsat-resume runs the others",
    )
    return Run(manifest=manifest, cases=tuple(cards), summary={}, groups={}, gate=Gate(outcome="invalid"))


def journal_request(path: Path, data: object) -> RunRequest:
    """Return what a journal says that its run was asked for. Raises SuiteError."""
    try:
        return RunRequest.model_validate(data)
    except ValidationError as error:
        raise _broken(path, error) from None


def journal_suites(path: Path, notes: Iterable[Mapping[str, object]]) -> tuple[SuiteInfo, ...]:
    """Return the suites that a journal says its run was of. Raises SuiteError."""
    try:
        listed = [note["suites"] for note in notes if isinstance(note.get("suites"), list)]
        return tuple(SuiteInfo.model_validate(info) for info in (listed[-1] if listed else ()))  # type: ignore[attr-defined]
    except ValidationError as error:
        raise _broken(path, error) from None


def journal_prompts(notes: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Return the marks of the prompts that a journal says its run was asked with."""
    listed = [note["prompts"] for note in notes if isinstance(note.get("prompts"), dict)]
    return {str(name): str(mark) for name, mark in listed[-1].items()} if listed else {}  # type: ignore[attr-defined]


def _broken(path: Path, error: ValidationError) -> SuiteError:
    first = error.errors()[0]
    return SuiteError(Problem(shown_path(path), 0, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"))


def _without_stopped(attempts: Sequence[Scorecard]) -> list[Scorecard]:
    """Return the attempts of an episode up to the last that the infrastructure let end."""
    last = max((n for n, card in enumerate(attempts, 1) if card.trajectory.ending != "infrastructure_error"), default=0)
    return list(attempts[:last])


def _attempts(episodes: Iterable[tuple[str, Scorecard]]) -> dict[EpisodeKey, list[Scorecard]]:
    """Return the scorecards by case, trial and agent, attempts in order; of one that was copied the last counts."""
    found: dict[EpisodeKey, dict[tuple[int, str], Scorecard]] = {}
    for worker, card in episodes:
        found.setdefault((card.id, card.trial, card.agent), {})[card.attempt, worker] = card
    return {key: [some[place] for place in sorted(some)] for key, some in found.items()}


_OPTION = "--mapsat-compare"
_MOST_BASES = 2


def read_base(path: Path) -> Side:
    """Read a run to compare with.

    Raises:
        UsageError: there is no such file, or it is the journal of a run that did not end.
        SuiteError: it is no run file, or broken; with the line.
    """
    refuse_journal(path)
    return Side.of(read_run(path, keep=slim, dialogues=False))


def read_bases(paths: Sequence[Path]) -> tuple[Side, ...]:
    """Read the runs to compare with: the last green one, then an anchor.

    Raises:
        UsageError: there are more than two, one is given twice, or one cannot be used.
        SuiteError: one is no run file, or broken; with the line.
    """
    if len(paths) > _MOST_BASES:
        raise UsageError(f"{_OPTION}: found {len(paths)} runs, expected at most two: the last green run, and an anchor")
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError(f"{_OPTION}: {shown_path(paths[0])} is given twice")
    return tuple(map(read_base, paths))


def accept(new: Path, anchor: Path) -> None:
    """Make a run the anchor of later comparisons: written there without its dialogues and times, which nothing compared needs.

    Raises:
        UsageError: there is no such run, it did not end, or it is of a part of the suite.
        SuiteError: it is no run file, or broken.
    """
    refuse_journal(new)
    run = read_run(new, keep=without_turns, dialogues=False)
    options, lost = run.manifest.options, run.accounting.lost
    if partial := run.manifest.unfinished or (
        f"{len(lost)} episodes are lost"
        if lost
        else f"part of the suite ran ({', '.join(run.manifest.partial)})"
        if run.manifest.partial and not options.sample
        else ""
    ):
        raise UsageError(f"{shown_path(new)}: {partial}: only a whole run can be accepted")
    side = Side.of(run)
    cards = tuple(card.model_copy(update={"timing": EpisodeTiming()}) for card in side.cards)
    slim = {"cases": cards, "timing": RunTiming(), "comparison": None, "anchor": None}
    save_run(anchor, run.model_copy(update=slim))


def refuse_journal(path: Path) -> None:
    """Refuse the journal of a run that did not end.

    Raises:
        UsageError: it is one.
    """
    if is_journal(path):
        raise UsageError(
            f"{shown_path(path)}: this is the journal of a run that did not end: --mapsat-resume finishes it"
        )


def refuse_unlike(path: Path, base: Side, request: RunRequest, suites: Iterable[SuiteInfo] | None = None) -> None:
    """Check, before anything has run, that a run can be compared with an earlier one.

    Args:
        path: where the earlier run stands.
        base: the earlier run.
        request: what the new one is asked for.
        suites: the suites it is of; None while they are not known.

    Raises:
        UsageError: it cannot; with everything that differs.
    """
    manifest = RunManifest(
        versions={"pytest-mapsat": __version__},
        suites=base.manifest.suites if suites is None else tuple(suites),
        agent=request.agent,
        user=request.user,
        judge=JudgeInfo(spec=request.judge),
        decisions=request.decisions,
        options=request.options,
        prompts=prompts_of(request),
    )
    # The cases of the new run are not known yet: they are taken to be those of the base.
    like = likeness(base, replace(base, manifest=manifest, lost=()))
    if refusal := like.refusal(common=False):
        raise UsageError("\n".join(f"{_OPTION}={shown_path(path)}: {line}" for line in refusal))


def too_few_trials(path: Path, base: Side, trials: int) -> str:
    """Say that one trial of each case is too few, where the agent of the earlier run varied or one run has several trials and may show that it does.

    Args:
        path: where the earlier run stands.
        base: the earlier run.
        trials: trials of each case in the new one.

    Returns:
        What to say before anything runs; empty where trials suffice, or nothing shows that they do not.
    """
    several = max(card.trial for card in base.cards)
    if several == 1 < trials:
        return (
            f"{shown_path(path)} has 1 trial of each case and this run {trials}: where the agent varies, 1 is too few; "
            f"run the base again with --mapsat-trials={trials}"
        )
    ends: dict[str, set[object]] = {}
    for card in base.cards if trials == 1 else ():
        ends.setdefault(card.id, set()).add((card.outcome, *card.metrics.values()))
    flaky = [case for case, several in ends.items() if len(several) > 1]
    if not flaky:
        return ""
    return (
        f"one trial of each case is too few: in the earlier run trials of {flaky[0]} end differently; "
        f"--mapsat-trials={several} runs as many as it did"
    )


def comparisons_with(
    bases: Sequence[Side],
    manifest: RunManifest,
    cards: Sequence[Scorecard],
    lost: Sequence[Lost],
    *,
    metrics: Sequence[Metric],
    coverage: Coverage,
) -> tuple[Comparison, ...]:
    """Return a run held against each of some earlier ones; nothing where only a shard ran."""
    if coverage.shard:
        return ()
    options = manifest.options
    new = Side(manifest, cards, lost, partial=bool(options.sample) or not coverage.complete)
    return tuple(
        compare(
            base,
            new,
            drops_of(options, metrics),
            inconclusive=options.inconclusive,
            covers=coverage.covers,
        )
        for base in bases
    )
