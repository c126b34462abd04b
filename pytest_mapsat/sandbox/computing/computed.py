"""Tools whose answers are computed from the tables of their suite."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mapsat.model import Context, Json, JsonObject, Overlay, RoundAnswer, RoutesAnswer, RowsAnswer, Tool
from pytest_mapsat.sandbox.spec import Call, Spec
from pytest_mapsat.sandbox.tables import Table

from .ground import Ground
from .routes import Router, round_trip
from .rows import RowsCall


class Computed:
    """The computed answers of one case.

    Args:
        tools: the suite's tools by name.
        tables: the suite's tables.
        overlays: what is laid over them for this case, first to last.
        context: the case's own time, town and user.
    """

    def __init__(
        self, tools: Mapping[str, Tool], tables: Mapping[str, Table], overlays: tuple[Overlay, ...], context: Context
    ) -> None:
        self._tools = tools
        self._ground = Ground(tables, overlays, context)
        self._routers: dict[str, Router] = {}

    def result(self, spec: Spec, call: Call) -> tuple[Json, str]:
        """Return the result of a call of a tool that says how its answers are computed, and what of the call it leaves out.

        Raises:
            UnanswerableError: the call means nothing that is known; the message says what.
        """
        answer = spec.tool.answer
        if isinstance(answer, RowsAnswer):
            rows = RowsCall(self._ground, answer, spec, call, self._quickest)
            return rows.result(), rows.note
        if isinstance(answer, RoutesAnswer):
            return self._router(spec.tool.name).answer(spec, call), ""
        if isinstance(answer, RoundAnswer):
            return round_trip(self._ground, self._router(answer.routes), answer, spec, call), ""
        raise ValueError(f"the tool {spec.tool.name} does not say how its answers are computed")

    def _router(self, name: str) -> Router:
        if name not in self._routers:
            answer = self._tools[name].answer
            if not isinstance(answer, RoutesAnswer):
                raise ValueError(f"the tool {name} does not answer with routes")
            self._routers[name] = Router(self._ground, answer)
        return self._routers[name]

    def _quickest(self, tool: str, origin: Json, destination: Json, mode: str) -> JsonObject | None:
        router = self._router(tool)
        ends = router.end(origin, "origin"), router.end(destination, "destination")
        return router.between(*ends, mode)[0]
