"""The common parts of tau2-bench's worlds: how a method becomes a tool, and the few tools that every desk has; the small domain mock."""

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
    """Facts about a tool that the decorator ``tool`` stores on its method.

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
    """Return a decorator that makes a method a tool, with docstring and annotations as its spec. Arguments as in ``ToolFacts``."""

    def mark(method: _Method) -> _Method:
        """Return the method with the facts of its tool; one that may write settles the world after each call."""

        @wraps(method)
        def settled(self: TauDesk, **arguments: Json) -> Json:
            """Call the method, settle the world, and return the result."""
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
    """Return a decorator that makes a method a tool by which the user only reads; ``asked`` as in ``ToolFacts``."""
    return tool(by="user", asked=asked)


def acts(*asked: str) -> Callable[[_Method], _Method]:
    """Return a decorator that makes a method a tool by which the user may change rows; ``asked`` as in ``ToolFacts``."""
    return tool(by="user", writes=True, asked=asked)


def facts_of(world: type[TauDesk]) -> dict[str, ToolFacts]:
    """Return the facts of the tools of a world, by name, sorted."""
    return {
        name: getattr(method, _FACTS)
        for name, method in sorted(inspect.getmembers(world, inspect.isfunction))
        if hasattr(method, _FACTS)
    }


def specs_of(world: type[TauDesk]) -> dict[str, Tool]:
    """Return the specs of the tools of a world, by name."""
    return {name: _spec(getattr(world, name), facts) for name, facts in facts_of(world).items()}


def _spec(method: Callable[..., Any], facts: ToolFacts) -> Tool:
    """Return the spec of a tool, made from the docstring and the annotations of its method."""
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(method).parameters.items()
        if name != "self"
    }
    model: type[BaseModel] = create_model(method.__name__, **fields)
    schema: JsonObject = model.model_json_schema()
    untitled = _untitled(schema, schema.get("$defs", {}))
    given = {key: untitled[key] for key in ("properties", "required") if key in untitled}
    parameters = {"type": "object", "properties": {}, **given}
    effect: Literal["write", "read"] = "write" if facts.writes else "read"
    text = " ".join((method.__doc__ or "").split())
    return Tool(name=method.__name__, description=text, effect=effect, by=facts.by, parameters=parameters)


def _untitled(value: Any, shared: Mapping[str, Any]) -> Any:
    """Return a schema without the titles that pydantic adds, with references replaced by their targets."""
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


class TauDesk:
    """Base of the worlds of all domains: tables, and the tool that hands the user over to a human.

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
        """Make the agent's side and the user's side agree; called after each write."""

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


class Calculating(TauDesk):
    """Base of the worlds that have a calculator."""

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
    """Return the value of an arithmetic expression. Raises Refused for anything else."""
    if len(expression) > _LONGEST or not set(expression) <= set("0123456789+-*/(). "):
        raise Refused("an expression has up to 500 characters: digits, + - * /, parentheses and blanks")
    try:
        return float(_of_node(ast.parse(expression.strip(), mode="eval").body))
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        raise Refused("the expression cannot be worked out") from None


def _of_node(node: ast.expr) -> float:
    """Return the value of a node of a parsed expression. Raises ValueError for anything but arithmetic."""
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


def overlaid(usual: Any, given: Any) -> Any:
    """Return usual values with given ones in their place; objects are merged member by member."""
    if not isinstance(usual, Mapping) or not isinstance(given, Mapping):
        return copy.deepcopy(given)
    return {name: overlaid(usual.get(name), given.get(name, usual.get(name))) for name in {**usual, **given}}


UserId = Annotated[str, Field(description="such as 'user_1'")]
TaskId = Annotated[str, Field(description="such as 'task_1'")]
NotificationId = Annotated[str, Field(description="such as 'notif_1'")]
Status = Literal["pending", "completed"]
#: In this column a new task says whose it is, so that the order in which tasks are made does not count.
_OWNER = "user_id"


class MockWorld(TauDesk):
    """The tools of the domain mock: tasks, their users, and a user's notifications."""

    keys = {"tasks": "task_id", "users": "user_id"}  # noqa: RUF012  a ClassVar of the base
    user_keys = {"notifications": "notification_id"}  # noqa: RUF012

    @tool(writes=True)
    def create_task(self, user_id: UserId, title: str, description: str | None = None) -> JsonObject:
        """Make a task for a user; it is pending."""
        _ = self.rows("users")[user_id]
        task_id = f"task_{len(self.rows('tasks')) + 1}"
        task = {"task_id": task_id, "title": title, "description": description, "status": "pending"}
        if task["task_id"] in self.rows("tasks"):
            raise Refused("the next task id is taken")
        self.rows("tasks").add({**task, _OWNER: user_id})
        return task

    @tool(writes=True)
    def update_task_status(self, task_id: TaskId, status: Status) -> JsonObject:
        """Give a task another status."""
        task = self.rows("tasks").change(task_id, status=status)
        return {name: value for name, value in task.items() if name != _OWNER}

    @tool()
    def get_users(self) -> list[JsonObject]:
        """List the users with the ids of their tasks."""
        return [{**user, "tasks": self._tasks_of(user_id, user)} for user_id, user in self.rows("users").items()]

    def _tasks_of(self, user_id: str, user: JsonObject) -> list[str]:
        """Return the ids of a user's tasks: those in the user's row, then those created since."""
        new = [task_id for task_id, task in self.rows("tasks").items() if task.get(_OWNER) == user_id]
        return [*user.get("tasks", []), *new]

    # -- the user's side

    @looks("check notifications", "check your notifications")
    def check_notifications(self) -> list[JsonObject]:
        """List your notifications."""
        return list(self.rows("notifications").values())

    @acts("dismiss")
    def dismiss_notification(self, notification_id: NotificationId) -> str:
        """Mark a notification as read."""
        self.rows("notifications").change(notification_id, status="read")
        return f"Notification {notification_id} is read now"

    # -- what a task begins with, and what it asserts

    @tool(by="world")
    def add_notification(self, notification_id: NotificationId, message: str, task_id: TaskId | None = None) -> str:
        """Put a notification that is not read into the inbox, in place of one of this id."""
        inbox = self.rows("notifications")
        columns = {"message": message, "status": "unread", "task_id": task_id}
        if notification_id in inbox:
            inbox.change(notification_id, **columns)
        else:
            inbox.add({"notification_id": notification_id, **columns})
        return notification_id

    def assert_number_of_tasks(self, user_id: str, expected_number: int) -> bool:
        """Return whether a user has the expected number of tasks."""
        return len(self._tasks_of(user_id, self.rows("users")[user_id])) == expected_number

    def assert_task_status(self, task_id: str, expected_status: str) -> bool:
        """Return whether a task has the expected status."""
        return bool(self.rows("tasks")[task_id]["status"] == expected_status)

    def assert_notification_status(self, notification_id: str, expected_status: str) -> bool:
        """Return whether a notification has the expected status."""
        return bool(self.rows("notifications")[notification_id]["status"] == expected_status)
