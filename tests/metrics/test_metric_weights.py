"""The weight of an implicit requirement, from its evidence (A.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mapsat.metrics import weight_of
from pytest_mapsat.model import Evidence, Requirement


def weigh(*evidence):
    requirement = Requirement(id="z", text="a need", kind="soft", evidence=tuple(Evidence(**one) for one in evidence))
    return weight_of(requirement)


@pytest.mark.parametrize(
    ("evidence", "weight"),
    [
        ({"need": "direct"}, 1.2),
        ({"ratio": 0.852, "recency": "habit", "early": 3, "late": 3, "need": "direct"}, 0.8179),
        ({"count": 38, "total": 94, "recency": "recent", "need": "direct"}, 0.4851),
        ({"count": 38, "total": 94, "recency": "recent", "early": 1, "late": 2}, 0.4851),
        ({"ratio": 0.48, "recency": "habit"}, 0.384),
        ({"ratio": 0.859, "recency": "habit"}, 0.6872),
    ],
)
def test_published_weights_come_out_of_their_evidence(evidence, weight):
    assert weigh(evidence) == pytest.approx(weight, abs=5e-5)


def test_a_weight_of_its_own_beats_the_evidence():
    requirement = Requirement(id="z", text="a need", kind="hard", weight=0.3, evidence=(Evidence(need="direct"),))
    assert weight_of(requirement) == 0.3


@pytest.mark.parametrize(
    ("early", "late", "momentum"), [(1, 2, 1.2), (2, 2, 1.0), (3, 1, 0.8), (3, 0, 0.6), (0, 0, 0.6)]
)
def test_momentum_compares_recent_with_early_counts(early, late, momentum):
    assert weigh({"ratio": 1.0, "early": early, "late": late}) == pytest.approx(momentum)


@pytest.mark.parametrize(
    ("long", "short", "momentum"),
    [(0.5, 0.7, 1.2), (0.5, 0.6, 1.0), (0.5, 0.5, 1.0), (0.5, 0.35, 0.8), (0.5, 0.1, 0.6), (0.0, 0.05, 1.2)],
)
def test_momentum_follows_the_change_rate_where_profile_and_behaviour_are_known(long, short, momentum):
    assert weigh({"count": 1, "total": 1, "long_ratio": long, "short_ratio": short}) == pytest.approx(momentum)


def test_recent_behaviour_is_the_strength_where_no_other_is_given():
    assert weigh({"long_ratio": 0.5, "short_ratio": 0.5}) == pytest.approx(0.5)


@pytest.mark.parametrize(("relevance", "strength"), [("strong", 1.0), ("weak", 0.3)])
def test_a_basic_attribute_weighs_by_its_relevance(relevance, strength):
    assert weigh({"relevance": relevance}) == strength


def test_text_alone_is_neutral():
    assert weigh({"text": "somebody said so"}) == 1.0


def test_of_several_evidences_the_strongest_preference_and_the_weakest_need_count():
    assert weigh({"ratio": 0.4}, {"ratio": 0.9}, {"need": "direct"}, {"need": "weak"}) == pytest.approx(0.9 * 0.8)


def test_session_evidence_alone_does_not_outweigh_a_weak_profile():
    assert weigh({"relevance": "weak"}, {"need": "direct"}) == pytest.approx(0.36)


def test_an_invalid_need_takes_the_requirement_out():
    assert weigh({"ratio": 1.0, "need": "invalid"}) == 0


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "ratio": st.none() | st.floats(0, 1),
                "recency": st.sampled_from([None, "habit", "recent"]),
                "need": st.sampled_from([None, "direct", "related", "weak", "conflicting", "invalid"]),
            }
        ),
        min_size=1,
        max_size=4,
    )
)
def test_weights_are_bounded_and_do_not_depend_on_the_order_of_evidence(evidence):
    weight = weigh(*evidence)
    assert 0 <= weight <= 1.2 * 1.2
    assert weigh(*reversed(evidence)) == weight
