"""What the worlds of tau2-bench share: how a method becomes a tool, and the few tools that every desk has."""

from __future__ import annotations

import ast
import copy
import inspect
import operator
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_type_hints

from pydantic import BaseModel, Field, create_model

from pytest_mapsat.model import Json, JsonObject, Tool, did_you_mean, shown
from pytest_mapsat.sandbox import Refused, Rows, State

_Method = TypeVar("_Method", bound=Callable[..., Any])
_FACTS = "_tau2_tool"


@dataclass(frozen=True)
class ToolFacts:
    """What the decorator ``tool`` keeps with a method.

    Attributes:
        writes: whether it may change rows.
        by: who may call it; ``world``: only the setup of a task.
        asked: phrases by which an agent asks a user to call it.
        needs: the parameters that a call must give.
    """

    writes: bool = False
    by: Literal["agent", "user", "world"] = "agent"
    asked: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def tool(
    *, writes: bool = False, by: Literal["agent", "user", "world"] = "agent", asked: tuple[str, ...] = ()
) -> Callable[[_Method], _Method]:
    """Make a method of a world a tool: its docstring describes it, its annotations are its parameters. Arguments as in ``ToolFacts``."""

    def mark(method: _Method) -> _Method:
        @wraps(method)
        def settled(self: World, **arguments: Json) -> Json:
            result: Json = method(self, **arguments)
            self.settle()
            return result

        marked: Any = settled if writes or by == "world" else method
        parameters = inspect.signature(method).parameters.values()
        needs = tuple(each.name for each in parameters if each.name != "self" and each.default is each.empty)
        setattr(marked, _FACTS, ToolFacts(writes or by == "world", by, asked, needs))
        return cast("_Method", marked)

    return mark


def looks(*asked: str) -> Callable[[_Method], _Method]:
    """Make a method a tool of the user that changes nothing; ``asked`` as in ``ToolFacts``."""
    return tool(by="user", asked=asked)


def acts(*asked: str) -> Callable[[_Method], _Method]:
    """Make a method a tool of the user that may change rows; ``asked`` as in ``ToolFacts``."""
    return tool(by="user", writes=True, asked=asked)


def facts_of(world: type[World]) -> dict[str, ToolFacts]:
    """Return the facts of the tools of a world, by name, sorted."""
    return {
        name: getattr(method, _FACTS)
        for name, method in sorted(inspect.getmembers(world, inspect.isfunction))
        if hasattr(method, _FACTS)
    }


def specs_of(world: type[World]) -> dict[str, Tool]:
    """Return the specs of the tools of a world, by name."""
    return {name: _spec(getattr(world, name), facts) for name, facts in facts_of(world).items()}


def _spec(method: Callable[..., Any], facts: ToolFacts) -> Tool:
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(method).parameters.items()
        if name != "self"
    }
    model: type[BaseModel] = create_model(method.__name__, **fields)
    schema: JsonObject = model.model_json_schema()
    named = _untitled(schema, schema.get("$defs", {}))
    given = {key: named[key] for key in ("properties", "required") if key in named}
    parameters = {"type": "object", "properties": {}, **given}
    effect: Literal["write", "read"] = "write" if facts.writes else "read"
    text = " ".join((method.__doc__ or "").split())
    return Tool(name=method.__name__, description=text, effect=effect, by=facts.by, parameters=parameters)


def _untitled(value: Any, shared: Mapping[str, Any]) -> Any:
    """Return a schema without the titles that pydantic adds, with references replaced by what they refer to."""
    if isinstance(value, list):
        return [_untitled(item, shared) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _untitled(shared[value["$ref"].rpartition("/")[2]], shared)
    return {
        name: {key: _untitled(item, shared) for key, item in member.items()}
        if name == "properties"
        else _untitled(member, shared)
        for name, member in value.items()
        if name not in ("title", "$defs")
    }


#: The tables of a world, each with the name of its id column.
Keys = Mapping[str, str]
Expression = Annotated[str, Field(description="digits, + - * /, parentheses and blanks, such as '2 * (3 + 4)'")]


class World:
    """The desk that every domain has: rows to look up, a calculator, and a human to hand over to.

    Args:
        state: the tables of the episode.
    """

    #: The tables of the database of the agent, and of that of the user.
    keys: ClassVar[Keys] = {}
    #: The moment at which all tasks take place, ISO 8601; None where the policy names none.
    now: ClassVar[str | None] = None
    user_keys: ClassVar[Keys] = {}

    def __init__(self, state: State) -> None:
        self._tables = {name: state.table(name, key=key) for name, key in {**self.keys, **self.user_keys}.items()}

    @classmethod
    def tables(cls, database: JsonObject, user_database: JsonObject) -> dict[str, list[JsonObject]]:
        """Return the rows of the published databases of agent and user, by table.

        Raises:
            ValueError: a table is missing, is neither a list nor an object of objects, or has a row without an id of its own.
        """
        sides = [(database, cls.keys), (user_database, cls.user_keys)]
        return {name: _listed(data, name, key) for data, keys in sides for name, key in keys.items()}

    def rows(self, table: str) -> Rows:
        """Return a table."""
        return self._tables[table]

    def settle(self) -> None:
        """Bring the agent's side and the user's side in line; called after each write."""

    @tool()
    def transfer_to_human_agents(self, summary: Annotated[str, Field(description="what the user needs")]) -> str:
        """Hand the user over to a human agent, with a summary. Only for requests that policy and tools cannot meet."""
        del summary
        return "Transfer successful"


def _listed(database: JsonObject, name: str, key: str) -> list[JsonObject]:
    """Return the rows of a table, published as an object by id, or as a list."""
    table = database.get(name)
    if not isinstance(table, dict | list):
        hint = f" ({meant})" if (meant := did_you_mean(name, database)) else ""
        raise ValueError(f"has no table {name!r}{hint}")  # noqa: TRY004  the database's error, not a caller's
    pairs = table.items() if isinstance(table, dict) else ((None, row) for row in table)
    rows: dict[str, JsonObject] = {}
    for row_id, row in pairs:
        own = row.get(key, row_id) if isinstance(row, dict) else None
        if not isinstance(own, str) or not own or row_id not in (None, own) or own in rows:
            raise ValueError(f"{name}: found {shown(row)}, expected an object with a {key} of its own")
        rows[own] = {key: own, **row}
    return list(rows.values())


class Calculating(World):
    """A desk with a calculator."""

    @tool()
    def calculate(self, expression: Expression) -> str:
        """Work out an arithmetic expression, to two decimals."""
        return str(round(_value(expression), 2))


_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LONGEST = 500


def _value(expression: str) -> float:
    """Return the value of an expression. Raises Refused for anything but arithmetic."""
    if len(expression) > _LONGEST or not set(expression) <= set("0123456789+-*/(). "):
        raise Refused("an expression has up to 500 characters: digits, + - * /, parentheses and blanks")
    try:
        return float(_of_node(ast.parse(expression.strip(), mode="eval").body))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        raise Refused("the expression cannot be worked out") from None


def _of_node(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_of_node(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _of_node(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_of_node(left), _of_node(right))
    raise ValueError("no arithmetic")


def fold(text: str) -> str:
    """Return a text without case, accents and surrounding blanks, as names are compared."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(character for character in plain if not unicodedata.combining(character)).casefold().strip()


def over(usual: Any, given: Any) -> Any:
    """Return given values laid over the usual ones: objects member by member, anything else as given."""
    if not isinstance(usual, Mapping) or not isinstance(given, Mapping):
        return copy.deepcopy(given)
    return {name: over(usual.get(name), given.get(name, usual.get(name))) for name in {**usual, **given}}
