"""An earlier run, from its run file or its journal: to go on from, or to be judged again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from pytest_mapsat.formats import is_journal, read_journal, read_run, shown_path
from pytest_mapsat.model import (
    Gate,
    JudgeInfo,
    Problem,
    Run,
    RunManifest,
    RunOptions,
    RunRequest,
    Scorecard,
    SuiteError,
    SuiteInfo,
    UsageError,
)

from .models import prompts_of

#: Options that may differ: they say how much is run or what is made of it, not what happens in an episode.
_FREE = {
    *("sample", "sample_by", "sample_seed", "trials", "pass_rule", "allow_lost", "allow_undecided"),
    *("fail_under", "fail_under_from", "compare_fail", "compare_fail_from", "compare_on", "inconclusive"),
}

Key = tuple[str, int, str]


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
        cards: Mapping[Key, list[Scorecard]],
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


def _attempts(episodes: Iterable[tuple[str, Scorecard]]) -> dict[Key, list[Scorecard]]:
    """Return the scorecards by case, trial and agent, attempts in order; of one that was copied the last counts."""
    found: dict[Key, dict[tuple[int, str], Scorecard]] = {}
    for worker, card in episodes:
        found.setdefault((card.id, card.trial, card.agent), {})[card.attempt, worker] = card
    return {key: [some[place] for place in sorted(some)] for key, some in found.items()}
