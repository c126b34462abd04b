"""What a source of trajectories is. There are two kinds: an agent to talk to, and a recording of a talk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

from pytest_mapsat.model import Case
from pytest_mapsat.sandbox import Toolbox

from .context import AgentContext, Session
from .reply import Reply

if TYPE_CHECKING:
    from .recorded import RecordedSource

#: How a model is asked that is the agent.
ModelKind = Literal["react", "plan"]
MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)


class Conversation(Protocol):
    """An agent in one episode."""

    def reply(self, message: str) -> Reply:
        """Return the agent's answer to the user's message.

        Raises:
            AgentFault: the agent raised, or returned something that is no reply.
            InfrastructureError: the case does not let this source play it.
        """
        ...

    def fill(self, message: str) -> Reply | None:
        """Return the agent's answer to a message that asks for a form; None where there is nobody to fill one in.

        Raises:
            AgentFault: as of ``reply``.
        """
        ...

    def cancel(self) -> None:
        """Stop waiting for the reply that another thread waits for. Best effort; called when the time is over."""
        ...

    def close(self) -> None:
        """Give back what the agent holds; called once its episode is over."""
        ...


class AgentSource(Protocol):
    """Something that can be talked to.

    Attributes:
        kind: always ``agent``.
        name: what stands in ``Trajectory.source``: ``agent``, ``oracle``, ``silent``, ``constant``.
        spec: the text it was resolved from.
        agent: the object itself.
        shared: whether all episodes talk to the one object.
        waits: whether its replies mostly wait, for a model or in an event loop, so that many episodes may be under way unless the user says otherwise.
    """

    @property
    def kind(self) -> Literal["agent"]: ...  # noqa: D102  # described above
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def spec(self) -> str: ...  # noqa: D102
    @property
    def agent(self) -> object: ...  # noqa: D102
    @property
    def shared(self) -> bool: ...  # noqa: D102
    @property
    def waits(self) -> bool: ...  # noqa: D102

    def open(self, case: Case, toolbox: Toolbox, context: Callable[[], AgentContext], session: Session) -> Conversation:
        """Return the agent for one episode.

        Args:
            case: for the sources that play a case by heart; an agent never gets it.
            toolbox: the tools to hand on.
            context: makes the context, anew for each turn.
            session: the session to hand on.
        """
        ...


Source: TypeAlias = "AgentSource | RecordedSource"
