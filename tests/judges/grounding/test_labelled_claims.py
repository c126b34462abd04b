"""Grounding against 273 claims of published answers that were labelled by hand: positions and verdicts only."""

import pytest
from labelled_claims import DEVELOPED, HELD_OUT, LABELS, figures, judged


def test_the_labels_are_many_and_each_case_is_in_one_half():
    assert sorted(LABELS) == sorted({*DEVELOPED, *HELD_OUT})
    assert sum(map(len, LABELS.values())) == 273
    for labels in LABELS.values():
        for _, _, start, end, verdict in labels:
            assert start < end
            assert verdict in ("supported", "contradicted", "unsupported")


@pytest.mark.parametrize("half", [DEVELOPED, HELD_OUT], ids=["developed", "held-out"])
def test_what_is_called_wrong_is_wrong_and_some_of_it_is_found(half):
    found = figures(half)
    assert found.called_right == found.called, found
    assert found.found_wrong / found.wrong >= 0.4, found
    assert found.supported_true / found.true >= 0.33, found


def test_every_quotation_is_true():
    for claims in judged().values():
        for one in claims:
            assert one.text == one.document.text[slice(*one.span)] != ""
