"""The airline of tau2-bench: its real tasks over a made-up database that fits them, and the rules of its desk."""

import json
from collections import Counter

import pytest
import tau2_layout
from fitted_airline import CABINS, available, flight, method, reservation, user
from tau2_play import Played, reference
from tests_data import data_dir

from pytest_mapsat.ports.tau2.airline import AirlineWorld
from pytest_mapsat.ports.tau2.importer import import_tau2
from pytest_mapsat.sandbox import Refused, State, Table

#: Tasks that a silent agent passes: 24 references write nothing, and one of them has something to say.
SILENT = 23


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    root = tmp_path_factory.mktemp("airline")
    report = import_tau2(tau2_layout.write_airline(root / "published", data_dir()), root / "suite")
    return report, Played(root / "suite")


def test_every_reference_action_is_taken_and_reaches_its_end(imported):
    report, desk = imported
    assert report.cases == 50
    assert [str(note) for note in report.notes if note.kind != "silent"] == []
    for case in desk.cases.values():
        said = " ".join(turn.say for turn in case.truth.oracle)
        card = desk.card(case, desk.episode(case, reference(case), say=said))
        assert (card.metrics["tau_db"], card.metrics["tau_reward"]) == (1.0, 1.0), case.id


def test_tasks_that_a_silent_agent_passes_are_marked(imported):
    _, desk = imported
    for case in desk.cases.values():
        card = desk.card(case, desk.episode(case, [], say="Have a nice day."))
        assert case.attributes["silent"] == ("passes" if card.metrics["tau_reward"] == 1.0 else "fails"), case.id
    assert [case.attributes["silent"] for case in desk.cases.values()].count("passes") == SILENT
    assert [case.domains for case in desk.cases.values()].count(("airline_silent",)) == SILENT


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long_proof)])
def test_a_write_too_few_too_many_or_otherwise_is_caught(imported, step):
    _, desk = imported
    tried = 0
    for case in list(desk.cases.values())[::step]:
        calls = reference(case)
        wanted = desk.database(case, desk.episode(case, calls))
        for at in desk.writes(calls):
            tool, arguments = calls[at]
            otherwise = [{**arguments, name: value + 1} for name, value in arguments.items() if isinstance(value, int)]
            otherwise += [{**arguments, "cabin": cabin} for cabin in CABINS if arguments.get("cabin", cabin) != cabin]
            lists = [[*calls[:at], (tool, other), *calls[at + 1 :]] for other in otherwise]
            for altered in (calls[:at] + calls[at + 1 :], [*calls[: at + 1], *calls[at:]], *lists):
                trajectory = desk.episode(case, altered)
                same = desk.database(case, trajectory) == wanted
                assert (desk.labels(case, trajectory)["db"].outcome == "passed") is same, case.id
                tried += not same
    assert tried > 100 // step


def test_bookings_in_another_order_end_alike(imported):
    _, desk = imported
    case = desk.cases["airline-23"]
    calls = reference(case)
    assert [tool for tool, _ in calls].count("book_reservation") == 3
    trajectory = desk.episode(case, calls[::-1])
    assert desk.labels(case, trajectory)["db"].outcome == "passed"
    fewer = desk.episode(case, [*calls[::-1][:-1], calls[::-1][0]])
    assert desk.labels(case, fewer)["db"].outcome == "failed"


# -- the rules of the desk ------------------------------------------------------------------------------------------------


@pytest.fixture
def desk():
    flights = {}
    for number, price in (("HAT001", 100), ("HAT002", 150)):
        date = flight(flights, number)["dates"].setdefault("2024-05-20", available(seats=2))
        date["prices"] = dict.fromkeys(CABINS, price)
    flights["HAT002"] |= {"origin": "SEA", "destination": "BOS", "scheduled_departure_time_est": "12:00:00"}
    flights["HAT002"]["dates"]["2024-05-21"] = {"status": "cancelled"}
    sara = user("sara_doe_4960")
    sara["payment_methods"] = {
        name: method(name, amount)
        for name, amount in (("credit_card_1", 0), ("gift_card_2", 80), ("certificate_3", 200))
    }
    held = reservation("ZFA04Y", "sara_doe_4960", 1)
    held["payment_history"] = [{"payment_id": "credit_card_1", "amount": 120}]
    published = {"flights": flights, "users": {"sara_doe_4960": sara}, "reservations": {"ZFA04Y": held}}
    tables = {name: Table(name, tuple(rows)) for name, rows in AirlineWorld.tables(published, {}).items()}
    return AirlineWorld(State(tables))


def booking(**otherwise):
    return {
        "user_id": "sara_doe_4960",
        "origin": "JFK",
        "destination": "BOS",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": number, "date": "2024-05-20"} for number in ("HAT001", "HAT002")],
        "passengers": [{"first_name": "Sara", "last_name": "Doe", "dob": "1980-01-01"}],
        "payment_methods": [{"payment_id": "credit_card_1", "amount": 250}],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
        **otherwise,
    }


def test_a_booking_takes_seats_and_uses_certificates_up(desk):
    paid = [("certificate_3", 200), ("gift_card_2", 60), ("credit_card_1", 120)]
    payments = [{"payment_id": name, "amount": amount} for name, amount in paid]
    made = desk.book_reservation(
        **booking(payment_methods=payments, insurance="yes", total_baggages=3, nonfree_baggages=2)
    )
    assert (made["reservation_id"], [leg["price"] for leg in made["flights"]]) == ("HATHAT", [100, 150])
    assert (made["created_at"], made["status"]) == ("2024-05-15T15:00:00", None)
    left = desk.get_user_details(user_id="sara_doe_4960")
    assert set(left["payment_methods"]) == {"credit_card_1", "gift_card_2"}
    assert left["payment_methods"]["gift_card_2"]["amount"] == 20
    assert "HATHAT" in left["reservations"]
    (first,) = desk.search_direct_flight(origin="JFK", destination="SEA", date="2024-05-20")
    assert first["available_seats"] == {"basic_economy": 2, "economy": 1, "business": 2}


@pytest.mark.parametrize(
    ("otherwise", "why"),
    [
        (
            {"payment_methods": [{"payment_id": "credit_card_1", "amount": 249}]},
            "come to 249 dollars, the price is 250",
        ),
        ({"payment_methods": [{"payment_id": "gift_card_2", "amount": 250}]}, "does not cover its part"),
        ({"payment_methods": [{"payment_id": "credit_card_9", "amount": 250}]}, "no such payment method"),
        ({"flights": [{"flight_number": "HAT002", "date": "2024-05-21"}]}, "is cancelled on 2024-05-21"),
        ({"flights": [{"flight_number": "HAT001", "date": "2024-06-01"}]}, "does not fly on 2024-06-01"),
        ({"passengers": booking()["passengers"] * 3}, "has 2 seats in economy"),
        ({"payment_methods": [{"payment_id": "certificate_3", "amount": 125}] * 2}, "used once only"),
    ],
)
def test_a_booking_that_cannot_be_made_is_refused(desk, otherwise, why):
    with pytest.raises(Refused, match=why):
        desk.book_reservation(**booking(**otherwise))


def test_a_change_of_flights_is_paid_or_given_back_and_kept_flights_keep_their_price(desk):
    both = [{"flight_number": "HAT900", "date": "2024-05-20"}, {"flight_number": "HAT002", "date": "2024-05-20"}]
    changed = desk.update_reservation_flights(
        reservation_id="ZFA04Y", cabin="economy", flights=both, payment_id="credit_card_1"
    )
    assert [leg["price"] for leg in changed["flights"]] == [120, 150]
    assert changed["payment_history"][-1] == {"payment_id": "credit_card_1", "amount": 150}
    one = [{"flight_number": "HAT001", "date": "2024-05-20"}]
    back = desk.update_reservation_flights(
        reservation_id="ZFA04Y", cabin="business", flights=one, payment_id="gift_card_2"
    )
    assert (back["cabin"], back["payment_history"][-1]["amount"]) == ("business", -170)
    assert desk.get_user_details(user_id="sara_doe_4960")["payment_methods"]["gift_card_2"]["amount"] == 250
    with pytest.raises(Refused, match="certificate pays for no change"):
        desk.update_reservation_flights(
            reservation_id="ZFA04Y", cabin="business", flights=one, payment_id="certificate_3"
        )


def test_bags_cost_when_more_of_them_are_paid_for_and_never_pay_back(desk):
    more = {"reservation_id": "ZFA04Y", "payment_id": "credit_card_1"}
    assert (
        desk.update_reservation_baggages(total_baggages=3, nonfree_baggages=2, **more)["payment_history"][-1]["amount"]
        == 100
    )
    history = desk.update_reservation_baggages(total_baggages=1, nonfree_baggages=0, **more)["payment_history"]
    assert [payment["amount"] for payment in history] == [120, 100]


def test_a_cancelled_reservation_gives_every_payment_back(desk):
    cancelled = desk.cancel_reservation(reservation_id="ZFA04Y")
    assert cancelled["status"] == "cancelled"
    assert [payment["amount"] for payment in cancelled["payment_history"]] == [120, -120]


def test_passengers_can_be_others_but_not_more(desk):
    other = {"first_name": "Kim", "last_name": "Doe", "dob": "1990-01-01"}
    assert desk.update_reservation_passengers(reservation_id="ZFA04Y", passengers=[other])["passengers"] == [other]
    with pytest.raises(Refused, match="number of passengers"):
        desk.update_reservation_passengers(reservation_id="ZFA04Y", passengers=[other, other])


def test_certificates_have_ids_of_their_own(desk):
    for _ in range(3):
        desk.send_certificate(user_id="sara_doe_4960", amount=100)
    with pytest.raises(Refused, match="no further certificate"):
        desk.send_certificate(user_id="sara_doe_4960", amount=100)
    assert len(desk.get_user_details(user_id="sara_doe_4960")["payment_methods"]) == 6


def test_flights_with_one_stop_fit_together_also_past_midnight(desk):
    (pair,) = desk.search_onestop_flight(origin="JFK", destination="BOS", date="2024-05-20")
    assert [(leg["flight_number"], leg["date"]) for leg in pair] == [("HAT001", "2024-05-20"), ("HAT002", "2024-05-20")]
    assert desk.search_onestop_flight(origin="JFK", destination="BOS", date="2024-05-21") == []


@pytest.mark.parametrize(("expression", "result"), [("2 * (3 + 4)", "14.0"), ("-7 / 2", "-3.5"), ("0.1 + 0.2", "0.3")])
def test_the_calculator_works_out_arithmetic(desk, expression, result):
    assert desk.calculate(expression=expression) == result


@pytest.mark.parametrize("expression", ["9**9**9", "1/0", "9" * 400, "__import__", "(" * 400, "2 +", "", "1e5"])
def test_the_calculator_refuses_everything_else(desk, expression):
    with pytest.raises(Refused):
        desk.calculate(expression=expression)


def malformed(tool, arguments):
    """Yield how, and the arguments, for each way in which an agent may get their form wrong."""
    for name, value in arguments.items():
        if isinstance(value, list):
            yield f"{name} as text", {**arguments, name: json.dumps(value)}
            yield f"{name} of texts", {**arguments, name: [json.dumps(item) for item in value]}
            if "flight_number" in value[0]:
                yield (
                    f"{name} in lower case",
                    {
                        **arguments,
                        name: [{**item, "flight_number": item["flight_number"].lower()} for item in value],
                    },
                )
        elif isinstance(value, int) and (tool, name) != ("book_reservation", "total_baggages"):
            yield f"{name} as text", {**arguments, name: str(value)}
            yield f"{name} in words", {**arguments, name: f"{value} bags"}
        elif name in ("cabin", "flight_type", "insurance"):
            yield f"{name} in upper case", {**arguments, name: value.upper()}
            yield f"{name} with blanks", {**arguments, name: f" {value}"}
        elif name.endswith("_id"):
            for other in (
                value.upper(),
                value.lower(),
                f"{value} ",
                f"{value}\u00a0",
                value.replace("a", "\u00e1"),
                [value],
            ):
                if other != value:
                    yield f"{name} {other!r}", {**arguments, name: other}


def test_a_malformed_call_is_refused_as_the_benchmark_refuses_it(imported):
    """The published tools are plain methods: they convert nothing but what their models convert."""
    _, desk = imported
    seen = Counter()
    for case in desk.cases.values():
        calls = reference(case)
        for at in desk.writes(calls):
            tool, arguments = calls[at]
            if seen[tool] >= 40:
                continue
            for how, other in malformed(tool, arguments):
                step = desk.episode(case, [*calls[:at], (tool, other)]).calls[-1]
                assert step.status in ("error", "refused"), f"{case.id} {tool} {how}"
                seen[tool] += 1
    assert len(seen) == 5
    assert min(seen.values()) >= 5, seen


@pytest.mark.parametrize("written", [str, "{}.0".format, " {} ".format])
def test_numbers_that_the_published_models_convert_are_taken_as_text(imported, written):
    _, desk = imported
    case = desk.cases["airline-23"]
    calls = [
        (tool, {
            **arguments,
            "total_baggages": written(arguments["total_baggages"]),
            "payment_methods": [{**paid, "amount": written(paid["amount"])} for paid in arguments["payment_methods"]],
        }) if tool == "book_reservation" else (tool, arguments)
        for tool, arguments in reference(case)
    ]  # fmt: skip
    trajectory = desk.episode(case, calls)
    assert {step.status for step in trajectory.calls} == {"ok"}
    assert desk.labels(case, trajectory)["db"].outcome == "passed"
