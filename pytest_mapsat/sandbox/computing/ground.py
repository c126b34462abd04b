"""What every computed answer of a case rests on: its tables, its time, and which row a value means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pytest_mapsat.model import Context, Json, JsonObject, Overlay, Reference, did_you_mean, shown
from pytest_mapsat.sandbox.canonical import Point, number, point
from pytest_mapsat.sandbox.spec import UnanswerableError
from pytest_mapsat.sandbox.tables import Part, Table, View
from pytest_mapsat.sandbox.text import normalise

from .points import PointIndex
from .search import Columns, Hit, Scope, SearchIndex
from .wording import Wordbook

_NO_WORDS = Table("", ())
#: Characters of a text that is looked up; no sensible one is longer, and time grows with it.
_LONGEST = 300


class Place(NamedTuple):
    """A row that a value means, or a point without one."""

    id: str
    point: Point | None
    row: JsonObject


Found = tuple[Part, Hit]
#: Whether a row, by its place in a part of a table, is left.
Keep = Callable[[Part, int], bool]


class Ground:
    """The tables of one case.

    Args:
        tables: the suite's tables.
        overlays: what is laid over them for this case, first to last.
        context: the case's own time, town and user.
    """

    def __init__(self, tables: Mapping[str, Table], overlays: tuple[Overlay, ...], context: Context) -> None:
        self.now = context.now
        self.context = context
        self._tables = tables
        self._overlays = overlays
        self._views: dict[str, View] = {}

    @property
    def minute(self) -> int | None:
        """The case's own time of day, minutes after midnight; None for a case that stands at no time."""
        if self.now is None:
            return None
        hour, minute = self.now[11:16].split(":")
        return 60 * int(hour) + int(minute)

    def view(self, name: str) -> View:
        """Return a table as the case sees it."""
        if name not in self._views:
            laid_on = [overlay for overlay in self._overlays if overlay.table == name]
            self._views[name] = View(self._tables[name], laid_on)
        return self._views[name]

    def wordbook(self, name: str | None) -> Wordbook:
        """Return the declared words of a table, the suite's for all cases; none where none is named."""
        table = self._tables[name] if name else _NO_WORDS
        return table.index("wordbook", Wordbook)

    def search_index(self, part: Part, columns: Columns, words: str | None) -> SearchIndex:
        """Return what is searched of some rows."""
        book = self.wordbook(words)
        return part.table.index((columns, words), lambda rows: SearchIndex(rows, columns, book))

    def places(self, value: Json, reference: Reference) -> list[Place]:
        """Return the rows that a value means: by id, else by point or as the place of the user, else by name; a point without a row stands for itself."""
        view = self.view(reference.table)
        if isinstance(value, str) and (found := self._by_id(view, reference, value.strip())):
            return found
        spot = self._here(value, reference) or point(value)
        if spot is not None:
            return self._by_point(view, reference, spot)
        if isinstance(value, str) and reference.name:
            return self._by_name(view, reference, value)
        return []

    def _here(self, value: Json, reference: Reference) -> Point | None:
        """Return where the user is, where a value says just that."""
        location = self.context.location
        if location is None or not isinstance(value, str):
            return None
        names = {normalise(word) for word in (location.name, *reference.here) if word}
        return (location.lon, location.lat) if normalise(value) in names else None

    def _by_id(self, view: View, reference: Reference, value: str) -> list[Place]:
        for part in view.parts:
            at = part.table.index(("by id", reference.id), lambda rows: _by_id(rows, reference.id)).get(value)
            if at is not None and at not in part.gone:
                return [_place(part.table.rows[at], reference)]
        return []

    def _by_point(self, view: View, reference: Reference, spot: Point) -> list[Place]:
        if reference.lon is None or reference.lat is None:
            return []
        lon, lat = reference.lon, reference.lat
        found = [
            (apart, part.order[at], part.table.rows[at])
            for part in view.parts
            for apart, at in point_index(part.table, lon, lat).within(spot, reference.within_m)
            if at not in part.gone
        ]
        nearest = min(found, key=lambda one: one[:2], default=None)
        return [Place("", spot, {}) if nearest is None else _place(nearest[2], reference)._replace(point=spot)]

    def _by_name(self, view: View, reference: Reference, value: str) -> list[Place]:
        columns = Columns(reference.name, reference.sort, lon=reference.lon, lat=reference.lat)
        hits = self.find(view, columns, reference.words, value, self._near_user(reference))
        best = min((hit.rank for _, hit in hits), default=0)
        return [_place(part.table.rows[hit.row], reference) for part, hit in hits if hit.rank == best]

    def _near_user(self, reference: Reference) -> Keep | None:
        location, metres = self.context.location, reference.near_m
        if location is None or metres is None or reference.lon is None or reference.lat is None:
            return None
        lon, lat = reference.lon, reference.lat
        return lambda part, at: point_index(part.table, lon, lat).holds(at, (location.lon, location.lat), metres)

    def find(self, view: View, columns: Columns, words: str | None, text: str, keep: Keep | None = None) -> list[Found]:
        """Return the rows of a view that a text means, in the order in which they fit it.

        Args:
            view: the table as the case sees it.
            columns: which of its columns are searched.
            words: the table of declared words.
            text: what was asked.
            keep: whether the rest of the call leaves a row; None: it leaves all.
        """
        if len(text) > _LONGEST:
            raise UnanswerableError(f"a text of {len(text)} characters is too long to be looked up; at most {_LONGEST}")
        found = self._hits(view, columns, words, text, keep)
        respelt = "" if found else self.wordbook(words).respelt(text)
        if respelt:
            found = self._hits(view, columns, words, respelt, keep)
        least = min((hit.step for _, hit in found), default=0)
        found = [(part, hit) for part, hit in found if hit.step == least]
        return sorted(found, key=lambda one: (one[1].rank, one[0].order[one[1].row]))

    def _hits(self, view: View, columns: Columns, words: str | None, text: str, keep: Keep | None) -> list[Found]:
        indexes = ((part, self.search_index(part, columns, words)) for part in view.parts)
        return [(part, hit) for part, index in indexes for hit in index.find(text, part.gone, _scope(part, keep))]

    def unknown(self, value: Json, reference: Reference) -> UnanswerableError:
        """Return what tells that a value means no row."""
        ids = [str(row[reference.id]) for row in self.view(reference.table).rows() if reference.id in row]
        hint = did_you_mean(value, ids) if isinstance(value, str) else ""
        return UnanswerableError(f"nothing is known as {shown(value)}{f' ({hint})' if hint else ''}")


def _scope(part: Part, keep: Keep | None) -> Scope:
    if keep is None:
        return lambda at: at not in part.gone
    return lambda at: at not in part.gone and keep(part, at)


def _by_id(rows: Sequence[JsonObject], column: str) -> Mapping[str, int]:
    """Return where the row of each id stands; of several with one id, the first."""
    return {str(rows[at][column]): at for at in reversed(range(len(rows))) if column in rows[at]}


def _place(row: JsonObject, reference: Reference) -> Place:
    at = _point(row, reference.lon, reference.lat) if reference.lon and reference.lat else None
    return Place(str(row.get(reference.id, "")), at, row)


def point_index(table: Table, lon: str, lat: str) -> PointIndex:
    """Return the points of a table's rows, made ready once."""
    return table.index(("points", lon, lat), lambda rows: PointIndex([_point(row, lon, lat) for row in rows]))


def _point(row: JsonObject, lon: str, lat: str) -> Point | None:
    east, north = number(row.get(lon)), number(row.get(lat))
    return None if east is None or north is None else (east, north)


def place_of(ground: Ground, value: Json, reference: Reference, name: str) -> tuple[Place, Point]:
    """Return the one place that a value means, with its point. Raises UnanswerableError where it means none, or several."""
    places = [place for place in ground.places(value, reference) if place.point is not None]
    if not places:
        raise ground.unknown(value, reference)
    if len(places) > 1:
        ids = ", ".join(place.id for place in places[:5])
        raise UnanswerableError(f"{name} is {shown(value)}, which is the name of several: {ids}; give an id or a point")
    place = places[0]
    if place.point is None:
        raise ground.unknown(value, reference)
    return place, place.point
