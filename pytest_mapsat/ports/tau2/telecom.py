"""The domain telecom: the user's phone with its settings and surroundings; customers, lines, plans, devices and bills on the agent's side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import count
from typing import Annotated, Literal

from pydantic import Field

from pytest_mapsat.formats import package_data
from pytest_mapsat.model import Json, JsonObject
from pytest_mapsat.sandbox import Refused, Row, State

from .world import TauDesk, acts, fold, looks, overlaid, tool

_DATA = package_data(__package__, "telecom.yaml")
#: A phone as it is where nothing else is published.
DEVICE: JsonObject = _DATA["device"]
_APN: JsonObject = DEVICE["active_apn_settings"]
#: Where a user is, and what the provider lets the line do, where nothing else is published.
SURROUNDINGS: JsonObject = _DATA["surroundings"]
_VPN: JsonObject = _DATA["vpn"]
_NO_WIFI: JsonObject = _DATA["no_wifi"]
#: The network of each mode that asks for one.
_ONLY = {"4g_only": "4G", "3g_only": "3G", "2g_only": "2G"}
#: Megabits per second that a network gives, on average, and the share of it that a signal leaves.
_SPEED = {"2G": 0.25, "3G": 3.0, "4G": 55.0, "5G": 275.0}
_SHARE = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
_GRADES = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"))
_SIM: Mapping[str, str] = _DATA["sim"]
Mode = Literal["4g_5g_preferred", "4g_only", "3g_only", "2g_only"]
App = Annotated[str, Field(description="such as 'messaging'")]
Permission = Annotated[str, Field(description="sms, storage, phone or network")]


def _on(value: object) -> str:
    """Return ``ON`` for a true value, else ``OFF``."""
    return "ON" if value else "OFF"


def _setup(name: str, about: str, columns: Mapping[str, Json], *, search: bool = True) -> Callable[[Phone], str]:
    """Return a setup tool that sets columns of the phone, looks for a network where ``search`` is true, and shows the status bar."""

    def prepare(self: Phone) -> str:
        """Set the columns of the phone, look for a network where wanted, and return the status bar."""
        if columns:
            self.set(**columns)
        if search:
            self.search()
        return self.bar()

    prepare.__name__, prepare.__doc__ = name, about
    return tool(by="world")(prepare)


def _switch(name: str, about: str, asked: Sequence[str], title: str, column: str) -> Callable[[Phone], str]:
    """Return a tool of the user that switches a setting of the phone on or off."""

    def toggle(self: Phone) -> str:
        """Switch the setting, and return its new state and the status bar."""
        return self._toggle(title, column)

    toggle.__name__, toggle.__doc__ = name, about
    return acts(*asked)(toggle)


class Phone(TauDesk):
    """The user's phone and the tools to use it; settings that affect the network make it look for a network again."""

    user_keys = {"device": "id", "surroundings": "id"}  # noqa: RUF012

    @property
    def device(self) -> Row:
        """Return the row of the phone itself."""
        return self.rows("device")["device"]

    @property
    def surroundings(self) -> Row:
        """Return the row with where the user is, and what the provider allows the line."""
        return self.rows("surroundings")["surroundings"]

    def surround(self, **columns: Json) -> None:
        """Change columns of the surroundings, where a value differs."""
        if any(self.surroundings[name] != value for name, value in columns.items()):
            self.rows("surroundings").change("surroundings", **columns)

    def set(self, **columns: Json) -> None:
        """Change columns of the phone."""
        self.rows("device").change("device", **columns)

    # -- looking

    @looks("status bar")
    def check_status_bar(self) -> str:
        """Look at the status bar: signal, network, mobile data, Wi-Fi and battery."""
        return self.bar()

    def bar(self) -> str:
        """Return the status bar as text: signal, network and mobile data or airplane mode, Wi-Fi, VPN and battery."""
        device = self.device
        parts = ["Airplane Mode"] if device["airplane_mode"] else list(self._cellular())
        if device["wifi_enabled"] and device["wifi_connected"]:
            parts.append(f"Wi-Fi {device['wifi_ssid'] or 'on'}")
        if device["vpn_connected"]:
            parts.append("VPN Connected")
        parts.append(f"Battery {device['battery_level']}%")
        return f"Status Bar: {' | '.join(parts)}"

    def _cellular(self) -> list[str]:
        """Return the parts of the status bar for signal, network and mobile data."""
        device = self.device
        signal, network = device["network_signal_strength"], device["network_technology_connected"]
        parts = ["No Signal" if signal == "none" else f"Signal {signal.title()}"]
        if network == "none":
            return [*parts, "Data Disabled"]
        if not device["data_enabled"]:
            return [*parts, network, "Data Disabled"]
        return [*parts, network, "Data Enabled", *(["Data Saver"] if device["data_saver_mode"] else [])]

    @looks("network status", "connection status")
    def check_network_status(self) -> JsonObject:
        """Look at the connections of the phone: airplane mode, SIM card, signal, network, mobile data, roaming and Wi-Fi."""
        device = self.device
        return {"sim_card_status": self._sim(), **{name: device[name] for name in _DATA["status"]}}

    @looks("network mode preference", "preferred network mode")
    def check_network_mode_preference(self) -> str:
        """Look at which networks the phone prefers."""
        return f"Network Mode Preference: {self.device['network_mode_preference']}"

    @looks("speed test")
    def run_speed_test(self) -> str:
        """Measure the speed of mobile data."""
        speed, grade = self._speed()
        return f"Speed test failed: {grade}" if speed is None else f"Speed Test Result: {speed:.2f} Mbps ({grade})"

    @looks("sim card status", "check the sim", "check your sim")
    def check_sim_status(self) -> str:
        """Look whether the SIM card works, is missing, or is locked."""
        return _SIM.get(self._sim(), f"The SIM card is {self._sim()}.")

    @looks("data restriction", "data saver status")
    def check_data_restriction_status(self) -> str:
        """Look whether Data Saver limits mobile data."""
        return f"Data Saver mode is {_on(self.device['data_saver_mode'])}."

    @looks("check apn settings", "check your apn", "check the apn")
    def check_apn_settings(self) -> str:
        """Look at the settings for mobile data and picture messages (APN)."""
        apn = self.device["active_apn_settings"]
        return f"APN Name: {apn['apn_name'] or 'Not Set'}; MMSC URL: {apn['mmsc_url'] or 'Not Set'}"

    @looks("wi-fi status", "wifi status")
    def check_wifi_status(self) -> str:
        """Look whether Wi-Fi is on, and connected."""
        device = self.device
        if not device["wifi_enabled"]:
            return "Wi-Fi is OFF."
        if not device["wifi_connected"]:
            return "Wi-Fi is ON and connected to no network."
        return f"Wi-Fi is ON and connected to {device['wifi_ssid']}. Signal: {device['wifi_signal_strength']}."

    @looks("wi-fi calling status", "wifi calling status", "check wi-fi calling", "check wifi calling")
    def check_wifi_calling_status(self) -> str:
        """Look whether calls go over Wi-Fi."""
        return f"Wi-Fi Calling is {_on(self.device['wifi_calling_enabled'])}."

    @looks("vpn status", "check your vpn", "using a vpn")
    def check_vpn_status(self) -> JsonObject:
        """Look whether a VPN is connected, and to what."""
        device = self.device
        return {
            "enabled": device["vpn_enabled_setting"],
            "connected": device["vpn_connected"],
            "details": device["vpn_details"],
        }

    @looks("installed apps")
    def check_installed_apps(self) -> list[str]:
        """List the apps on the phone."""
        return list(self.device["app_statuses"])

    @looks("app status")
    def check_app_status(self, app_name: App) -> str:
        """Look at an app, and what it may do."""
        return self._allowed(app_name)

    @looks("app permissions")
    def check_app_permissions(self, app_name: App) -> str:
        """Look at what an app may do."""
        return self._allowed(app_name)

    def _allowed(self, app_name: str) -> str:
        """Return a sentence with the permissions of an app, or that there is no such app."""
        app = self.device["app_statuses"].get(app_name)
        if app is None:
            return f"There is no app {app_name!r} on this phone."
        allowed = [name for name, granted in app["permissions"].items() if granted]
        return f"The app {app_name} has permission for: {', '.join(allowed) or 'nothing'}."

    @looks("can send mms", "can send an mms", "try to send an mms", "send a picture message")
    def can_send_mms(self) -> str:
        """Try whether the messaging app can send picture messages (MMS)."""
        return f"Your messaging app {'can' if self._sends_mms() else 'cannot'} send MMS messages."

    @looks("check payment request", "payment request arrived", "received a payment request")
    def check_payment_request(self) -> str:
        """Look whether the agent asks you to pay a bill."""
        request = self.surroundings["payment_request"]
        if request is None:
            return "No payment is asked for."
        return f"You are asked to pay {request['amount_due']} USD for the bill {request['bill_id']}."

    # -- acting

    @acts("turn off airplane mode", "turn airplane mode off", "disable airplane mode")
    def toggle_airplane_mode(self) -> str:
        """Turn airplane mode on or off. On, it cuts mobile network, Wi-Fi and VPN."""
        on = not self.device["airplane_mode"]
        return f"Airplane Mode is now {_on(on)}.\n{self.airplane(on=on)}"

    def airplane(self, *, on: bool) -> str:
        """Turn airplane mode on or off, and return the status bar."""
        if on:
            self._disconnect()
        self.set(airplane_mode=on, **(_NO_WIFI if on or self.device["wifi_enabled"] else {}))
        self.search()
        return self.bar()

    @acts("reseat", "re-seat", "reinsert", "re-insert")
    def reseat_sim_card(self) -> str:
        """Take the SIM card out and put it in again."""
        self.set(sim_card_missing=False)
        self.search()
        return self._with_status_bar("The SIM card is in its place.")

    @acts("set network mode", "change network mode", "change the network mode")
    def set_network_mode_preference(self, mode: Mode) -> str:
        """Choose which networks the phone prefers."""
        self.set(network_mode_preference=mode)
        self.search()
        return self._with_status_bar(f"Preferred Network Mode set to: {mode}")

    @acts("set apn")
    def set_apn_settings(self, apn_settings: JsonObject) -> str:
        """Set the settings for mobile data and picture messages (APN); what is not given is as usual."""
        settings = {name: value for name, value in apn_settings.items() if name in _APN}
        self.set(active_apn_settings={**_APN, **settings})
        self.search()
        return self._with_status_bar(f"APN settings set to: {self.device['active_apn_settings']['apn_name']}")

    @acts("reset your apn", "reset the apn")
    def reset_apn_settings(self) -> str:
        """Set the APN settings back to the usual ones, at the next reboot."""
        self.set(active_apn_settings={**self.device["active_apn_settings"], "reset_at_reboot": True})
        self.search()
        return self._with_status_bar("The APN settings will be reset at the next reboot.")

    @acts("wi-fi radio", "wifi radio")
    def toggle_wifi(self) -> str:
        """Turn Wi-Fi on or off; not while airplane mode is on."""
        if self.device["airplane_mode"]:
            return self._with_status_bar("Wi-Fi cannot be changed while Airplane Mode is ON.")
        on = not self.device["wifi_enabled"]
        self.set(wifi_enabled=on, **({} if on else _NO_WIFI))
        return self._with_status_bar(f"Wi-Fi is now {_on(on)}.")

    @acts("connect to your vpn")
    def connect_vpn(self) -> str:
        """Connect to your VPN."""
        if self.device["vpn_connected"]:
            return "The VPN is connected already."
        self.set(vpn_connected=True, vpn_details=_VPN)
        return self._with_status_bar("The VPN is connected.")

    @acts("disconnect your vpn", "disconnect from your vpn", "disconnect the vpn", "turn off your vpn")
    def disconnect_vpn(self) -> str:
        """Disconnect the VPN."""
        connected = self.device["vpn_connected"]
        self._disconnect()
        return self._with_status_bar("The VPN is disconnected." if connected else "There is no VPN to disconnect.")

    def _disconnect(self) -> None:
        """Disconnect the VPN where it is connected."""
        if self.device["vpn_connected"]:
            self.set(vpn_connected=False, vpn_details=None)

    @acts("grant")
    def grant_app_permission(self, app_name: App, permission: Permission) -> str:
        """Let an app use something, such as storage or SMS."""
        return self._with_status_bar(self._permit(app_name, permission.lower(), granted=True))

    def _permit(self, app_name: str, permission: str, *, granted: bool) -> str:
        """Grant or withdraw a permission of an app, and return a sentence with the outcome."""
        apps = self.device["app_statuses"]
        app = apps.get(app_name)
        if app is None:
            return f"Error. There is no app {app_name!r} on this phone."
        if permission not in app["permissions"]:
            return f"Error. There is no permission {permission!r}; there are {', '.join(app['permissions'])}."
        permissions = {**app["permissions"], permission: granted}
        self.set(app_statuses={**apps, app_name: {**app, "permissions": permissions}})
        return f"Success. {app_name} {'may' if granted else 'may not'} use {permission}."

    @acts(
        *(f"{word} {phone}" for word in ("reboot", "restart") for phone in ("your phone", "the phone", "your device"))
    )
    def reboot_device(self) -> str:
        """Restart the phone. APN settings that wait to be reset are reset."""
        if self.device["active_apn_settings"]["reset_at_reboot"]:
            self.set(active_apn_settings=_APN)
        self.search()
        return self._with_status_bar("The phone has restarted.")

    @acts("make the payment", "make payment", "pay the bill", "pay your bill")
    def make_payment(self) -> str:
        """Pay the bill that the agent has asked you to pay."""
        request = self.surroundings["payment_request"]
        if request is None:
            return "No payment is asked for."
        self.surround(payment_request={**request, "paid": True})
        return f"You have paid {request['amount_due']} USD for the bill {request['bill_id']}."

    # -- what a task begins with

    @tool(by="world")
    def set_user_info(self, name: str, phone_number: str) -> str:
        """Say who the user is."""
        self.surround(name=name, phone_number=phone_number)
        return name

    @tool(by="world")
    def set_user_location(self, abroad: bool) -> bool:
        """Say where the user is."""
        self.surround(is_abroad=abroad)
        return abroad

    @tool(by="world")
    def turn_airplane_mode_on(self) -> str:
        """Turn airplane mode on."""
        return self.airplane(on=True)

    @tool(by="world")
    def turn_airplane_mode_off(self) -> str:
        """Turn airplane mode off."""
        return self.airplane(on=False)

    @tool(by="world")
    def lock_sim_card(self, mode: Literal["pin", "puk"]) -> str:
        """Lock the SIM card."""
        self.set(sim_card_status=f"locked_{mode}")
        self.search()
        return self.bar()

    @tool(by="world")
    def break_apn_settings(self) -> str:
        """Spoil the APN settings."""
        self.set(active_apn_settings={**self.device["active_apn_settings"], "apn_name": "broken"})
        self.search()
        return self.bar()

    @tool(by="world")
    def break_apn_mms_setting(self) -> str:
        """Take the address for picture messages out of the APN settings."""
        self.set(active_apn_settings={**self.device["active_apn_settings"], "mmsc_url": None})
        return self.bar()

    @tool(by="world")
    def set_wifi_calling(self, enabled: bool, mms_over_wifi: bool | None = None) -> str:
        """Say whether calls, and picture messages, go over Wi-Fi."""
        over = {} if mms_over_wifi is None else {"wifi_calling_mms_over_wifi": mms_over_wifi}
        self.set(wifi_calling_enabled=enabled, **over)
        return self.bar()

    @tool(by="world")
    def break_vpn(self) -> str:
        """Connect to a VPN that is slow."""
        details = self.device["vpn_details"] if self.device["vpn_connected"] else _VPN
        self.set(vpn_connected=True, vpn_details={**(details or _VPN), "server_performance": "poor"})
        return self.bar()

    @tool(by="world")
    def remove_app_permission(self, app_name: App, permission: Permission) -> str:
        """Keep an app from something."""
        return self._permit(app_name, permission.lower(), granted=False)

    # -- what a task asserts

    def assert_airplane_mode_status(self, expected_status: bool) -> bool:
        """Return whether airplane mode is on, or off, as expected."""
        return bool(self.device["airplane_mode"] == expected_status)

    def assert_service_status(self, expected_status: str) -> bool:
        """Return whether the phone has the expected connection status."""
        return bool(self.device["network_connection_status"] == expected_status)

    def assert_mobile_data_status(self, expected_status: bool) -> bool:
        """Return whether mobile data works, or does not work, as expected."""
        return self._data_works() == expected_status

    def assert_mobile_roaming_status(self, expected_status: bool) -> bool:
        """Return whether data roaming is on, or off, as expected."""
        return bool(self.device["roaming_enabled"] == expected_status)

    def assert_mobile_data_saver_mode_status(self, expected_status: bool) -> bool:
        """Return whether Data Saver is on, or off, as expected."""
        return bool(self.device["data_saver_mode"] == expected_status)

    def assert_internet_speed(self, expected_speed: float, expected_desc: str | None = None) -> bool:
        """Return whether mobile data reaches a speed in Mbps, and has the expected grade where one is given."""
        speed, grade = self._speed()
        fits = expected_desc is None or expected_desc.lower() == grade.lower()
        return (speed or 0) >= expected_speed and fits

    def assert_internet_not_excellent(self) -> bool:
        """Return whether the speed of mobile data has another grade than ``Excellent``."""
        return self._speed()[1] != "Excellent"

    def assert_can_send_mms(self, expected_status: bool) -> bool:
        """Return whether the phone can send picture messages, or cannot, as expected."""
        return self._sends_mms() == expected_status

    def assert_mobile_data_usage_exceeded(self, expected_status: bool) -> bool:
        """Return whether the line has exceeded its data limit, or has not, as expected."""
        return bool(self.surroundings["mobile_data_usage_exceeded"] == expected_status)

    # -- how it works

    def _toggle(self, name: str, column: str) -> str:
        """Switch a setting on or off, look for a network where it is data or roaming, and return the new state and the status bar."""
        self.set(**{column: not self.device[column]})
        if column in ("data_enabled", "roaming_enabled"):
            self.search()
        return self._with_status_bar(f"{name} is now {_on(self.device[column])}.")

    def _with_status_bar(self, text: str) -> str:
        """Return a text with the status bar on the next line."""
        return f"{text}\n{self.bar()}"

    def _sim(self) -> str:
        """Return the status of the SIM card; ``missing`` where it is taken out."""
        return "missing" if self.device["sim_card_missing"] else str(self.device["sim_card_status"])

    def search(self) -> None:
        """Store the preferred network and its signal here; no service where the SIM card, the settings or the line prevent it."""
        device, signals = self.device, self.surroundings["signal_strength"]
        cut_off = device["airplane_mode"] or device["active_apn_settings"]["apn_name"] == "broken"
        if self._sim() != "active" or cut_off or not self.surroundings["line_active"]:
            status, network, signal = "no_service", "none", "none"
        else:
            status, best = "connected", "4G" if signals.get("5G", "none") == "none" else "5G"
            network = _ONLY.get(device["network_mode_preference"], best)
            signal = signals.get(network, "none")
        self.set(network_connection_status=status, network_technology_connected=network, network_signal_strength=signal)

    def _data_works(self) -> bool:
        """Return whether mobile data works: with signal, switched on, within the data limit, and abroad only with roaming."""
        device, around = self.device, self.surroundings
        if device["airplane_mode"] or device["network_signal_strength"] == "none":
            return False
        if device["network_connection_status"] == "no_service" or not device["data_enabled"]:
            return False
        roams = device["roaming_enabled"] and around["roaming_allowed"]
        return bool((roams or not around["is_abroad"]) and not around["mobile_data_usage_exceeded"])

    def _speed(self) -> tuple[float | None, str]:
        """Return the speed of mobile data in Mbps and its grade; None and ``No Connection`` where it does not work."""
        if not self._data_works():
            return None, "No Connection"
        device = self.device
        slow_vpn = device["vpn_connected"] and (device["vpn_details"] or {}).get("server_performance") == "poor"
        share = (0.1 if slow_vpn else 1.0) * (0.2 if device["data_saver_mode"] else 1.0)
        speed = _SPEED.get(device["network_technology_connected"], 0.0) * _SHARE.get(
            device["network_signal_strength"], 0.0
        )
        speed = round(speed * share, 2)
        return speed, next((grade for below, grade in _GRADES if speed < below), "Excellent")

    def _sends_mms(self) -> bool:
        """Return whether the phone can send picture messages, by its data connection, APN settings and permissions."""
        device = self.device
        over_wifi = device["wifi_calling_enabled"] and device["wifi_calling_mms_over_wifi"]
        if not self._data_works() or device["network_technology_connected"] == "2G" or over_wifi:
            return False
        permissions = device["app_statuses"].get("messaging", {}).get("permissions", {})
        configured = device["active_apn_settings"]["mmsc_url"] is not None
        return bool(configured and permissions.get("storage") and permissions.get("sms"))


for _name, _entry in _DATA["setups"].items():
    setattr(Phone, _name, _setup(_name, **_entry))
for _name, _entry in _DATA["switches"].items():
    setattr(Phone, _name, _switch(_name, **_entry))

CustomerId = Annotated[str, Field(description="such as 'C1001'")]
LineId = Annotated[str, Field(description="such as 'L1001'")]
BillId = Annotated[str, Field(description="such as 'B1001'")]

#: The day of the policy.
TODAY = date(2025, 2, 25)
#: What columns hold that the published database leaves out: else a line that is set back would not be what it was.
_UNSAID: Mapping[str, JsonObject] = _DATA["unsaid"]
_TABLES = {"L": "lines", "D": "devices", "B": "bills", "C": "customers", "P": "plans"}


class TelecomWorld(Phone):
    """The provider's tools; changes to a line reach the user's phone, and the user's payments reach the bill."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.settle()

    now = f"{TODAY}T12:08:00"
    keys = {f"{noun}s": f"{noun}_id" for noun in ("plan", "customer", "line", "bill", "device")}  # noqa: RUF012

    @classmethod
    def tables(cls, database: JsonObject, user_database: JsonObject) -> dict[str, list[JsonObject]]:
        """Return the rows of the published databases by table; the phone and its surroundings have one row each."""
        sides = {"device": DEVICE, "surroundings": SURROUNDINGS}
        user_side = {name: {name: overlaid(usual, user_database.get(name, {}))} for name, usual in sides.items()}
        tables = super().tables(database, user_side)
        for name, usual in _UNSAID.items():
            tables[name] = [overlaid(usual, row) for row in tables[name]]
        return tables

    # -- reading

    @tool()
    def get_customer_by_phone(
        self, phone_number: Annotated[str, Field(description="of the customer, or of a line")]
    ) -> JsonObject:
        """Find a customer by phone number."""
        return self._customer_of(phone_number)

    @tool()
    def get_customer_by_id(self, customer_id: CustomerId) -> JsonObject:
        """Find a customer by id."""
        return self.rows("customers")[customer_id]

    @tool()
    def get_customer_by_name(
        self, full_name: str, dob: Annotated[str, Field(description="date of birth, YYYY-MM-DD")]
    ) -> list[JsonObject]:
        """Find customers by full name and date of birth."""
        wanted = fold(full_name)
        namesakes = (row for row in self.rows("customers").values() if fold(row["full_name"]) == wanted)
        return [row for row in namesakes if row["date_of_birth"] == dob]

    @tool()
    def get_details_by_id(
        self,
        id: Annotated[  # noqa: A002  its published name
            str, Field(description="of a customer (C...), line (L...), device (D...), bill (B...) or plan (P...)")
        ],
    ) -> JsonObject:
        """Show what has an id: a customer, a line, a device, a bill or a plan."""
        table = _TABLES.get(id[:1])
        if table is None:
            raise Refused("no such id: ids begin with C, L, D, B or P", id=id)
        return self.rows(table)[id]

    @tool()
    def get_bills_for_customer(
        self, customer_id: CustomerId, limit: Annotated[int, Field(description="the most bills")] = 12
    ) -> list[JsonObject]:
        """List the bills of a customer, the latest first."""
        bills: list[JsonObject] = [*self._bills(self.rows("customers")[customer_id])]
        return sorted(bills, key=lambda bill: str(bill["issue_date"]), reverse=True)[: max(0, limit)]

    @tool()
    def get_data_usage(self, customer_id: CustomerId, line_id: LineId) -> JsonObject:
        """Show what data a line has used in this cycle, its limit, what was refuelled, and when the cycle ends."""
        line = self._line(customer_id, line_id)
        return {
            "line_id": line_id,
            "data_used_gb": line["data_used_gb"],
            "data_limit_gb": self.rows("plans")[line["plan_id"]]["data_limit_gb"],
            "data_refueling_gb": line["data_refueling_gb"],
            "cycle_end_date": (_next_month(TODAY) - timedelta(days=1)).isoformat(),
        }

    # -- writing

    @tool(writes=True)
    def suspend_line(
        self, customer_id: CustomerId, line_id: LineId, reason: Annotated[str, Field(description="why, in words")]
    ) -> JsonObject:
        """Suspend an active line, for six months at most and for a holding fee of 5 dollars a month."""
        del reason
        if self._line(customer_id, line_id)["status"] != "Active":
            raise Refused("only an active line can be suspended")
        return self.rows("lines").change(line_id, status="Suspended", suspension_start_date=TODAY.isoformat())

    @tool(writes=True)
    def resume_line(self, customer_id: CustomerId, line_id: LineId) -> JsonObject:
        """Resume a line that is suspended or waits for its activation."""
        if self._line(customer_id, line_id)["status"] not in ("Suspended", "Pending Activation"):
            raise Refused("only a line that is suspended, or waits for its activation, can be resumed")
        return self.rows("lines").change(line_id, status="Active", suspension_start_date=None)

    @tool(writes=True)
    def send_payment_request(self, customer_id: CustomerId, bill_id: BillId) -> str:
        """Ask the customer to pay a bill. One bill at a time; whether it is paid already is not looked at."""
        customer = self.rows("customers")[customer_id]
        if any(self._awaited(customer)):
            raise Refused("a bill of this customer waits for its payment already")
        if bill_id not in customer["bill_ids"]:
            raise Refused("the customer has no such bill", bill_id=bill_id)
        self.rows("bills").change(bill_id, status="Awaiting Payment")
        return f"The customer has a request to pay the bill {bill_id}"

    @tool(writes=True)
    def enable_roaming(self, customer_id: CustomerId, line_id: LineId) -> str:
        """Let a line be used abroad."""
        self._line(customer_id, line_id)
        self.rows("lines").change(line_id, roaming_enabled=True)
        return "Roaming is enabled"

    @tool(writes=True)
    def disable_roaming(self, customer_id: CustomerId, line_id: LineId) -> str:
        """Let a line be used at home only."""
        self._line(customer_id, line_id)
        self.rows("lines").change(line_id, roaming_enabled=False)
        return "Roaming is disabled"

    @tool(writes=True)
    def refuel_data(
        self, customer_id: CustomerId, line_id: LineId, gb_amount: Annotated[float, Field(description="gigabytes")]
    ) -> JsonObject:
        """Add data to a line; the next bill has the price, by the rate of the plan."""
        line = self._line(customer_id, line_id)
        if gb_amount <= 0:
            raise Refused("an amount of data is above 0")
        rate = self.rows("plans")[line["plan_id"]]["data_refueling_price_per_gb"]
        refuelled = line["data_refueling_gb"] + gb_amount
        self.rows("lines").change(line_id, data_refueling_gb=refuelled)
        self._charge(customer_id, gb_amount * rate, f"Data refueling: {gb_amount:g} GB at ${rate:g}/GB")
        return {"line_id": line_id, "new_data_refueling_gb": refuelled, "charge": gb_amount * rate}

    # -- what a task begins with

    @tool(by="world")
    def set_data_usage(self, customer_id: CustomerId, line_id: LineId, data_used_gb: float) -> str:
        """Say how much data a line has used."""
        self._line(customer_id, line_id)
        self.rows("lines").change(line_id, data_used_gb=data_used_gb)
        return line_id

    @tool(by="world")
    def suspend_line_for_overdue_bill(
        self, customer_id: CustomerId, line_id: LineId, new_bill_id: BillId, contract_ended: bool
    ) -> str:
        """Suspend an active line for a bill of last month that was not paid."""
        line, customer = self.rows("lines")[line_id], self.rows("customers")[customer_id]
        price = self.rows("plans")[line["plan_id"]]["price_per_month"]
        if line["status"] != "Active" or price <= 0:
            raise Refused("only an active line with a price can be suspended for a bill")
        if any(bill["status"] == "Overdue" for bill in self._bills(customer)):
            raise Refused("the customer has an overdue bill already")
        end = TODAY.replace(day=1) - timedelta(days=1)
        charge = _item(f"Charge for line {line_id}", price)
        due: JsonObject = {"status": "Overdue", "line_items": [charge], "total_due": price}
        self._add_bill(new_bill_id, customer, end.replace(day=1), end, **due)
        contract = {"contract_end_date": end.isoformat()} if contract_ended else {}
        self.rows("lines").change(line_id, status="Suspended", suspension_start_date=TODAY.isoformat(), **contract)
        return new_bill_id

    # -- what a task asserts

    def assert_data_refueling_amount(self, customer_id: str, line_id: str, expected_amount: float) -> bool:
        """Return whether a line has been refuelled by the expected number of gigabytes."""
        refuelled: float = self._line(customer_id, line_id)["data_refueling_gb"]
        return abs(refuelled - expected_amount) < 1e-6  # noqa: PLR2004  float noise

    def assert_line_status(self, customer_id: str, line_id: str, expected_status: str) -> bool:
        """Return whether a line has the expected status."""
        return bool(self._line(customer_id, line_id)["status"] == expected_status)

    def assert_overdue_bill_exists(self, customer_id: str, overdue_bill_id: str) -> bool:
        """Return whether a customer has an overdue bill with this id."""
        bills = self._bills(self.rows("customers")[customer_id])
        return any(bill["bill_id"] == overdue_bill_id and bill["status"] == "Overdue" for bill in bills)

    def assert_no_overdue_bill(self, overdue_bill_id: str) -> bool:
        """Return whether a bill is paid, or does not exist."""
        bill = self.rows("bills").get(overdue_bill_id)
        return bill is None or bill["status"] == "Paid"

    # -- rules

    def settle(self) -> None:
        """Update the phone from the state of its line, mark bills as paid that the user paid, and pass on a request to pay."""
        number = self.surroundings["phone_number"]
        if number is None:
            return
        line = next(
            (row for row in self.rows("lines").values() if _digits(row["phone_number"]) == _digits(number)), None
        )
        if line is None:
            raise Refused("no line has the phone number of the user", phone_number=number)
        limit = self.rows("plans")[line["plan_id"]]["data_limit_gb"] + line["data_refueling_gb"]
        request = self.surroundings["payment_request"]
        if request is not None and request["paid"]:
            self.rows("bills").change(request["bill_id"], status="Paid")
            request = None
        if request is None:
            waiting = next(self._awaited(self._customer_of(number)), None)
            if waiting is not None:
                request = {"bill_id": waiting["bill_id"], "amount_due": waiting["total_due"], "paid": False}
        self.surround(
            line_active=line["status"] == "Active",
            roaming_allowed=line["roaming_enabled"],
            mobile_data_usage_exceeded=line["data_used_gb"] >= limit,
            payment_request=request,
        )

    def _customer_of(self, phone_number: str) -> Row:
        """Return the customer who has a phone number, as their own or on a line. Raises Refused where there is no such customer."""
        wanted = _digits(phone_number)
        own = {line["line_id"] for line in self.rows("lines").values() if _digits(line["phone_number"]) == wanted}
        for customer in self.rows("customers").values() if wanted else ():
            if _digits(customer["phone_number"]) == wanted or own.intersection(customer["line_ids"]):
                return customer
        raise Refused("no customer has this phone number", phone_number=phone_number)

    def _line(self, customer_id: str, line_id: str) -> Row:
        """Return a line of a customer. Raises Refused where the customer does not have it."""
        if line_id not in self.rows("customers")[customer_id]["line_ids"]:
            raise Refused("the customer has no such line", line_id=line_id)
        return self.rows("lines")[line_id]

    def _bills(self, customer: Row) -> Iterator[Row]:
        """Yield the bills of a customer."""
        yield from (self.rows("bills")[bill_id] for bill_id in customer["bill_ids"])

    def _awaited(self, customer: Row) -> Iterator[Row]:
        """Yield the bills of a customer that wait for payment."""
        yield from (bill for bill in self._bills(customer) if bill["status"] == "Awaiting Payment")

    def _charge(self, customer_id: str, amount: float, description: str) -> None:
        """Add a charge to a customer's draft bill, and create that bill where there is none yet."""
        customer = self.rows("customers")[customer_id]
        bill = next((bill for bill in self._bills(customer) if bill["status"] == "Draft"), None)
        if bill is None:
            start = _next_month(TODAY)
            bill_id = next(name for number in count(1) if (name := f"B{number}") not in self.rows("bills"))
            bill = self._add_bill(bill_id, customer, start, _next_month(start) - timedelta(days=1))
        # Charges of one day stand in the order of their words, not of the calls.
        items = [*bill["line_items"], _item(description, amount)]
        items.sort(key=lambda item: (item["date"], item["description"]))
        self.rows("bills").change(bill["bill_id"], line_items=items, total_due=round(bill["total_due"] + amount, 6))

    def _add_bill(self, bill_id: str, customer: Row, start: date, end: date, **columns: Json) -> Row:
        """Add a bill for a period to a customer, and return it."""
        bill = self.rows("bills").add(
            {
                "bill_id": bill_id,
                "customer_id": customer["customer_id"],
                "period_start": start.isoformat(),
                "period_end": end.isoformat(),
                "issue_date": start.isoformat(),
                "total_due": 0.0,
                "due_date": (start + timedelta(days=14)).isoformat(),
                "line_items": [],
                "status": "Draft",
                **columns,
            }
        )
        self.rows("customers").change(customer["customer_id"], bill_ids=[*customer["bill_ids"], bill_id])
        return bill


def _item(description: str, amount: float) -> JsonObject:
    """Return a bill item of today: a credit where the amount is negative, else a charge."""
    kind = "Credit" if amount < 0 else "Charge"
    return {"description": description, "amount": amount, "date": TODAY.isoformat(), "item_type": kind}


def _next_month(moment: date) -> date:
    """Return the first day of the next month."""
    return (moment.replace(day=1) + timedelta(days=32)).replace(day=1)


def _digits(phone_number: str) -> str:
    """Return the digits of a phone number, without any other characters."""
    return "".join(character for character in phone_number if character.isdigit())
