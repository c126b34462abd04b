"""What suites say of options that nobody else has named: the item's assertion, the limits of an episode, the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_mapsat.formats import shown_path
from pytest_mapsat.model import Problem, SuiteError, UsageError
from pytest_mapsat.suite import Suite

from .settings import Settings

#: Option -> field of a run's request or of its options, and the key of the manifest that says it.
_FIELDS = {
    "assert": ("asserted", "assert"),
    "max-turns": ("max_turns", "episode"),
    "timeout": ("timeout_seconds", "episode"),
    "user": ("user", "episode"),
}


def with_suites(settings: Settings, suites: Iterable[Suite]) -> Settings:
    """Return the settings with what the suites of the run say of options that nobody named.

    Raises:
        UsageError: two suites say different things.
    """
    said: dict[str, tuple[object, Suite]] = {}
    for suite in suites:
        for option, value in _says(suite, settings).items():
            other, by = said.setdefault(option, (value, suite))
            if other != value:
                names = f"{by.manifest.name} says {_shown(other)} and {suite.manifest.name} {_shown(value)}"
                raise UsageError(f"--mapsat-{option}: the suites differ, {names}: give the option")
    changes = {_FIELDS[option][0]: value for option, (value, _) in said.items()}
    user = changes.pop("user", settings.request.user)
    return settings.with_options(**changes).with_user(str(user))


def refuse_other_defaults(settings: Settings, suite: Suite) -> None:
    """Check that a suite that is met while cases are collected says nothing else than what the run has begun with.

    Raises:
        SuiteError: it does; with the manifest's line.
    """
    for option, value in _says(suite, settings).items():
        field, key = _FIELDS[option]
        request = settings.request
        now = getattr(request if field == "user" else request.options, field)
        if value != now:
            path, line = suite.manifest_place(key)
            message = f"{key}: it says {_shown(value)} for {option}, and this run has begun with {_shown(now)}"
            raise SuiteError(
                Problem(
                    shown_path(path), line, message, f"name the suite with --mapsat-cases, or give --mapsat-{option}"
                )
            )


def _says(suite: Suite, settings: Settings) -> Mapping[str, object]:
    manifest = suite.manifest
    episode = manifest.episode
    said = {
        "assert": manifest.asserted,
        "max-turns": episode.max_turns,
        "timeout": episode.timeout,
        "user": episode.user,
    }
    return {option: value for option, value in said.items() if value is not None and option in settings.unsaid}


def _shown(value: object) -> str:
    return (
        ",".join(map(str, value))
        if isinstance(value, tuple)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
