"""Services with endpoints for tests: one returns the tables, one resets them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from ipaddress import ip_address
from time import monotonic
from urllib.parse import urlsplit

from pytest_mapsat.agents.service_file import filled, placeholders
from pytest_mapsat.formats import limits, parse_json, redacted
from pytest_mapsat.model import Case, InfrastructureError, UsageError, shown
from pytest_mapsat.secrets import name_secrets

from .world import EpisodeSession, Names, SeenTable, seen

#: Bytes of one answer, unpacked, and how long it may take, seconds.
_MOST_BYTES, _MOST_SECONDS = 64 * limits.MIB, 60.0
_CONNECT = 10.0
_PIECE = 64 * 1024
_HEADERS = {"User-Agent": "pytest-mapsat", "Accept": "application/json", "Accept-Encoding": "gzip"}
_EXCERPT = 200
_REQUEST = re.compile(r"(?:(GET|POST|PUT|DELETE) +)?(\S+)")


class HttpEnvironment:
    """A service with test endpoints that return its tables and reset them.

    Args:
        state: what is asked for the tables, as ``GET http://127.0.0.1:8000/test/state``: JSON, a list of rows by table, or rows by their ids by table.
        reset: what is asked before each episode, as ``POST http://127.0.0.1:8000/test/reset``; empty: nothing.
        headers: of both, with ``${VARIABLE}`` of the environment, as addresses may have it.
        keys: by table the columns that tell rows apart, where it is not ``id``.
        ignore, hide: columns that do not count, or that count and reach no file: ``table.column``, or ``column`` for all tables.
        hosts: names of other machines that it may be on.
        settle: seconds between two readings that must be equal before the end is read.
        parallel: whether episodes do not see each other.

    Raises:
        UsageError: an address cannot be used, or is on another machine, or a variable is missing.
    """

    def __init__(
        self,
        *,
        state: str,
        reset: str = "",
        headers: Mapping[str, str] | None = None,
        keys: Mapping[str, str | Sequence[str]] | None = None,
        ignore: Iterable[str] = (),
        hide: Iterable[str] = (),
        hosts: Iterable[str] = (),
        settle: float = 0.1,
        parallel: bool = False,
    ) -> None:
        given = [state, reset, {**(headers or {})}]
        for _, name, variable in placeholders(given):
            if not variable or name not in os.environ:
                why = (
                    f"the environment has no variable {name}" if variable else f"found ${name}, expected ${{VARIABLE}}"
                )
                raise UsageError(f"environment: {why}")
            name_secrets([name])
        state, reset, self._headers = filled(given, {})
        self._hosts, self._keys, self._ignore, self._hide = {*hosts}, keys or {}, Names(ignore), Names(hide)
        self._state, self._reset = self._request("state", state), self._request("reset", reset) if reset else None
        self.settle, self.parallel, self.same_start = settle, parallel, bool(reset)
        #: What no two runs may act on at once.
        self.name = self._state[1].partition("?")[0]
        self.shown = redacted(self.name)

    def _request(self, what: str, text: str) -> tuple[str, str]:
        """Return the method and the address in a setting. Raises UsageError if the setting is invalid or names another machine."""
        written = _REQUEST.fullmatch(text.strip())
        try:
            parts = urlsplit(written[2] if written else "")
            sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and parts.netloc.isascii()
        except ValueError:
            sound = False
        if written is None or not sound or "@" in parts.netloc:
            raise UsageError(
                f"environment.{what}: found {shown(redacted(text))}, expected a method and an address without a password, as in GET http://127.0.0.1:8000/test/{what}"
            )
        host = str(parts.hostname)
        if host not in self._hosts and not _is_here(host):
            raise UsageError(
                f"environment.{what}: {host} is not this machine: a test run acts on no other, unless it is named: hosts: [{host}]"
            )
        return written[1] or ("GET" if what == "state" else "POST"), written[2]

    def start(self, case: Case, session: EpisodeSession) -> HttpWorld:
        """Reset the service for an episode and return the episode's world. Raises InfrastructureError."""
        del case, session
        if self._reset is not None:
            self._asked("reset", *self._reset)
        return HttpWorld(self)

    def read(self) -> dict[str, SeenTable]:
        """Return the current tables of the service. Raises InfrastructureError."""
        text = self._asked("state", *self._state).decode("utf-8", "replace")
        answered = f"environment.state: {self.shown} answered with"
        if text.lstrip()[:9].lower().startswith(("<!doctype", "<html", "<?xml")):
            raise InfrastructureError(f"{answered} a page of HTML, expected JSON: is the path right?")
        try:
            data = parse_json(text)
        except ValueError as error:
            raise InfrastructureError(f"{answered} no JSON: {error}") from None
        if not isinstance(data, dict):
            raise InfrastructureError(f"{answered} {shown(data)}, expected tables by name: {{table: [rows]}}")
        tables = {}
        for name, given in data.items():
            key = self._keys.get(name, "id")
            key = (key,) if isinstance(key, str) else tuple(key)
            tables[name] = seen(name, given, key, ignore=self._ignore, hide=self._hide)
        return tables

    def _asked(self, what: str, method: str, address: str) -> bytes:
        """Send a request and return the body of the answer. Raises InfrastructureError for failed requests and error statuses."""
        import urllib3  # noqa: PLC0415  only where a service is asked

        place, until = f"environment.{what}: {redacted(address.partition('?')[0])}", monotonic() + _MOST_SECONDS
        parts = urlsplit(address)
        path = f"{parts.path or '/'}{parts.query and f'?{parts.query}'}"
        headers = {**_HEADERS, **self._headers}
        timeout, body = urllib3.Timeout(connect=_CONNECT, read=_MOST_SECONDS), bytearray()
        try:
            with closing(urllib3.connection_from_url(address)) as pool:
                # No redirect: a request goes to the address that the user wrote. No proxy either.
                response = pool.urlopen(
                    method, path, headers=headers, timeout=timeout, retries=False, redirect=False, preload_content=False
                )
                while piece := response.read1(_PIECE):
                    body += piece
                    if len(body) > _MOST_BYTES:
                        raise InfrastructureError(
                            f"{place} answered with more than {_MOST_BYTES:,} bytes; the rest was not read"
                        )
                    if monotonic() > until:
                        raise InfrastructureError(f"{place} did not end its answer in {_MOST_SECONDS:g} s")
        except (urllib3.exceptions.HTTPError, ValueError, OSError) as error:
            raise InfrastructureError(f"{place}: {redacted(str(error).rpartition('] ')[2])[:_EXCERPT]}") from None
        if not 200 <= response.status < 300:  # noqa: PLR2004  what HTTP calls success
            goes = " (a redirect, which is not followed)" if 300 <= response.status < 400 else ""  # noqa: PLR2004
            words = redacted(body[:_EXCERPT].decode("utf-8", "replace")).strip()
            raise InfrastructureError(f"{place} answered {response.status}{goes}{words and f': {words}'}")
        return bytes(body)


class HttpWorld:
    """A service in one episode; see ``EpisodeWorld``."""

    def __init__(self, environment: HttpEnvironment) -> None:
        self._environment = environment

    def tables(self) -> Mapping[str, SeenTable]:
        """Return the current tables."""
        return self._environment.read()

    def close(self) -> None:
        """Do nothing; the next reset restores the service."""


def _is_here(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
