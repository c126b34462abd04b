"""The domain mock: tasks of a team, and notifications of the user."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pytest_mapsat.model import JsonObject
from pytest_mapsat.sandbox import Refused

from .world import World, acts, looks, tool

UserId = Annotated[str, Field(description="such as 'user_1'")]
TaskId = Annotated[str, Field(description="such as 'task_1'")]
NotificationId = Annotated[str, Field(description="such as 'notif_1'")]
Status = Literal["pending", "completed"]
#: In this column a new task says whose it is, so that the order in which tasks are made does not count.
_OWNER = "user_id"


class MockWorld(World):
    """Tasks, their users, and a user's notifications."""

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
        """Return whether a user has so many tasks."""
        return len(self._tasks_of(user_id, self.rows("users")[user_id])) == expected_number

    def assert_task_status(self, task_id: str, expected_status: str) -> bool:
        """Return whether a task has a status."""
        return bool(self.rows("tasks")[task_id]["status"] == expected_status)

    def assert_notification_status(self, notification_id: str, expected_status: str) -> bool:
        """Return whether a notification has a status."""
        return bool(self.rows("notifications")[notification_id]["status"] == expected_status)
