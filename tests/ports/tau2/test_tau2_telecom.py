"""The provider of tau2-bench and its user's phone, over a made-up database: each fault, what mends it, and what an altered list leaves broken."""

import tomllib

import made_up_telecom
import pytest
from tau2_play import Played, reference
from wrong_values import assert_all_are_answered

from pytest_mapsat.model import Step, Turn
from pytest_mapsat.ports.tau2 import assertion_holds
from pytest_mapsat.ports.tau2.importer import import_tau2
from pytest_mapsat.ports.tau2.telecom import TelecomWorld
from pytest_mapsat.ports.tau2.world import facts_of
from pytest_mapsat.sandbox import Refused, State, Table, make_sandbox
from pytest_mapsat.users import ScriptedUser


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    root = tmp_path_factory.mktemp("telecom")
    report = import_tau2(made_up_telecom.write(root / "published"), root / "suite")
    return report, Played(root / "suite")


@pytest.fixture(scope="module")
def line(imported):
    return imported[1]


def test_what_mends_a_fault_mends_it(imported):
    report, line = imported
    assert [str(note) for note in report.notes if note.kind != "silent"] == []
    assert report.cases == len(made_up_telecom.tasks())
    for case in line.cases.values():
        trajectory = line.episode(case, reference(case))
        assert [call for call in trajectory.all_calls if call.status != "ok"] == [], case.id
        card = line.card(case, trajectory)
        assert card.metrics["tau_env"] == card.metrics["tau_reward"] == 1.0, case.id


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long_proof)])
def test_each_call_that_is_left_out_is_missed(line, step):
    for case in [*line.cases.values()][::step]:
        calls = reference(case)
        for at in range(len(calls)):
            card = line.card(case, line.episode(case, calls[:at] + calls[at + 1 :]))
            assert card.metrics["tau_reward"] == 0.0, f"{case.id} without {calls[at]}"


def test_nothing_is_mended_by_doing_nothing(imported):
    report, line = imported
    for case in line.cases.values():
        assert line.card(case, line.episode(case, [])).metrics["tau_reward"] == 0.0, case.id
        assert case.attributes["silent"] == "fails"
    assert report.notes == ()  # none that a silent agent passes


def test_toggles_that_are_played_twice_are_back_where_they_were(line):
    tried = 0
    for case in line.cases.values():
        calls = reference(case)
        for at, call in enumerate(calls):
            if call[0].startswith("toggle_"):
                card = line.card(case, line.episode(case, [*calls[:at], call, *calls[at:]]))
                assert card.metrics["tau_reward"] == 0.0, case.id
                tried += 1
    assert tried >= 6


def test_the_end_of_both_databases_counts_where_the_basis_names_it(line):
    case = next(case for case in line.cases.values() if any(asked.id == "db" for asked in case.truth.requirements))
    calls = reference(case)
    assert line.card(case, line.episode(case, calls)).metrics["tau_db"] == 1.0
    too_much = line.card(case, line.episode(case, [*calls, ("toggle_wifi", {})]))
    assert (too_much.metrics["tau_env"], too_much.metrics["tau_db"]) == (1.0, 0.0)
    elsewhere = [*calls, ("refuel_data", {"customer_id": "C1", "line_id": "L2", "gb_amount": 1.0})]
    assert line.card(case, line.episode(case, elsewhere)).metrics["tau_db"] == 0.0


def test_an_action_is_called_by_the_agent_and_any_summary_will_do(line):
    case = next(case for case in line.cases.values() if any(asked.id == "action" for asked in case.truth.requirements))
    handed_over = [("transfer_to_human_agents", {"summary": "A locked SIM card."})]
    assert line.card(case, line.episode(case, handed_over)).metrics["tau_action"] == 1.0


def test_the_ids_of_tasks_tell_no_agent_what_is_broken(line):
    for case in line.cases.values():
        assert "made_up" not in case.visible.model_dump_json()
        assert case.attributes["persona"] == "Easy"
        assert case.attributes["issue"].endswith("_issue")


class Hands:
    def __init__(self):
        self.tools = {}
        self.made = []

    def call(self, name, arguments):
        self.made.append((name, arguments))
        return Step(kind="call", tool=name, arguments=arguments, result="Done.")


@pytest.mark.parametrize(
    ("fault", "words", "calls"),
    [
        ("airplane", "Please turn off airplane mode.", ["toggle_airplane_mode"]),
        ("airplane", "Could you tell me what the status bar shows?", ["check_status_bar"]),
        ("sim", "Please reseat your SIM card.", ["reseat_sim_card"]),
        ("apn", "Please reset your APN settings. Then restart your phone.", ["reset_apn_settings", "reboot_device"]),
        ("bill", "Please make the payment. Then reboot your phone.", ["make_payment", "reboot_device"]),
        ("data", "Please turn on mobile data.", ["toggle_data"]),
        ("saver", "Please turn off Data Saver.", ["toggle_data_saver_mode"]),
        ("saver", "Could you run a speed test?", ["run_speed_test"]),
        ("slow-network", "Please change the network mode.", ["set_network_mode_preference"]),
        ("vpn", "Please disconnect your VPN.", ["disconnect_vpn"]),
        ("abroad", "Please enable data roaming.", ["toggle_roaming"]),
        ("wifi-calling", "Please turn off Wi-Fi calling.", ["toggle_wifi_calling"]),
        ("permissions", "Please grant the storage permission.", ["grant_app_permission"]),
        ("permissions", "Could you try to send an MMS?", ["can_send_mms"]),
    ],
)
def test_the_user_does_what_an_agent_asks_for_in_its_own_words(line, fault, words, calls):
    case = next(case for case in line.cases.values() if f"_{fault}_made_up" in case.id)
    hands = Hands()
    ScriptedUser(case.truth.user).reply([Turn(role="user", text="Hi."), Turn(role="agent", text=words)], hands)
    assert [name for name, _ in hands.made] == calls


# -- the desk and the phone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grade", [1e308, [], {"a": 1}])
def test_an_assertion_with_arguments_of_another_type_does_not_hold_and_breaks_nothing(line, grade):
    state = make_sandbox(next(iter(line.cases.values())), line.suite)._state
    arguments = {"expected_speed": 0, "expected_desc": grade}
    held, why = assertion_holds(state, "telecom", "assert_internet_speed", arguments)
    assert held is None
    assert "lower" in why


def test_no_value_that_an_agent_or_user_gives_breaks_the_world(line):
    case = next(iter(line.cases.values()))
    own = {"customer_id": "C1", "line_id": "L1"}
    usual = {"refuel_data": {**own, "gb_amount": 1.0}, "suspend_line": own, "resume_line": own, "get_data_usage": own}
    assert_all_are_answered(lambda: make_sandbox(case, line.suite), usual)


@pytest.fixture
def world():
    databases = tomllib.loads(made_up_telecom.DATABASE), tomllib.loads(made_up_telecom.USER_DATABASE)
    tables = {
        name: Table(name, tuple(_plain(row) for row in rows)) for name, rows in TelecomWorld.tables(*databases).items()
    }
    begun = TelecomWorld(State(tables))
    begun.set_user_info(name="Ada Öst", phone_number="555-000-1001")
    return begun


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def test_customers_are_found_by_number_name_and_id(world):
    assert world.get_customer_by_phone(phone_number="(555) 000 1002")["customer_id"] == "C1"
    assert [row["customer_id"] for row in world.get_customer_by_name(full_name="ada ost", dob="1985-06-15")] == ["C1"]
    assert world.get_customer_by_name(full_name="Ada Öst", dob="1985-06-16") == []
    assert world.get_details_by_id(id="D1")["model"] == "One"
    with pytest.raises(Refused, match="no customer has this phone number"):
        world.get_customer_by_phone(phone_number="")
    with pytest.raises(Refused, match="ids begin with"):
        world.get_details_by_id(id="X1")


def test_a_line_is_suspended_and_resumed_as_it_was(world):
    before = world.get_details_by_id(id="L1")
    assert world.suspend_line(**made_up_telecom.OWNER, reason="lost")["suspension_start_date"] == "2025-02-25"
    assert world.surroundings["line_active"] is False
    world.reboot_device()
    assert "No Signal" in world.check_status_bar()
    with pytest.raises(Refused, match="only an active line"):
        world.suspend_line(**made_up_telecom.OWNER, reason="lost")
    assert world.resume_line(**made_up_telecom.OWNER) == before
    with pytest.raises(Refused, match="no such line"):
        world.resume_line(customer_id="C2", line_id="L1")


def test_refuelled_data_is_on_the_next_bill_in_whatever_order_it_was_asked_for(world):
    world.refuel_data(**made_up_telecom.OWNER, gb_amount=2.0)
    world.refuel_data(customer_id="C1", line_id="L2", gb_amount=1.5)
    (bill, _) = world.get_bills_for_customer(customer_id="C1")
    assert (bill["status"], bill["total_due"], bill["period_start"], bill["period_end"]) == (
        "Draft",
        7.0,
        "2025-03-01",
        "2025-03-31",
    )
    assert [item["description"] for item in bill["line_items"]] == [
        "Data refueling: 1.5 GB at $2/GB",
        "Data refueling: 2 GB at $2/GB",
    ]
    assert world.get_data_usage(**made_up_telecom.OWNER)["cycle_end_date"] == "2025-02-28"
    assert world.get_bills_for_customer(customer_id="C1", limit=-1) == []
    with pytest.raises(Refused, match="above 0"):
        world.refuel_data(**made_up_telecom.OWNER, gb_amount=0)


def test_a_payment_goes_from_the_request_to_the_bill(world):
    assert world.make_payment() == "No payment is asked for."
    world.suspend_line_for_overdue_bill(**made_up_telecom.OWNER, new_bill_id="B900", contract_ended=True)
    assert world.get_details_by_id(id="L1")["contract_end_date"] == "2025-01-31"
    world.send_payment_request(customer_id="C1", bill_id="B900")
    assert "40.0 USD for the bill B900" in world.check_payment_request()
    with pytest.raises(Refused, match="waits for its payment already"):
        world.send_payment_request(customer_id="C1", bill_id="B77")
    world.make_payment()
    assert world.get_details_by_id(id="B900")["status"] == "Paid"
    assert world.surroundings["payment_request"] is None


def test_speed_follows_network_signal_vpn_and_data_saver(world):
    assert world.run_speed_test() == "Speed Test Result: 220.00 Mbps (Excellent)"
    world.toggle_data_saver_mode()
    assert "44.00 Mbps (Good)" in world.run_speed_test()
    world.break_vpn()
    assert "4.40 Mbps (Poor)" in world.run_speed_test()
    for mode, told in (("4g_only", "0.88 Mbps (Very Poor)"), ("3g_only", "0.03 Mbps"), ("2g_only", "0.00 Mbps")):
        world.set_network_mode_preference(mode=mode)
        assert told in world.run_speed_test(), mode
    world.toggle_data()
    assert world.run_speed_test() == "Speed test failed: No Connection"


def test_airplane_mode_cuts_wifi_and_vpn(world):
    world.toggle_wifi()
    world.connect_vpn()
    world.toggle_airplane_mode()
    assert world.check_vpn_status()["connected"] is False
    assert "cannot be changed" in world.toggle_wifi()
    assert world.check_network_status()["network_connection_status"] == "no_service"
    world.toggle_airplane_mode()
    assert world.check_network_status()["network_connection_status"] == "connected"


def test_permissions_and_apn_settings_that_are_not_there_change_nothing(world):
    before = dict(world.device)
    assert "Error" in world.grant_app_permission(app_name="camera", permission="sms")
    assert "Error" in world.grant_app_permission(app_name="messaging", permission="soul")
    assert dict(world.device) == before
    world.set_apn_settings(apn_settings={"apn_name": "internet", "mmsc_url": None, "unknown": 1})
    assert world.can_send_mms().endswith("cannot send MMS messages.")
    assert "unknown" not in world.device["active_apn_settings"]


def test_every_tool_of_the_user_is_its_own_and_of_the_world_nobodys():
    facts = facts_of(TelecomWorld)
    sides = {by: {name for name, fact in facts.items() if fact.by == by} for by in ("agent", "user", "world")}
    assert (len(sides["agent"]), len(sides["user"])) == (13, 30)
    assert {"set_user_info", "break_vpn", "simulate_network_search"} <= sides["world"]
