"""The memory of agents from task to task of a user: the interactions that it keeps, and the text that it gives for a task.

Source: VitaBench 2.0, section 3.2 (UPDATE and RETRIEVE, equations 3, 7 and 8) and appendix C.2.4 (the figures).
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from pytest_mapsat.llm import ModelClient, Request, named_model, prompt
from pytest_mapsat.model import InfrastructureError, JsonObject, Usage, UsageError, hint_at, shown
from pytest_mapsat.reply import Reply

from .resolve import load
from .returned import AgentFault, as_json, checked, described

if TYPE_CHECKING:
    import numpy as np

#: The figures of C.2.4, in tokens of ``token_ends``; the least cosine of an embedded chunk.
FULL_TOKENS, REWRITE_TOKENS, CHUNK_TOKENS = 102_400, 4_096, 512
TOP_CHUNKS, LEAST_COSINE = 8, 0.3
#: The prompt of each kind that asks a model in words, for the manifest.
MEMORY_PROMPTS = {"agentic": ("remember",)}
#: What every memory can do.
MEMORY_METHODS = ("reset", "update", "retrieve")
_KINDS = ("none", "full", "truth", "agentic", "rag")
_EXPECTED = "none, full, truth, rag, rag:MODEL, agentic:MODEL or module:attr"
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
#: A character of Chinese, Japanese or Korean, up to four letters or digits of anything else, or a sign.
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]{{1,4}}|[^\w\s]")
_TERM = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")


class Memory(Protocol):
    """The memory of one user in one trial. Its optional ``tools`` are functions that the agent can call besides the suite's tools."""

    def reset(self) -> object:
        """Forget everything. Called once, before the first ``update``."""
        ...

    def update(self, interactions: Sequence[JsonObject]) -> object:
        """Store the events since the previous task. A returned ``Reply`` may give the cost as ``usage``; any other return value is ignored.

        Args:
            interactions: in order of their dates: ``date``; ``behavior``, a list of ``type`` and ``content``; ``dialogue``, a list of ``role``
                (``user`` or ``assistant``) and ``content``. Never empty.
        """
        ...

    def retrieve(self, query: str) -> str | Reply:
        """Return the memory's text for a task, or a ``Reply`` that also gives the cost as ``usage``.

        Args:
            query: the words that the user begins the task with.
        """
        ...


@dataclass(frozen=True)
class MemorySource:
    """A factory of memories, and the spec that names it.

    Attributes:
        spec: as the user wrote it.
        make: makes the memory of one user for a trial, counted from 1; None for ``truth``, which is that of each case.
        own: whether it is the user's own code. What goes wrong in it is then the agent's fault.
    """

    spec: str
    make: Callable[[int], Memory] | None
    own: bool = False


def open_memory(spec: str, *, root: Path, client: ModelClient | None = None) -> MemorySource | None:
    """Return the source that a spec names; None for ``none``.

    Args:
        spec: the value of ``--mapsat-agent-memory``.
        root: the folder that modules are looked for in first.
        client: the way to models; None while specs are only checked.

    Raises:
        UsageError: the spec cannot be used.
    """
    kind, _, rest = spec.strip().partition(":")
    option = f"--mapsat-agent-memory={spec}"
    if spec in ("none", "truth"):
        return None if spec == "none" else MemorySource(spec, None)
    if spec == "rag" and find_spec("bm25s") is None:
        raise UsageError(f"{option}: it ranks with bm25s: pip install 'pytest-mapsat[memory]'")
    if spec in ("full", "rag"):
        kind_of_memory = FullMemory if spec == "full" else ChunkMemory
        return MemorySource(spec, lambda _: kind_of_memory())
    if kind in ("agentic", "rag"):
        door, (model, parameters) = cast("ModelClient", client), named_model(rest, option)
        if kind == "rag" and parameters:
            raise UsageError(f"{option}: an embedding has no sampling parameters")
        if kind == "rag":
            return MemorySource(spec, lambda _: EmbeddedMemory(door, model))
        return MemorySource(spec, lambda trial: AgenticMemory(door, model, parameters, trial))
    if kind in _KINDS or ":" not in spec:
        raise UsageError(f"{option}: found {spec!r}, expected {_EXPECTED}{hint_at(kind, _KINDS)}")
    return _own_source(load(spec, root=root, what="memory"), spec)


def _own_source(target: object, spec: str) -> MemorySource:
    """Return the source for a memory class or function of the user's own."""
    option = f"--mapsat-agent-memory={spec}"
    if not (inspect.isclass(target) or inspect.isroutine(target)):
        what = f"found an object of type {type(target).__name__}, which all users would share"
        raise UsageError(f"{option}: {what}; expected a class, or a function that makes a memory")
    lacking = [name for name in MEMORY_METHODS if not callable(getattr(target, name, None))]
    if inspect.isclass(target) and lacking:
        raise UsageError(
            f"{option}: the class {target.__name__} has no {lacking[0]}(); expected {', '.join(MEMORY_METHODS)}"
        )
    make = cast("Callable[[], Memory]", target)
    return MemorySource(spec, lambda _: make(), own=True)


def recollection(value: object) -> Reply:
    """Return the result of a memory's ``retrieve`` as a Reply. Raises AgentFault if it is not text."""
    if not isinstance(value, str | Reply):
        raise AgentFault(f"retrieve() of the memory returned {shown(as_json(value))}; expected a text")
    return checked(value)


def spent_on(value: object) -> Usage:
    """Return the usage of a Reply; an empty usage for any other value.

    Raises:
        AgentFault: the usage has another form, or the value waits to be awaited: the memory has taken nothing in.
    """
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise AgentFault("update() of the memory is asynchronous, and nothing awaits it; expected a plain function")
    usage = checked(value).usage if isinstance(value, Reply) else None
    return Usage.model_validate(usage) if usage else Usage()


def memory_fault(error: BaseException) -> AgentFault:
    """Return the fault for an error in the user's own memory. The agent is to blame unless a service of the memory is unreachable."""
    fault = described(error)
    return AgentFault(f"the agent's memory: {fault.message}", fault.detail, fault.blame)


# -- text and tokens ----------------------------------------------------------------------------------------------------


def lines_of(interactions: Iterable[JsonObject]) -> Iterator[str]:
    """Yield the events as lines that begin with a date: ``2026-05-02 order: two oat lattes``, ``2026-05-02 user: no milk, please``."""
    for interaction in interactions:
        events = [(act["type"] or "behavior", act["content"]) for act in interaction.get("behavior", ())]
        events += [(message["role"], message["content"]) for message in interaction.get("dialogue", ())]
        yield from (f"{interaction['date']} {source}: {' '.join(content.split())}" for source, content in events)


def token_ends(text: str) -> list[int]:
    """Return the end position of each token of a text, in characters.

    Counted without a model: a token is a character of Chinese, Japanese or Korean, up to four letters or digits of other scripts, or a sign. Blanks do not count.
    """
    return [match.end() for match in _TOKEN.finditer(text)]


def latest(lines: Sequence[str], most: int) -> list[str]:
    """Return the last lines that together have at most ``most`` tokens; if the last line is longer, return its end."""
    newest_first: list[str] = []
    for line in reversed(lines):
        ends = token_ends(line)
        if len(ends) > most:
            return newest_first[::-1] or [line[ends[-most - 1] :].lstrip()]
        most -= len(ends)
        newest_first.append(line)
    return newest_first[::-1]


def chunks_of(text: str, size: int = CHUNK_TOKENS) -> list[str]:
    """Return a text cut into pieces of ``size`` tokens without overlap; the last piece may be shorter."""
    cuts = [0, *token_ends(text)[size - 1 :: size], len(text)]
    pieces = (text[start:end].strip() for start, end in pairwise(cuts))
    return [piece for piece in pieces if piece]


# -- the kinds ------------------------------------------------------------------------------------------------------------


class _FreshMemory:
    """A built-in memory, created for one user in one trial."""

    def reset(self) -> None:
        """Do nothing: a new memory has nothing to forget."""


class FullMemory(_FreshMemory):
    """Every interaction, word for word, up to the latest 102,400 tokens."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def update(self, interactions: Sequence[JsonObject]) -> None:
        """Add the lines of the events."""
        self._lines = latest([*self._lines, *lines_of(interactions)], FULL_TOKENS)

    def retrieve(self, query: str) -> str:
        """Return all lines, for any query."""
        del query
        return "\n".join(self._lines)


@dataclass
class AgenticMemory(_FreshMemory):
    """A summary that a model rewrites at each update."""

    _client: ModelClient
    _model: str
    _parameters: JsonObject
    _trial: int
    _text: str = ""

    def update(self, interactions: Sequence[JsonObject]) -> Reply:
        """Have the model merge the events into the summary; cut the summary after 4,096 tokens."""
        news = "\n".join(lines_of(interactions))
        # The language follows the interactions, not the task, so that rebuilding the memory asks the same again.
        words = prompt("remember", "zh" if re.search(f"[{_CJK}]", news) else "en").fill(
            memory=self._text or "-", interactions=news, tokens=f"{REWRITE_TOKENS:,}"
        )
        asked, parameters = ({"role": "user", "content": words},), self._parameters
        answer = self._client.ask(
            Request(model=self._model, messages=asked, parameters=parameters, trial=self._trial, purpose="agent")
        )
        ends = token_ends(answer.text)
        self._text = answer.text[: ends[REWRITE_TOKENS - 1]] if len(ends) > REWRITE_TOKENS else answer.text.strip()
        return Reply("", usage=answer.usage.model_dump())

    def retrieve(self, query: str) -> str:
        """Return the summary, for any query."""
        del query
        return self._text


class ChunkMemory(_FreshMemory):
    """Chunks of 512 tokens; a task gets the eight best by BM25, over words, or over pairs of characters in scripts without blanks."""

    def __init__(self) -> None:
        self.chunks: list[str] = []

    def update(self, interactions: Sequence[JsonObject]) -> Reply:
        """Cut the events into chunks and index them."""
        chunks = chunks_of("\n".join(lines_of(interactions)))
        self.chunks += chunks
        return Reply("", usage=self.index(chunks).model_dump())

    def retrieve(self, query: str) -> Reply:
        """Return the eight best chunks for a query, with the cost of ranking them."""
        best, spent = self.ranked(query) if self.chunks else ([], Usage())
        return Reply("\n".join(self.chunks[number] for number in best[:TOP_CHUNKS]), usage=spent.model_dump())

    def index(self, chunks: Sequence[str]) -> Usage:
        """Index new chunks, and return the cost of indexing."""
        del chunks
        return Usage()

    def ranked(self, query: str) -> tuple[list[int], Usage]:
        """Return the numbers of the chunks that share a word with a query, best first, and the cost of ranking."""
        from bm25s import BM25  # noqa: PLC0415  0.1 s, for this kind alone

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # otherwise it logs every index
        words = [list(_terms(chunk)) for chunk in self.chunks]
        vocabulary = {term for terms in words for term in terms}
        query_terms = [term for term in dict.fromkeys(_terms(query)) if term in vocabulary]
        if not query_terms:
            return [], Usage()
        index = BM25()
        index.index(words, show_progress=False)
        # Rounded, so that the order of summing does not decide between equal chunks.
        scores = [round(float(score), 5) for score in index.get_scores(query_terms)]
        sharing = [number for number, terms in enumerate(words) if not set(query_terms).isdisjoint(terms)]
        return sorted(sharing, key=lambda number: (-scores[number], number)), Usage()


def _terms(text: str) -> Iterator[str]:
    """Yield the search terms of a text: words, and pairs of characters in Chinese, Japanese and Korean."""
    for run in _TERM.findall(text.casefold()):
        if re.match(f"[{_CJK}]", run) and len(run) > 1:
            yield from (run[at : at + 2] for at in range(len(run) - 1))
        else:
            yield run


class EmbeddedMemory(ChunkMemory):
    """Chunks of 512 tokens; a task gets the eight best by the cosines of their embeddings, none below 0.3."""

    def __init__(self, client: ModelClient, model: str) -> None:
        super().__init__()
        self._client = client
        self._model = model
        self._vectors: list[np.ndarray] = []

    def index(self, chunks: Sequence[str]) -> Usage:
        """Embed new chunks in one request, keep their vectors, and return the cost."""
        vectors, usage = self._embedded(chunks)
        self._vectors += vectors
        return usage

    def ranked(self, query: str) -> tuple[list[int], Usage]:
        """Return the numbers of the chunks with embeddings near the query's, best first, and the cost."""
        (query_vector,), usage = self._embedded([query])
        cosines = [round(float(vector @ query_vector), 6) for vector in self._vectors]
        near = [number for number, cosine in enumerate(cosines) if cosine >= LEAST_COSINE]
        return sorted(near, key=lambda number: (-cosines[number], number)), usage

    def _embedded(self, texts: Sequence[str]) -> tuple[list[np.ndarray], Usage]:
        """Return the embeddings of texts, each of length 1, and the usage. Raises InfrastructureError if sizes differ."""
        import numpy as np  # noqa: PLC0415  for this kind alone

        messages = tuple({"role": "user", "content": text} for text in texts)
        answer = self._client.ask(Request(model=self._model, messages=messages, embeds=True, purpose="agent"))
        arrays = [np.asarray(vector, dtype=float) for vector in (answer.data or {})["embeddings"]]
        if len({array.shape for array in [*self._vectors, *arrays]}) > 1:
            raise InfrastructureError(f"{self._model} gave embeddings of different lengths")
        return [array / (float(np.linalg.norm(array)) or 1.0) for array in arrays], answer.usage
