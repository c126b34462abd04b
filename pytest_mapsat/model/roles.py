"""What figures and times of day can be, and ways of travelling: the words that checks, tools, readings and evidence share."""

from __future__ import annotations

from typing import Literal

#: What a figure is a figure of. A figure whose role is not sure decides nothing.
FigureRole = Literal[
    "travel_time", "travel_distance", "wait", "slack", "stay", "opening", "closing", "deadline", "headroom", "price", "total",
    "per_head", "fee", "saving", "former_price", "budget", "rating", "count", "capacity", "age", "temperature", "frequency",
]  # fmt: skip
#: What a clock time is the time of.
TimeRole = Literal["departure", "arrival", "stop", "opening", "closing", "deadline", "last_service", "now"]
#: A way of travelling.
Mode = Literal["walking", "cycling", "driving", "taxi", "transit"]
