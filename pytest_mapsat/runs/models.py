"""The models of a run: whether any is asked, and what ends an episode that may ask no more."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_mapsat.agents import MODEL_KINDS
from pytest_mapsat.judges import asks_model
from pytest_mapsat.llm import ceilings_met
from pytest_mapsat.model import MapsatError, RunRequest

if TYPE_CHECKING:
    from pytest_mapsat.llm import Limits, LiteLLMClient, Mode


class CeilingReachedError(MapsatError):
    """An episode needs more of the models than the run may spend. It has no scorecard; a later run can take it up."""


@contextmanager
def within_ceilings() -> Iterator[None]:
    """Let a part of an episode ask models.

    Raises:
        CeilingReachedError: it asked for more than the run may spend; at the end of the block, if that comes to one.
    """
    with ceilings_met() as met:
        yield
    if met:
        raise CeilingReachedError(met[-1])


def asks_models(request: RunRequest) -> bool:
    """Return whether anything in a run is a model: the agent, the user, the judge, or what answers calls without a record."""
    simulated = request.options.on_miss.startswith("simulate:")
    return (
        simulated
        or request.agent.partition(":")[0] in MODEL_KINDS
        or request.user.partition(":")[0] in ("llm", "scripted+llm")
        or asks_model(request.judge)
    )


def prompts_of(request: RunRequest, judged: Collection[str] = ()) -> dict[str, str]:
    """Return the versions and digests of the prompts that a run's models are asked with, by ``language/name``.

    Args:
        request: what the run is asked for.
        judged: kinds of labels that a model gave: those beside the factors have prompts of their own.
    """
    if not asks_models(request) and not request.options.form:
        return {}
    from pytest_mapsat.agents import AGENT_PROMPTS, FORM_PROMPT  # noqa: PLC0415 (rooms of models: where there are some)
    from pytest_mapsat.llm import marks  # noqa: PLC0415 (likewise)
    from pytest_mapsat.users import USER_PROMPTS  # noqa: PLC0415 (likewise)

    names = [name for kind, used in AGENT_PROMPTS.items() if request.agent.partition(":")[0] == kind for name in used]
    names += USER_PROMPTS.get(request.user.partition(":")[0], ())
    names += [FORM_PROMPT] if request.options.form else []
    if asks_model(request.judge):
        from pytest_mapsat.judges import BESIDE_PROMPTS, PROMPTS  # noqa: PLC0415 (likewise)

        names += PROMPTS
        names += (name for kind, name in BESIDE_PROMPTS.items() if kind in judged)
    if request.options.on_miss.startswith("simulate:"):
        from pytest_mapsat.recording import SIMULATION_PROMPTS  # noqa: PLC0415 (likewise)

        names += SIMULATION_PROMPTS
    return marks(*names)


def door_for(mode: Mode, limits: Limits | None = None, *, run: str = "") -> LiteLLMClient:
    """Return the door for a run that asks models; what it needs and is not installed is told before anything runs.

    Args:
        mode: what kept answers are used for.
        limits: what the run may ask.
        run: names the run, for all its processes.

    Raises:
        UsageError: the extra ``llm`` is not installed.
        StoreError: the cache cannot be used.
    """
    from pytest_mapsat.llm import open_door  # noqa: PLC0415 (likewise)
    from pytest_mapsat.store import missing  # noqa: PLC0415 (likewise)

    if mode != "only" and importlib.util.find_spec("litellm") is None:
        raise missing("litellm", "asking a model")
    return open_door(mode, limits, run=run)
