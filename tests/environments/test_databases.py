"""Environments that are databases: SQLite and a real PostgreSQL."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
import sqlalchemy
from hotel import act, case, changed, labels, sqlite_hotel

from pytest_mapsat import SqlEnvironment
from pytest_mapsat.environments import Environments
from pytest_mapsat.model import InfrastructureError, NotRecordedError, UsageError
from pytest_mapsat.sandbox import end_of

TABLES = ["nights", "bookings", "guests"]
CANCEL = "DELETE FROM nights WHERE booking = 'BK-1'", "DELETE FROM bookings WHERE code = 'BK-1'"


@pytest.fixture
def environments():
    made = Environments()
    yield made
    made.close()


def of(hotel, tables=TABLES, **options):
    return SqlEnvironment(hotel.url, tables, **{"settle": 0, **options})


def contents(hotel):
    return [hotel.run(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]


def test_what_a_service_does_is_told_row_by_row_and_values_compare_as_users_write_them(hotel, environments):
    before = contents(hotel)
    trajectory = act(
        environments,
        of(hotel),
        lambda: hotel.run("UPDATE bookings SET price = 10.50, paid = false WHERE code = 'BK-1'"),
        lambda: hotel.run("DELETE FROM nights WHERE booking = 'BK-1' AND night = 2"),
        lambda: hotel.run("INSERT INTO guests (name) VALUES ('Eve')"),
        lambda: hotel.run("UPDATE guests SET name = 'Bob' WHERE name = 'Bob'"),
    )
    assert changed(trajectory) == [
        ("bookings", "BK-1", ("paid", "price")),
        ("guests", "3", ("friend", "id", "name", "pin")),
        ("nights", "BK-1,2", ("booking", "night", "seen")),
    ]
    assert trajectory.environment.unwatched == ("audit",)
    assert contents(hotel) != before
    end = end_of(trajectory, None, None)
    first, second = end.state["bookings"]["BK-1"], end.state["bookings"]["BK-2"]
    assert first["price"] == Decimal("10.50") == 10.5
    assert first["price"] + first["price"] == Decimal(21)
    assert first["day"] == date(2026, 11, 28)
    assert first["day"] == "2026-11-28"
    assert first["day"] != date(2026, 11, 27)
    moment = datetime(2026, 11, 28, 10, tzinfo=None if hotel.lite else UTC)
    assert first["at"] == moment
    assert first["at"] == moment.isoformat()
    assert first["doc"] == b"\0\1"
    assert first["doc"] == "base64:AAE="
    assert first["more"] == {"beds": [1, 2]}
    assert first["token"] == UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff")
    assert (first["paid"], second["paid"], second["at"]) == (False, False, None)
    assert end.state["nights"]["BK-1", 1] == {"booking": "BK-1", "night": 1, "seen": None}
    assert end.state["guests"][3]["name"] == "Eve"
    assert ("BK-1", 2) not in end.state["nights"]
    checked = case(
        {"kind": "state", "table": "bookings", "where": {"code": "BK-1"}, "has": {"price": 10.50, "day": "2026-11-28", "paid": False}},
        {"kind": "state", "table": "nights", "where": {"booking": "BK-1", "night": 2}, "count": 0},
        {"kind": "unchanged", "except": [{"table": "guests"}, {"table": "nights"}]},
        {"kind": "state", "table": "guests", "where": {"nam": "Eve"}},
    )  # fmt: skip
    told = labels(checked, trajectory)
    assert [outcome for outcome, _ in told] == ["passed", "passed", "failed", "unevaluated"]
    assert "1 row changed that should not have: bookings BK-1" in told[2][1]
    assert "did you mean 'name'?" in told[3][1]


def test_large_decimals_are_kept_to_the_last_digit(hotel, environments):
    if hotel.lite:
        pytest.skip("SQLite keeps them as floats")
    add = "UPDATE bookings SET price = price + 0.0001 WHERE code = 'BK-2'"
    trajectory = act(environments, of(hotel), lambda: hotel.run(add))
    assert trajectory.environment.changes[0].after["price"] == "1234567890123456.7892"
    price = end_of(trajectory, None, None).state["bookings"]["BK-2"]["price"]
    assert price == Decimal("1234567890123456.7892")
    assert price - Decimal("0.0001") == Decimal("1234567890123456.7891")


def test_a_float_in_a_comparison_is_the_number_that_was_written(hotel, environments):
    row = end_of(act(environments, of(hotel)), None, None).state["bookings"]["BK-1"]
    assert row["price"] == 9.99
    assert not row["price"] < 9.99
    assert row["price"] >= 9.99
    assert row["price"] == Decimal("9.99")


def test_without_a_reset_nothing_is_written_and_the_next_episode_starts_from_what_the_last_one_left(
    hotel, environments
):
    environment = of(hotel)
    assert changed(act(environments, environment, lambda: hotel.run(*CANCEL)))
    after = contents(hotel)
    assert changed(act(environments, environment)) == []
    environments.close()
    assert contents(hotel) == after
    assert environments.late == []


def test_restore_puts_rows_and_counters_back_in_the_order_of_their_keys_before_each_episode_and_at_the_end(
    hotel, environments
):
    before, environment = contents(hotel), of(hotel, reset="restore")
    for _ in range(3):
        trajectory = act(
            environments,
            environment,
            lambda: hotel.run(*CANCEL, "DELETE FROM nights", "DELETE FROM bookings", "UPDATE guests SET friend = NULL", "DELETE FROM guests"),
            lambda: hotel.run("INSERT INTO guests (name, pin, friend) VALUES ('Eve', '0', NULL)"),
            lambda: hotel.run("INSERT INTO bookings (code, guest) VALUES ('BK-9', 3)"),
        )  # fmt: skip
        # The guest has the same new id each time.
        assert [change.id for change in trajectory.environment.changes if change.before is None] == ["BK-9", "3"]
    environments.close()
    assert contents(hotel) == before
    assert environments.late == []


def test_a_reset_may_be_a_function_of_the_case_or_a_file(hotel, environments, tmp_path):
    told = []
    act(environments, of(hotel, reset=lambda case: told.append(case.id)))
    act(environments, of(hotel, reset=lambda: told.append("plain")))
    assert told == ["c", "plain", "plain"]  # once more, to see whether it always leads to the same
    script = tmp_path / "seed.sql"
    script.write_text("DELETE FROM nights; DELETE FROM bookings;\nUPDATE guests SET name = 'Ann; 100%' WHERE id = 1;")
    trajectory = act(environments, of(hotel, reset=script), lambda: hotel.run("DELETE FROM guests WHERE id = 1"))
    assert [(change.id, change.before["name"]) for change in trajectory.environment.changes] == [("1", "Ann; 100%")]


def test_a_reset_that_fails_names_the_place_and_no_row(hotel, environments):
    def broken():
        raise RuntimeError("no seed")

    with pytest.raises(InfrastructureError, match=r"start failed: RuntimeError: no seed \(test_databases\.py:\d+\)"):
        act(environments, of(hotel, reset=broken))
    hotel.run("INSERT INTO guests (name, pin) VALUES ('Zoe', 'secret')")
    script = "INSERT INTO guests (name, pin) VALUES ('Zoe', 'secret')"

    def doubles():
        with sqlalchemy.create_engine(hotel.url, poolclass=sqlalchemy.pool.NullPool).begin() as connection:
            connection.exec_driver_sql(script)

    with pytest.raises(InfrastructureError, match=r"start failed: IntegrityError") as raised:
        act(environments, of(hotel, reset=doubles))
    assert "secret" not in str(raised.value)


def test_a_write_after_the_end_was_read_makes_that_end_unknown_and_names_the_rows(hotel, environments):
    environment = of(hotel, reset="restore")
    act(environments, environment, trial=1)
    hotel.run("UPDATE bookings SET paid = false WHERE code = 'BK-1'")
    act(environments, environment, trial=2)
    hotel.run("DELETE FROM nights WHERE booking = 'BK-2'")
    environments.close()
    assert [(late.trial, late.why) for late in environments.late] == [
        (1, "bookings BK-1 (paid) changed after the end had been read"),
        (2, "nights BK-2,1 changed after the end had been read"),
    ]


def test_a_write_between_a_reset_and_the_next_start_is_one_of_the_episode_before(hotel, environments):
    writes = iter([(), (), (), ("UPDATE guests SET pin = 'x'",), (), ()])

    def reset():
        hotel.run("UPDATE guests SET pin = '0'")
        for statement in next(writes):
            hotel.run(statement)

    environment = of(hotel, reset=reset)
    act(environments, environment, trial=1)
    assert changed(act(environments, environment, trial=2)) == []
    assert changed(act(environments, environment, trial=3)) == []
    assert [(late.trial, late.why) for late in environments.late] == [
        (2, "guests 1 (pin), guests 2 (pin) changed after the next episode had begun")
    ]


def test_a_service_that_goes_on_writing_has_an_end_that_is_unknown(hotel, environments, monkeypatch):
    monkeypatch.setattr("pytest_mapsat.environments.world._LONGEST", 0.2)
    environment = of(hotel)
    numbers = iter(range(1000))
    read = environment.read

    def reading(*arguments):
        hotel.run(f"UPDATE guests SET pin = '{next(numbers)}' WHERE id = 2")
        return read(*arguments)

    environment.read = reading
    checked = case({"kind": "unchanged"}, {"kind": "state", "table": "guests", "where": {"id": 1}})
    trajectory = act(environments, environment, of=checked)
    assert trajectory.environment.unknown.startswith("guests 2 (pin) still changed 0.2 s after the last reply")
    assert {outcome for outcome, _ in labels(checked, trajectory)} == {"unevaluated"}
    environments.late.clear()


def test_ignored_columns_do_not_count_and_hidden_ones_count_and_reach_nothing(hotel, environments):
    environment = of(hotel, ignore=["nights.seen", "price"], hide=["pin"])
    moment = "'2026-01-01 00:00:00'"
    trajectory = act(
        environments,
        environment,
        lambda: hotel.run(f"UPDATE nights SET seen = {moment}", "UPDATE bookings SET price = 1", "UPDATE guests SET pin = 'abc' WHERE id = 1"),
    )  # fmt: skip
    (change,) = trajectory.environment.changes
    assert (change.before["pin"], change.after["pin"]) == ("[hidden]", "[hidden, changed]")
    assert "1111" not in trajectory.model_dump_json()
    assert "abc" not in trajectory.model_dump_json()
    assert all("pin" not in row for rows in trajectory.environment.starts.values() for row in rows.rows)
    checked = case(
        {"kind": "unchanged"},
        {"kind": "state", "table": "guests", "where": {"id": 1}, "has": {"pin": "abc"}},
        {"kind": "state", "table": "guests", "where": {"pin": "1111"}, "count": 0},
    )
    told = labels(checked, trajectory)
    assert [outcome for outcome, _ in told] == ["failed", "unevaluated", "unevaluated"]
    assert "the column pin of guests is hidden" in told[1][1]
    assert "pin" not in end_of(trajectory, None, None).state["guests"][1]


def test_a_table_that_is_not_watched_leaves_a_check_undecided_and_is_named_where_nothing_changed(hotel, environments):
    checked = case(
        {"kind": "state", "table": "audits", "count": 0},
        {"kind": "unchanged"},
        {"kind": "unchanged", "except": [{"table": "audit"}]},
    )
    trajectory = act(environments, of(hotel), of=checked)
    told = labels(checked, trajectory)
    assert [outcome for outcome, _ in told] == ["unevaluated", "passed", "unevaluated"]
    assert "does not watch the table 'audits' (it watches: bookings, guests, nights)" in told[0][1]
    assert "not watched: audit" in told[1][1]
    with pytest.raises(NotRecordedError, match="does not watch the table 'audit'"):
        end_of(trajectory, None, None).state["audit"]


def test_part_of_a_table_is_watched_by_a_condition(hotel, environments):
    where = {"nights": "booking = 'BK-1' AND '10:30' < '11:00' AND booking LIKE '%1'"}
    environment = of(hotel, where=where)
    trajectory = act(environments, environment, lambda: hotel.run("DELETE FROM nights"))
    assert [place[1] for place in changed(trajectory)] == ["BK-1,1", "BK-1,2"]


def test_a_large_table_is_counted_and_digested_and_its_new_rows_are_read(hotel, environments):
    hotel.run("UPDATE nights SET seen = '2026-01-01 00:00:00'")
    environment = of(hotel, updated={"nights": "seen"}, where={"nights": "night > 0 AND booking LIKE 'BK-%'"})
    checked = case(
        {"kind": "unchanged"},
        {"kind": "unchanged", "except": [{"table": "nights"}]},
        {"kind": "state", "table": "nights", "where": {"night": 1}},
    )
    trajectory = act(environments, environment, of=checked)
    assert [outcome for outcome, _ in labels(checked, trajectory)] == ["passed", "passed", "unevaluated"]
    touch = "UPDATE nights SET seen = '2026-02-01 00:00:00' WHERE booking = 'BK-2'"
    trajectory = act(environments, environment, lambda: hotel.run(touch), of=checked)
    told = labels(checked, trajectory)
    assert [outcome for outcome, _ in told] == ["failed", "unevaluated", "unevaluated"]
    assert "nights has changed in rows whose start is not known (BK-2,1)" in told[0][1]
    trajectory = act(environments, environment, lambda: hotel.run("DELETE FROM nights WHERE night = 2"), of=checked)
    assert [outcome for outcome, _ in labels(checked, trajectory)] == ["failed", "unevaluated", "unevaluated"]


def test_a_table_that_is_too_large_leaves_open_whether_it_changed(hotel, environments, monkeypatch):
    for place in ("world", "sql"):
        monkeypatch.setattr(f"pytest_mapsat.environments.{place}.MOST_ROWS", 2)
    checked = case(
        {"kind": "unchanged"},
        {"kind": "state", "table": "nights", "where": {"night": 1}},
        {"kind": "state", "table": "guests", "where": {"id": 1}},
    )
    told = labels(checked, act(environments, of(hotel), of=checked))
    assert [outcome for outcome, _ in told] == ["unevaluated", "unevaluated", "passed"]
    assert "nights has more than 2 rows, and no more are read (give where, or updated)" in told[0][1]


@pytest.mark.parametrize(
    ("tables", "options", "why"),
    [
        (["audit"], {}, r"audit has no primary key, .*keys=\{'audit': \[\.\.\.\]\}, or leave it out"),
        (["booking"], {}, r"has no table 'booking' that is watched \(did you mean 'bookings'\?\)"),
        (TABLES, {"ignore": ["bookings.prise"]}, r"ignore: no watched table has a column 'bookings\.prise' \(did you mean 'bookings\.price'\?\)"),
        (TABLES, {"hide": ["code"]}, r"bookings: code is needed to tell rows apart"),
        (TABLES, {"where": {"guest": "1 = 1"}}, r"has no table 'guest' that is watched \(did you mean 'guests'\?\)"),
        (["audit"], {"keys": {"audit": "lin"}}, r"audit: lin is needed"),
    ],
)  # fmt: skip
def test_what_cannot_be_watched_is_refused_with_what_to_do(hotel, environments, tables, options, why):
    with pytest.raises(InfrastructureError, match=why):
        act(environments, of(hotel, tables, **options))


def test_columns_may_stand_in_for_a_key_as_long_as_they_tell_rows_apart(hotel, environments):
    hotel.run("INSERT INTO audit VALUES ('a')")
    environment = of(hotel, ["audit"], keys={"audit": "line"})
    trajectory = act(environments, environment, lambda: hotel.run("INSERT INTO audit VALUES ('b')"))
    assert changed(trajectory) == [("audit", "b", ("line",))]
    trajectory = act(environments, environment, lambda: hotel.run("INSERT INTO audit VALUES ('b')"))
    assert (
        trajectory.environment.unknown
        == "the end could not be read: the environment: two rows of audit have the line b"
    )


def test_two_runs_do_not_act_on_one_database_at_once(hotel):
    first, second = Environments(), Environments()
    act(first, of(hotel))
    with pytest.raises(
        InfrastructureError, match=r"another run, or worker of this one, acts on the database .*worker_id"
    ):
        act(second, of(hotel))
    act(second, of(hotel, parallel=True))
    first.close()
    act(second, of(hotel))
    second.close()


@pytest.mark.parametrize("name", ["latest.db", "contest.db", "prod.db", "attestations.db", "hotel.db"])
def test_a_reset_of_ours_is_refused_where_the_name_does_not_say_that_the_database_is_for_tests(tmp_path, name):
    hotel = sqlite_hotel(tmp_path, name)
    with pytest.raises(UsageError, match="does not say that it is for tests"):
        of(hotel, reset="restore")
    with pytest.raises(UsageError, match="allow names 'other'"):
        of(hotel, reset="restore", allow="other")
    of(hotel, reset="restore", allow=name)
    of(hotel)
    of(hotel, reset=lambda: None)


@pytest.mark.parametrize(
    ("database", "why"),
    [
        ("sqlite:///{folder}/none_test.db", "there is no such file"),
        ("sqlite://", "a database in memory is in its engine"),
        ("sqlite+aiosqlite:///{folder}/hotel_test.db", "the driver aiosqlite is not installed|needs asyncio"),
        ("postgres://app:hunter22@h/d_test", "found an unknown database, expected an engine"),
        ("hunter22", "found an unknown database, expected an engine"),
        (7, "found an unknown database, expected an engine or an address"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_shows_no_password(tmp_path, database, why):
    sqlite_hotel(tmp_path)
    database = database.format(folder=tmp_path) if isinstance(database, str) else database
    with pytest.raises(UsageError, match=why) as raised:
        SqlEnvironment(database, TABLES)
    assert "hunter22" not in str(raised.value)
    with pytest.raises(UsageError, match=r"found 'restor', .*did you mean 'restore'"):
        SqlEnvironment(f"sqlite:///{tmp_path}/hotel_test.db", TABLES, reset="restor")
    with pytest.raises(UsageError, match="there is no such file"):
        SqlEnvironment(f"sqlite:///{tmp_path}/hotel_test.db", TABLES, reset="none.sql")


def test_an_engine_in_memory_is_taken_as_it_is(environments):
    pool = sqlalchemy.pool.StaticPool
    engine = sqlalchemy.create_engine("sqlite://", poolclass=pool, connect_args={"check_same_thread": False})
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 1)")

    def write():
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE t SET n = n + 1")

    environment = SqlEnvironment(engine, ["t"], reset="restore", settle=0)
    for _ in range(2):
        (change,) = act(environments, environment, write).environment.changes
        assert (change.before["n"], change.after["n"]) == (1, 2)
    engine.dispose()


def test_a_database_that_is_gone_at_the_end_leaves_the_end_unknown(tmp_path, environments):
    hotel = sqlite_hotel(tmp_path)
    trajectory = act(environments, of(hotel), lambda: hotel.path.write_bytes(b"no database" * 100))
    assert trajectory.environment.unknown.startswith(
        "the end could not be read: the environment: tables failed: DatabaseError"
    )


def test_sqlite_is_opened_so_that_nothing_can_be_written(tmp_path):
    environment = of(sqlite_hotel(tmp_path))
    with environment.reading() as connection, pytest.raises(sqlalchemy.exc.OperationalError, match="readonly"):
        connection.exec_driver_sql("DELETE FROM guests")


def test_values_that_sqlite_keeps_in_another_way_are_read_as_they_are(tmp_path, environments):
    hotel = sqlite_hotel(tmp_path)
    hotel.run(
        "UPDATE bookings SET day = 'soon', paid = 'perhaps', more = 'no json', price = 'much', at = 7 WHERE code = 'BK-1'"
    )
    row = end_of(act(environments, of(hotel)), None, None).state["bookings"]["BK-1"]
    assert (row["day"], row["paid"], row["more"], row["price"], row["at"]) == ("soon", "perhaps", "no json", "much", 7)
