"""A made-up provider in the published format, TOML included, and tasks with each of the faults that a phone may have."""

import json
from pathlib import Path

DATABASE = """\
[[plans]]
plan_id = "P1"
name = "Small"
data_limit_gb = 5.0
price_per_month = 40.0
data_refueling_price_per_gb = 2.0

[[customers]]
customer_id = "C1"
full_name = "Ada Öst"
date_of_birth = "1985-06-15"
email = "ada@example.com"
phone_number = "555-000-1001"
account_status = "Active"
line_ids = ["L1", "L2"]
bill_ids = ["B77"]
created_at = 2025-01-15T10:30:00
[customers.address]
street = "1 Quay"
city = "Larkton"
state = "CA"
zip_code = "90210"
[[customers.payment_methods]]
method_type = "Credit Card"
account_number_last_4 = "1234"
expiration_date = "12/2026"

[[customers]]
customer_id = "C2"
full_name = "Bo Berg"
date_of_birth = "1990-01-01"
email = "bo@example.com"
phone_number = "555-000-2001"
line_ids = ["L3"]

[[lines]]
line_id = "L1"
phone_number = "555-000-1001"
status = "Active"
plan_id = "P1"
device_id = "D1"
data_used_gb = 1.5
contract_end_date = 2026-12-31

[[lines]]
line_id = "L2"
phone_number = "555-000-1002"
status = "Active"
plan_id = "P1"
data_used_gb = 0.5
roaming_enabled = true

[[lines]]
line_id = "L3"
phone_number = "555-000-2002"
status = "Pending Activation"
plan_id = "P1"

[[bills]]
bill_id = "B77"
customer_id = "C1"
period_start = 2025-01-01
period_end = 2025-01-31
issue_date = 2025-02-01
total_due = 40.0
due_date = 2025-02-15
status = "Paid"
[[bills.line_items]]
description = "Plan"
amount = 40.0
date = 2025-02-01
item_type = "Plan Charge"

[[devices]]
device_id = "D1"
device_type = "phone"
model = "One"
is_esim_capable = true
activated = true
activation_date = 2024-01-15T09:00:00
"""
#: Some of a phone: what is left out is as usual.
USER_DATABASE = """\
[device]
battery_level = 64
[device.app_statuses.messaging]
app_name = "messaging"
[device.app_statuses.messaging.permissions]
sms = true
storage = true
phone = true
"""
POLICY = {"main_policy.md": "Help with lines.\n", "tech_support_manual.md": "Look at the status bar first.\n"}
BILL, OWNER = "B900", {"customer_id": "C1", "line_id": "L1"}


def user(name, /, **arguments):
    return ("user", name, arguments)


def desk(name, /, **arguments):
    return ("assistant", name, arguments)


_NO_SERVICE = [
    user("assert_service_status", expected_status="connected"),
    desk("assert_no_overdue_bill", overdue_bill_id=BILL),
]
_SLOW = [
    user("assert_mobile_data_status", expected_status=True),
    user("assert_internet_speed", expected_speed=200, expected_desc="excellent"),
]
_MMS = [user("assert_can_send_mms", expected_status=True)]
_SUSPENDED = [
    desk("suspend_line_for_overdue_bill", **OWNER, new_bill_id=BILL, contract_ended=False),
    user("simulate_network_search"),
]
_PAID = [
    desk("send_payment_request", customer_id="C1", bill_id=BILL),
    user("make_payment"),
    desk("resume_line", **OWNER),
    user("reboot_device"),
]
_RESET = [user("reset_apn_settings"), user("reboot_device")]
#: Name -> what spoils it, what mends it, what must hold then.
FAULTS = {
    "airplane": ([user("turn_airplane_mode_on")], [user("toggle_airplane_mode")], _NO_SERVICE),
    "sim": ([user("unseat_sim_card")], [user("reseat_sim_card")], _NO_SERVICE),
    "apn": ([user("break_apn_settings")], _RESET, _NO_SERVICE),
    "bill": (_SUSPENDED, _PAID, _NO_SERVICE),
    "data": ([user("turn_data_off")], [user("toggle_data")], _SLOW),
    "saver": ([user("turn_data_saver_mode_on")], [user("toggle_data_saver_mode")], _SLOW),
    "slow-network": (
        [user("set_network_mode_preference", mode="2g_only")],
        [user("set_network_mode_preference", mode="4g_5g_preferred")],
        _SLOW,
    ),
    "vpn": ([user("break_vpn")], [user("disconnect_vpn")], _SLOW),
    "used-up": (
        [desk("set_data_usage", **OWNER, data_used_gb=5.1)],
        [desk("refuel_data", **OWNER, gb_amount=2.0)],
        [*_SLOW, desk("assert_data_refueling_amount", **OWNER, expected_amount=2.0)],
    ),
    "abroad": (
        [user("set_user_location", abroad=True), user("turn_roaming_off"), desk("disable_roaming", **OWNER)],
        [desk("enable_roaming", **OWNER), user("toggle_roaming")],
        _SLOW,
    ),
    "wifi-calling": ([user("set_wifi_calling", enabled=True, mms_over_wifi=True)], [user("toggle_wifi_calling")], _MMS),
    "mmsc": ([user("break_apn_mms_setting")], _RESET, _MMS),
    "permissions": (
        [user("remove_app_permission", app_name="messaging", permission=name) for name in ("sms", "storage")],
        [user("grant_app_permission", app_name="messaging", permission=name) for name in ("sms", "storage")],
        _MMS,
    ),
}


def task(name, spoilt, mended, held, **criteria):
    """A task as it is published."""
    known = {"env_type": 0, "func_name": 1, "arguments": 2}
    action = {"requestor": 0, "name": 1, "arguments": 2}
    begin = [user("set_user_info", name="Ada Öst", phone_number="555-000-1001"), *spoilt]

    def written(calls, form):
        return [{key: call[at] for key, at in form.items()} for call in calls]

    return {
        "id": f"[made_up_issue]{name}|made_up[PERSONA:Easy]",
        "description": {"purpose": "made up"},
        "user_scenario": {
            "persona": "Easy-going.",
            "instructions": {
                "domain": "telecom",
                "reason_for_call": "Your phone does not work.",
                "known_info": "You are Ada Öst with phone number 555-000-1001.",
                "task_instructions": "Do what the agent asks you to do.",
            },
        },
        "ticket": None,
        "initial_state": {"initialization_actions": written(begin, known)},
        "evaluation_criteria": {
            "actions": [{"action_id": f"a{at}", **call} for at, call in enumerate(written(mended, action))],
            "env_assertions": written(held, known),
            "reward_basis": ["ENV_ASSERTION"],
            **criteria,
        },
    }


def tasks():
    """A task for each fault, three that have several, and one in which nothing helps but a human."""
    made = [task(name, *fault) for name, fault in FAULTS.items()]
    made += [
        task("+".join(names), *([call for name in names for call in FAULTS[name][part]] for part in range(3)))
        for names in (("airplane", "data", "saver"), ("sim", "vpn"), ("abroad", "mmsc", "permissions"))
    ]
    locked = task(
        "locked", [user("lock_sim_card", mode="pin")], [], [user("assert_service_status", expected_status="no_service")]
    )
    transfer = {
        "action_id": "t",
        "name": "transfer_to_human_agents",
        "arguments": {"summary": "I cannot."},
        "compare_args": [],
    }
    locked["evaluation_criteria"] |= {"actions": [transfer], "reward_basis": ["ENV_ASSERTION", "ACTION"]}
    both = task("bill-and-end", *FAULTS["bill"], reward_basis=["DB", "ENV_ASSERTION"])
    return [*made, locked, both]


def write(root: Path) -> Path:
    folder = root / "telecom"
    folder.mkdir(parents=True)
    (folder / "tasks.json").write_text(json.dumps(tasks(), indent=2, ensure_ascii=False), encoding="utf-8")
    (folder / "db.toml").write_text(DATABASE, encoding="utf-8")
    (folder / "user_db.toml").write_text(USER_DATABASE, encoding="utf-8")
    for name, text in POLICY.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
