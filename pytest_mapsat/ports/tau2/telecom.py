"""The domain telecom, the agent's side: customers, lines, plans, devices and bills. ``phone.py`` has the user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import count
from typing import Annotated

from pydantic import Field

from pytest_mapsat.model import Json, JsonObject
from pytest_mapsat.sandbox import Refused, Row, State

from .phone import DEVICE, SURROUNDINGS, Phone
from .world import fold, over, tool

CustomerId = Annotated[str, Field(description="such as 'C1001'")]
LineId = Annotated[str, Field(description="such as 'L1001'")]
BillId = Annotated[str, Field(description="such as 'B1001'")]

#: The day of the policy.
TODAY = date(2025, 2, 25)
#: What columns hold that the published database leaves out: else a line that is set back would not be what it was.
_UNSAID: Mapping[str, JsonObject] = {
    "customers": {"line_ids": [], "bill_ids": []},
    "lines": {
        "status": "Pending Activation",
        "data_used_gb": 0.0,
        "data_refueling_gb": 0.0,
        "roaming_enabled": False,
        "contract_end_date": None,
        "suspension_start_date": None,
    },
    "bills": {"line_items": [], "status": "Draft"},
}
_TABLES = {"L": "lines", "D": "devices", "B": "bills", "C": "customers", "P": "plans"}


class TelecomWorld(Phone):
    """The provider. What the agent does to a line reaches the user's phone, and what the user pays reaches the bill."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.settle()

    now = f"{TODAY}T12:08:00"
    keys = {  # noqa: RUF012
        "plans": "plan_id",
        "customers": "customer_id",
        "lines": "line_id",
        "bills": "bill_id",
        "devices": "device_id",
    }

    @classmethod
    def tables(cls, database: JsonObject, user_database: JsonObject) -> dict[str, list[JsonObject]]:
        """Return the rows of the published databases; the phone and its surroundings are a row each."""
        sides = {"device": DEVICE, "surroundings": SURROUNDINGS}
        user_side = {name: {name: over(usual, user_database.get(name, {}))} for name, usual in sides.items()}
        tables = super().tables(database, user_side)
        for name, usual in _UNSAID.items():
            tables[name] = [over(usual, row) for row in tables[name]]
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
        named = (row for row in self.rows("customers").values() if fold(row["full_name"]) == wanted)
        return [row for row in named if row["date_of_birth"] == dob]

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
        self,
        customer_id: CustomerId,
        line_id: LineId,
        new_bill_id: BillId,
        contract_ended: bool,
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
        """Return whether a line has been refuelled by so much."""
        refuelled: float = self._line(customer_id, line_id)["data_refueling_gb"]
        return abs(refuelled - expected_amount) < 1e-6  # noqa: PLR2004  float noise

    def assert_line_status(self, customer_id: str, line_id: str, expected_status: str) -> bool:
        """Return whether a line has a status."""
        return bool(self._line(customer_id, line_id)["status"] == expected_status)

    def assert_overdue_bill_exists(self, customer_id: str, overdue_bill_id: str) -> bool:
        """Return whether a customer has this bill, and it is overdue."""
        bills = self._bills(self.rows("customers")[customer_id])
        return any(bill["bill_id"] == overdue_bill_id and bill["status"] == "Overdue" for bill in bills)

    def assert_no_overdue_bill(self, overdue_bill_id: str) -> bool:
        """Return whether a bill is paid, or not there."""
        bill = self.rows("bills").get(overdue_bill_id)
        return bill is None or bill["status"] == "Paid"

    # -- rules

    def settle(self) -> None:
        """Tell the phone what its line can do, take what the user has paid, and hand over a request to pay."""
        number = self.surroundings["phone_number"]
        if number is None:
            return
        line = next((row for row in self._lines() if _digits(row["phone_number"]) == _digits(number)), None)
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

    def _lines(self) -> Iterator[Row]:
        yield from self.rows("lines").values()

    def _customer_of(self, phone_number: str) -> Row:
        wanted = _digits(phone_number)
        own = {line["line_id"] for line in self._lines() if _digits(line["phone_number"]) == wanted}
        for customer in self.rows("customers").values() if wanted else ():
            if _digits(customer["phone_number"]) == wanted or own.intersection(customer["line_ids"]):
                return customer
        raise Refused("no customer has this phone number", phone_number=phone_number)

    def _line(self, customer_id: str, line_id: str) -> Row:
        if line_id not in self.rows("customers")[customer_id]["line_ids"]:
            raise Refused("the customer has no such line", line_id=line_id)
        return self.rows("lines")[line_id]

    def _bills(self, customer: Row) -> Iterator[Row]:
        yield from (self.rows("bills")[bill_id] for bill_id in customer["bill_ids"])

    def _awaited(self, customer: Row) -> Iterator[Row]:
        yield from (bill for bill in self._bills(customer) if bill["status"] == "Awaiting Payment")

    def _charge(self, customer_id: str, amount: float, description: str) -> None:
        """Put a charge on the next bill of a customer, which is made where there is none."""
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
    kind = "Credit" if amount < 0 else "Charge"
    return {"description": description, "amount": amount, "date": TODAY.isoformat(), "item_type": kind}


def _next_month(moment: date) -> date:
    """Return the first day of the month after."""
    return (moment.replace(day=1) + timedelta(days=32)).replace(day=1)


def _digits(phone_number: str) -> str:
    return "".join(character for character in phone_number if character.isdigit())
