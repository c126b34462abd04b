"""Grounding against 273 claims of published answers that were labelled by hand: positions and verdicts only."""

import pytest
from labelled_claims import DEVELOPED, HELD_OUT, LABELS, errors, judged, meets, scores, spans

from pytest_mapsat.judges.grounding import CLAIM_TYPES


def test_the_labels_are_many_and_each_case_is_in_one_half():
    assert sorted(LABELS) == sorted({*DEVELOPED, *HELD_OUT})
    assert sum(map(len, LABELS.values())) == 273
    for labels in LABELS.values():
        for _, kind, start, end, decision in labels:
            assert kind in CLAIM_TYPES
            assert start < end
            assert decision in ("supported", "contradicted", "unsupported")


@pytest.mark.parametrize("half", [DEVELOPED, HELD_OUT], ids=["developed", "held-out"])
def test_wrong_claims_are_found_and_right_ones_left_alone(half):
    precision, recall, said, labelled = scores(half)
    assert precision >= 0.9, list(errors(half))
    assert recall >= 0.9, list(errors(half))
    assert said > 20
    assert labelled > 20


def test_most_supported_claims_are_seen_at_all():
    pairs = [(short, label) for short in LABELS for label in LABELS[short] if label[4] == "supported"]
    seen = sum(any(meets(one, label) for one in spans(short)) for short, label in pairs)
    assert seen / len(pairs) >= 0.9


def test_every_quotation_is_true():
    for claims in judged().values():
        for one in claims:
            quote = one.reading.quote(one.mention)
            assert quote.text == one.reading.folded.original[quote.start : quote.end]
