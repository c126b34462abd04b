"""Personal data in conversations: what is found, where, and that nothing of it is left behind."""

import json

import pytest

from pytest_mapsat.formats import PersonalData


def cleaned(value):
    """Return the value without personal data, and what was found."""
    personal = PersonalData()
    personal.look(value, "log")
    return personal.clean(value), personal.found


@pytest.mark.parametrize(
    "text",
    [
        "call me on 555-0142 please", "+49 170 5551234", "+351912345678", "(415) 555-0123", "415.555.0123", "0171/1234567", "01 23 45 67 89", "020 7946 0958",
        "+1 (415) 555 0123", "0049 30 123456", "13800138000", "138-0013-8000", "138 0013 8000", "+86 138 0013 8000", "电话13800138000。", "１３８００１３８０００",
        "010-62345678转12", "400-820-8820", "1 3 8 0 0 1 3 8 0 0 0", "five five five zero one four two", "double five five zero one four two",
        "幺三八零零幺三八零零零", "my number: tel. 5550199", "拨打 62345678",
    ],
)  # fmt: skip
def test_a_telephone_number_is_found_however_it_is_written(text):
    clean, found = cleaned({"content": text})
    assert {datum.kind for datum in found} == {"telephone number"}
    assert "phone-1" in clean["content"]
    assert cleaned(clean)[1] == []


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-05-16 at 18:30", "05/16/2026", "01/01-12/31", "open 9:00-18:00", "between 100-2000 m", "116.397428,39.90923", "rated 4.5 by 1,234 people", "order 20260516123456",
        "parcel 1Z999AA10123456784", "1747400000000", "B0FFG1234567", "flight LH 1234", "price 100-200", "the home of jazz", "bus 062-069", "2026-11-26T18:30:00+08:00",
        "platform 12 at 18.30", "room 1204", "10:30:00", "version 1.2.3", "127.0.0.1", "pin the map", "sk_places_nearby_search", "your order ID is 12345",
    ],
)  # fmt: skip
def test_dates_prices_points_and_ids_are_not_personal(text):
    assert cleaned({"content": text}) == ({"content": text}, [])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to Ana.Silva+x@mail.example.org", "e-mail address"),
        ("mail: x＠example.com", "e-mail address"),
        ("ana (at) example.org", "e-mail address"),
        ("京A12345", "number plate"),
        ("粤B·D12345", "number plate"),
        ("车牌号 沪AD12345", "number plate"),
        ("M-AB 1234 is parked there", "number plate"),
        ("AB12 CDE", "number plate"),
        ("licence plate 7ABC123", "number plate"),
        ("4111 1111 1111 1111", "card number"),
        ("4111-1111-1111-1111", "card number"),
        ("home is at 48.13743, 11.57549.", "home position"),
        ("身份证号110105194912310021。", "identity number"),
        ("SSN 123-45-6789", "identity number"),
        ("NI number AB 12 34 56 C", "identity number"),
        ("my ID card number: 123456789", "identity number"),
        ("driving licence number MORGA657054SM9IJ", "identity number"),
        ("passport number is X1234567", "passport number"),
        ("护照号码：E12345678", "passport number"),
        ("EA1234567 is mine", "passport number"),
        ("DE89 3704 0044 0532 0130 00", "account number"),
        ("from 203.0.113.7 today", "IP address"),
        ("at 2001:db8::ff00:42:8329", "IP address"),
        ("sk-proj-abcdEFGH1234567890xyz", "secret"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "secret"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "secret"),
        ("my PIN is 4471", "secret"),
        ("密码：abc12345", "secret"),
        ("我家在116.397428，39.90923", "home position"),
    ],
)
def test_other_kinds_are_found_and_replaced(text, kind):
    clean, found = cleaned({"content": text})
    assert {datum.kind for datum in found} == {kind}
    assert clean["content"] != text
    assert cleaned(clean)[1] == []


def test_a_paper_is_known_by_its_field_and_then_wherever_it_stands():
    value = {"passportNumber": "X1234567", "user": {"national_id": 12345678}, "note": "x 123 4567, and 12345678", "ip": "10.2.3.4"}  # fmt: skip
    clean, found = cleaned(value)
    assert {datum.kind for datum in found} == {"passport number", "identity number", "IP address"}
    assert clean == {"passportNumber": "passport-1", "user": {"national_id": "identity-1"}, "note": "passport-1, and identity-1", "ip": "ip-1"}  # fmt: skip


def test_a_number_that_is_no_card_s_stays():
    assert cleaned("4111 1111 1111 1112")[1] == []


def test_one_value_has_one_alias_in_texts_keys_numbers_and_json_within_texts():
    value = {
        "13800138000": "the caller",
        "arguments": json.dumps({"mobile": "+86 138-0013-8000", "backup": {"tel": 5550199}}),
        "result": {"contact": {"phone": 13800138000}, "note": "ask 5550199 or 138 0013 8000"},
        "escaped": '{"tel": "\\uff11\\uff13800138000"}',
        "order_id": "4155550123",
    }
    clean, found = cleaned(value)
    text = json.dumps(clean)
    assert text.count("phone-1") == 5
    assert text.count("phone-2") == 2
    assert "138" not in text
    assert "5550199" not in text
    assert clean["order_id"] == "4155550123"
    places = {datum.place for datum in found}
    assert {"log, a key", "log.arguments.mobile", "log.arguments.backup.tel", "log.result.contact.phone"} <= places
    assert all("138001" not in str(datum) for datum in found)


@pytest.mark.parametrize(
    "home",
    [
        {"home": {"lon": 116.397428, "lat": 39.90923}},
        {"saved": [{"label": "home", "lng": "116.397428", "lat": "39.90923"}]},
        {"location": {"name": "家", "point": "116.397428,39.90923"}},
        {"homeLocation": [39.90923, 116.397428]},
        {"profile": {"user_home": {"address": "x", "location": {"longitude": 116.397428, "latitude": 39.90923}}}},
    ],
)
def test_home_is_cut_to_a_kilometre_wherever_its_point_stands(home):
    rest = {
        "origin": "116.39743,39.90923",
        "asked": {"from_lon": 116.3974, "from_lat": 39.9092},
        "words": "start at (39.90923, 116.397428)",
        "there": {"lon": 116.482145, "lat": 39.990039},
    }
    clean, found = cleaned({**home, **rest})
    assert {datum.kind for datum in found} == {"home position"}
    assert "116.397" not in json.dumps(clean)
    assert "39.909" not in json.dumps(clean)
    assert clean["asked"] == {"from_lon": 116.4, "from_lat": 39.91}
    assert clean["there"] == rest["there"]


def test_hostile_texts_are_read_in_a_moment():
    clean, _ = cleaned(
        {"a": "1-" * 20_000, "b": "(" * 20_000, "c": "zero " * 4000, "d": "a" * 20_000 + "@", "e": "[" * 5000}
    )
    assert clean["b"] == "(" * 20_000
