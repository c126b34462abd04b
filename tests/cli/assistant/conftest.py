"""The sandbox of the library: a method for each tool."""

from datetime import date, timedelta

import pytest_mapsat as mapsat


class Library:
    def __init__(self, state):
        self.books, self.loans, self.reservations = state["books"], state["loans"], state["reservations"]

    def find_books(self, text):
        found = [
            book
            for book in self.books.values()
            if any(text.lower() in book[column].lower() for column in ("title", "author", "subject"))
        ]
        return {"books": found}

    def list_loans(self, member):
        return {"loans": [loan for loan in self.loans.values() if loan["member"] == member]}

    def renew_loan(self, loan_id):
        loan = self.loans.get(loan_id)
        if loan is None:
            raise mapsat.Refused("there is no such loan", loan_id=loan_id)
        if any(row["book"] == loan["book"] and row["status"] == "waiting" for row in self.reservations.values()):
            raise mapsat.Refused("somebody has reserved the book", loan_id=loan_id)
        due = date.fromisoformat(loan["due"]) + timedelta(weeks=3)
        return self.loans.change(loan_id, due=due.isoformat(), renewals=loan["renewals"] + 1)

    def list_reservations(self, member):
        return {"reservations": [row for row in self.reservations.values() if row["member"] == member]}

    def reserve_book(self, book_id, member):
        book = self.books.get(book_id)
        if book is None:
            raise mapsat.Refused("there is no such book", book_id=book_id)
        number = f"R{len(self.reservations) + 1}"
        return self.reservations.add(
            {"id": number, "member": member, "book": book_id, "title": book["title"], "status": "waiting"}
        )

    def cancel_reservation(self, reservation_id):
        row = self.reservations.get(reservation_id)
        if row is None or row["status"] != "waiting":
            raise mapsat.Refused("only a waiting reservation can be cancelled", reservation_id=reservation_id)
        return self.reservations.change(reservation_id, status="cancelled")


def pytest_mapsat_sandbox(config, case, suite):
    return Library if suite.manifest.name == "library" else None
