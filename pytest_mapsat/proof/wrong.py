"""The operators that make an answer wrong, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .play import Draft, Play
from .wrong_calls import dropped_call, other_argument
from .wrong_figures import clock_shifted, invented_phone, number_made_up, value_off
from .wrong_places import (
    another_place,
    closed_shop,
    other_first,
    pasted_results,
    second_choice,
    swapped_order,
    unasked_detour,
    wrong_entity_right_words,
)
from .wrong_words import dropped_constraint, negated_constraint, other_mode, unneeded_question

WRONG: dict[str, Callable[[Play], Iterator[Draft]]] = {
    operator.__name__: operator
    for operator in (
        another_place,
        closed_shop,
        wrong_entity_right_words,
        unasked_detour,
        second_choice,
        other_first,
        swapped_order,
        pasted_results,
        value_off,
        clock_shifted,
        invented_phone,
        number_made_up,
        other_mode,
        dropped_constraint,
        negated_constraint,
        unneeded_question,
        dropped_call,
        other_argument,
    )
}
