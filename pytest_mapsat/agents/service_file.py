"""The file that describes a service: its address, its protocol, the body of a request, and the place of the reply in an answer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from pytest_mapsat.formats import DocumentLines, limits, parse_yaml, read_bytes, require_file, validate
from pytest_mapsat.model import (
    Context,
    EnvironmentTerms,
    Json,
    JsonObject,
    Location,
    Noun,
    Problem,
    ReportedCall,
    SuiteError,
    Visible,
    did_you_mean,
    shown,
    values_at,
)
from pytest_mapsat.secrets import name_secrets

from . import own_calls, tool_server
from .source import SHOWS_CALLS, AgentContext, FormName, SourceSpec, context_of

#: What ``request`` and ``headers`` of a service file may take from the episode.
PLACEHOLDERS = ("message", "messages", "session", "context", "tools", "mcp_url", "mcp_token")
IN_HEADERS = ("session", "mcp_url", "mcp_token")
#: Only the context has fields: what follows "$message." is text.
_PLACEHOLDER = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[^{}]*)\}|(?P<name>context(?:\.\w+)+|[a-z_]+))")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class UsagePaths(Noun):
    """The places of a reply's cost in an answer: dotted paths, empty if the answer does not state a figure.

    Attributes:
        input_tokens: path of the number of input tokens. Example: ``usage.input_tokens``
        output_tokens: path of the number of output tokens. Example: ``usage.output_tokens``
        cost: path of the cost in US dollars. Example: ``usage.cost``
    """

    input_tokens: str = ""
    output_tokens: str = ""
    cost: str = ""


class Complete(Noun):
    """The sign in a JSON answer that the reply is complete.

    Attributes:
        path: dotted path of the value that shows it. Example: ``status``
        equals: the value there of a complete reply, or a list of such values. Example: ``done``
    """

    path: str = Field(min_length=1)
    equals: Json


class CallPaths(Noun):
    """The places of the service's own tool calls in an answer: dotted paths.

    Attributes:
        at: path of the list of calls; may be empty in a form that reports calls itself. Example: ``calls``
        tool: path of the tool's name in a call. Example: ``tool``
        arguments: path of the arguments in a call; empty: they are unknown. Example: ``arguments``
        result: path of the result in a call; empty: it is unknown. Example: ``result``
        error: path of a value that only failed calls have; empty: no call is known to have failed. Example: ``error``
        id: path of the id of a call, which identifies it if it is reported again. Example: ``id``
        all: whether an answer lists every call: of this reply, or of the dialogue so far; a call that is not listed was then not made. Empty: calls may be missing.
    """

    at: str = ""
    tool: str = ""
    arguments: str = ""
    result: str = ""
    error: str = ""
    id: str = ""
    all: Literal["", "reply", "dialogue"] = ""

    def calls_in(self, answer: Json) -> Iterator[ReportedCall]:
        """Yield the service's own tool calls in an answer. Raises ValueError if they have an unexpected form."""
        for listed in values_at(answer, self.at) if self.at else ():
            for each in listed if isinstance(listed, list) else () if listed is None else [listed]:
                parts = {name: values_at(each, path) for name, path in self if path and name not in {"at", "all"}}
                call = {name: values[0] for name, values in parts.items() if values}
                if not isinstance(call.get("tool"), str) or not call["tool"].strip():
                    raise ValueError(
                        f"expected a list of calls at {self.at!r}, each with its tool at {self.tool!r} (response.calls), found {shown(each)}"
                    )
                failed = {"status": "error"} if call.pop("error", None) else {}
                yield cast("ReportedCall", {**call, **failed})


class SpansPlace(Noun):
    """The port of the loopback interface to which the service exports its spans. ``true`` is short for the usual port.

    Attributes:
        port: port for OTLP over HTTP. Example: ``4318``
        wait: how long the spans of a reply may take to arrive, in seconds, at most 60. Example: ``6``
    """

    port: int = Field(default=4318, ge=1, le=65535)
    wait: float = Field(default=6.0, gt=0, le=60)


class McpServer(Noun):
    """The MCP server with the service's own tools.

    Attributes:
        upstream: address of the server. Example: ``http://127.0.0.1:8001/mcp``
        headers: headers sent to the server. Example: ``{"Authorization": "Bearer ${TOKEN}"}``
    """

    upstream: str = Field(min_length=1)
    headers: dict[str, str] = Field(default_factory=dict)


class ResponsePaths(Noun):
    """The places of the parts of a reply in a JSON answer: dotted paths, empty for the usual names.

    Attributes:
        text: path of the reply's text. Example: ``reply.text``
        output: path of the structured output. Example: ``reply.data``
        error: path of an error message; an answer with one is no reply. Example: ``error.message``
        session: path of the id that the service gives the dialogue; later requests send it as ``$session``. Example: ``session_id``
        usage: paths of tokens and cost.
        complete: how an answer shows that the reply is complete; left out, any answer without an error is.
        calls: paths of the calls of the service's own tools; left out, answers do not list them.
    """

    text: str = ""
    output: str = ""
    error: str = ""
    session: str = ""
    usage: UsagePaths = UsagePaths()
    complete: Complete | None = None
    calls: CallPaths | None = None


class BuildPlace(Noun):
    """The place of the service's build in an answer: a header, or a path in its JSON.

    Attributes:
        header: name of the header; empty if there is none. Example: ``X-Version``
        path: dotted path into the JSON; empty if there is none. Example: ``meta.version``
    """

    header: str = ""
    path: str = ""


class ServiceFile(Noun):
    """A YAML file that describes a service: its address, the form of requests and answers. Calls of its own tools are reported in one of ``response.calls``, ``spans`` and ``mcp``.

    Attributes:
        url: address of the service; left out, it stands in --mapsat-agent. ``${VARIABLE}`` is filled from the environment. Example: ``http://127.0.0.1:8000/chat``
        form: protocol of the service.
        headers: headers of each request; they may contain ``$session``, ``$mcp_url``, ``$mcp_token`` and ``${VARIABLE}``. Example: ``{"Authorization": "Bearer ${TOKEN}"}``
        request: body of a request, with placeholders such as ``$message``; left out, message, messages, session and context. With another form than json: further fields of its body. Example: ``{"text": "$message", "user": "$context.uid"}``
        response: where an answer has the parts of a reply; left out, under the usual names.
        build: where answers name the build of the service; left out, it is unknown.
        spans: where the service exports spans that report its own calls; left out, it exports none.
        mcp: MCP server with the service's own tools, which is then called through a proxy that reports the calls.
        environment: test endpoints that give the service's state; left out, it has none.
    """

    url: str = ""
    form: FormName = "json"
    headers: dict[str, str] = Field(default_factory=dict)
    request: JsonObject | None = None
    response: ResponsePaths = ResponsePaths()
    build: BuildPlace = BuildPlace()
    spans: SpansPlace | None = None
    mcp: McpServer | None = None
    environment: EnvironmentTerms | None = None

    @field_validator("spans", mode="before", json_schema_input_type=SpansPlace | bool | None)
    @classmethod
    def _plain(cls, value: Json) -> Json:
        """Return the defaults (an empty mapping) for ``true``, None for ``false``, and any other value unchanged."""
        return {} if value is True else None if value is False else value

    @property
    def tells_calls(self) -> tuple[str, ...]:
        """Return the names of the fields that say where the service's own tool calls appear."""
        places = {"response.calls": self.response.calls, "spans": self.spans, "mcp": self.mcp}
        return tuple(name for name, place in places.items() if place is not None)


def placeholders(template: Json) -> Iterator[tuple[tuple[str | int, ...], str, bool]]:
    """Yield each placeholder in a template: its path, its name, and whether it is an environment variable."""
    if isinstance(template, str):
        for match in _PLACEHOLDER.finditer(template):
            if not match["dollar"]:
                yield (), *_named(match)
    parts: Iterable[tuple[str | int, Json]] = ()
    if isinstance(template, Mapping):
        parts = template.items()
    elif isinstance(template, list):
        parts = enumerate(template)
    for key, part in parts:
        for path, name, variable in placeholders(part):
            yield (key, *path), name, variable


def _named(match: re.Match[str]) -> tuple[str, bool]:
    """Return the name of a matched placeholder, and whether it is an environment variable."""
    braced: str | None = match["braced"]
    return (match["name"], False) if braced is None else (braced, braced not in PLACEHOLDERS)


def filled(template: Json, values: Mapping[str, Json]) -> Json:
    """Return a template with ``$name``, ``$name.field`` and ``${VARIABLE}`` replaced by their values.

    A placeholder that stands alone becomes JSON, one inside a text becomes text.
    """
    if isinstance(template, str):
        alone = _PLACEHOLDER.fullmatch(template)
        if alone and not alone["dollar"]:
            return _value(alone, values)
        return _PLACEHOLDER.sub(lambda match: _as_text(_value(match, values)), template)
    if isinstance(template, Mapping):
        return {key: filled(part, values) for key, part in template.items()}
    return [filled(part, values) for part in template] if isinstance(template, list) else template


def _value(match: re.Match[str], values: Mapping[str, Json]) -> Json:
    """Return the value of a matched placeholder; None if its path does not exist."""
    if match["dollar"]:
        return "$"
    name, variable = _named(match)
    if variable:
        return os.environ.get(name, "")
    name, _, path = name.partition(".")
    return next(iter(values_at(values[name], path)), None)


def _as_text(value: Json) -> str:
    """Return a text unchanged, and any other value as JSON text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_service_file(spec: SourceSpec, form: str) -> ServiceFile:
    """Read a service file, check it without sending a request, and return it. Raises UsageError, SuiteError."""
    path = spec.root / form
    require_file(path, form)
    documents = parse_yaml(read_bytes(path, limits.MIB), form)
    problems: list[Problem] = []
    if len(documents) != 1:
        raise SuiteError(Problem(form, 0, f"found {len(documents)} documents, expected one mapping"))
    file, lines = validate(ServiceFile, documents[0], form, problems), documents[0].lines
    if file is None:
        raise SuiteError(*problems)
    problems += _problems(spec, file, form, lines)
    if problems:
        raise SuiteError(*problems)
    name_secrets(name for part in _templates(file).values() for _, name, variable in placeholders(part) if variable)
    return file


def _templates(file: ServiceFile) -> dict[str, Json]:
    """Return the parts of a service file that may hold placeholders."""
    parts: dict[str, Json] = {"request": file.request, "headers": dict(file.headers), "url": file.url}
    if file.mcp is not None:
        parts["mcp"] = {"upstream": file.mcp.upstream, "headers": dict(file.mcp.headers)}
    if (terms := file.environment) is not None:
        parts["environment"] = {"state": terms.state, "reset": terms.reset, "headers": dict(terms.headers)}
    return parts


def _problems(spec: SourceSpec, file: ServiceFile, form: str, lines: DocumentLines) -> Iterator[Problem]:
    """Yield the problems of a service file that fits its schema: placeholders, headers, places of calls."""
    for place, template in _templates(file).items():
        for where, name, variable in placeholders(template):
            message, hint = _misnamed(place, name, variable=variable)
            if message:
                yield lines.problem(form, (place, *where), message, hint)
    yield from _header_problems(file, form, lines)
    if file.form != "json" and file.response.model_fields_set - {"calls"}:
        yield lines.problem(form, ("response",), f"the form {file.form} defines itself where a reply is")
    yield from _call_problems(file, form, lines)
    if not file.url and spec.rest == form:
        yield lines.problem(form, (), "has no url: add one, such as url: http://127.0.0.1:8000/chat")
    if wants_tools(file) and (missing := tool_server.missing_extra()):
        yield lines.problem(form, (), f"$mcp_url and $mcp_token: {missing}")
    if file.spans is not None and (missing := own_calls.missing_extra()):
        yield lines.problem(form, ("spans",), missing)


def _call_problems(file: ServiceFile, form: str, lines: DocumentLines) -> Iterator[Problem]:
    """Yield the problems of the fields that say where the service's own tool calls appear."""
    paths, places = file.response.calls, file.tells_calls
    if len(places) > 1:
        yield lines.problem(
            form, (), f"found {' and '.join(places)}, expected one of them: a call would be reported twice"
        )
    if paths is not None and (bool(paths.at) != bool(paths.tool) or (not paths.at and file.form not in SHOWS_CALLS)):
        example = "response.calls: expected at and tool, as in {at: trace, tool: name, arguments: args, result: out}"
        yield lines.problem(form, ("response", "calls"), example)
    if paths is not None and paths.all and not (paths.at and paths.arguments and paths.result):
        message = "response.calls.all: expected at, arguments and result, too: a list without them is not complete"
        yield lines.problem(form, ("response", "calls", "all"), message)
    if file.mcp is not None and not wants_tools(file):
        why = "mcp.upstream: the service does not know the proxy: put $mcp_url and $mcp_token into request or headers"
        yield lines.problem(form, ("mcp",), why)


def _header_problems(file: ServiceFile, form: str, lines: DocumentLines) -> Iterator[Problem]:
    """Yield the problems of the request headers and of the place of the build in answers."""
    for name, value in file.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            yield lines.problem(
                form, ("headers", name), f"{shown(name)} is not an HTTP header, or its value is invalid"
            )
    header, path = file.build.header, file.build.path
    if "build" in file.model_fields_set and bool(header) == bool(path):
        yield lines.problem(form, ("build",), "build: expected a header or a path, as in {header: X-Version}")
    elif header and not _HEADER_NAME.fullmatch(header):
        yield lines.problem(form, ("build", "header"), f"build.header: {shown(header)} is not an HTTP header")


def _misnamed(place: str, name: str, *, variable: bool) -> tuple[str, str]:
    """Return the problem of a placeholder and a hint; two empty texts if there is no problem."""
    if variable and not re.fullmatch(r"\w+", name):
        hint = f"did you mean '${name}'?" if name.startswith("context.") else ""
        return f"found ${{{name}}} in {place}, expected the name of a variable in the braces; $$ is a dollar", hint
    if variable:
        return ("" if name in os.environ else f"the environment has no variable {name}"), ""
    if place == "request" and name.startswith("context."):
        return _unknown_field(name)
    allowed = {"request": PLACEHOLDERS, "headers": IN_HEADERS}.get(place, ())
    if name in allowed:
        return "", ""
    expected = ", ".join([*(f"${word}" for word in allowed), "${VARIABLE}"])
    return f"found ${name} in {place}, expected {expected}; $$ is a dollar", did_you_mean(name, allowed)


def _unknown_field(name: str) -> tuple[str, str]:
    """Return the problem of a context field and a hint; two empty texts if the field exists or depends on the case."""
    part: Any = context_of(Visible(query="?", context=Context(location=Location(lon=0, lat=0))))
    reached, *fields = name.split(".")
    for field in fields:
        if isinstance(part, (dict, list)) and not isinstance(part, AgentContext):
            return "", ""
        if not isinstance(part, AgentContext):
            return f"found ${name} in request, but ${reached} has no fields", ""
        if field not in part:
            return f"found ${name} in request, but ${reached} has only {', '.join(part)}", did_you_mean(field, part)
        reached, part = f"{reached}.{field}", part[field]
    return "", ""


def wants_tools(file: ServiceFile) -> bool:
    """Return whether a service calls the tools itself, over MCP."""
    names = [name for part in _templates(file).values() for _, name, _ in placeholders(part)]
    return not {"mcp_url", "mcp_token"}.isdisjoint(names)
