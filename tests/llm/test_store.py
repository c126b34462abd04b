"""The local store: many processes, killed writers, damage, strangers' bytes."""

import multiprocessing
import os
import pickle
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from pytest_mapsat.model import UsageError
from pytest_mapsat.store import Store, StoreError, clear_store, store_folder


def _write_for_ever(folder: Path, ready: object) -> None:
    store, number = Store(folder), 0
    while True:
        store.put(f"k{number % 50}", {"n": number, "text": "x" * 20_000})
        number += 1
        if number == 60:
            ready.set()


def _count_up(folder: Path, times: int) -> None:
    store = Store(folder)
    for _ in range(times):
        with store.alone():
            store.put("n", (store.get("n") or 0) + 1)


def test_a_killed_writer_leaves_whole_values(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    writer = context.Process(target=_write_for_ever, args=(tmp_path, ready))
    writer.start()
    assert ready.wait(30)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    store = Store(tmp_path)
    assert len(list(store.names())) == 50
    assert all(len(store.get(key)["text"]) == 20_000 for key in store.names())
    store.put("after", 1)
    assert store.get("after") == 1
    store.close()


def test_what_one_process_writes_alone_no_other_overwrites(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_count_up, args=(tmp_path, 50)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store = Store(tmp_path)
    assert store.get("n") == 200
    store.close()


def test_threads_share_it_and_leave_no_connection_open(tmp_path: Path) -> None:
    store = Store(tmp_path)
    threads = [threading.Thread(target=store.add, args=("k", number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("k") in range(4)
    assert not store.add("k", 9)
    store.close()


def test_the_oldest_go_where_the_room_ends(tmp_path: Path) -> None:
    store = Store(tmp_path, size_limit=300_000)
    for number in range(100):
        store.put(f"{number:03}", os.urandom(5_000).hex())
    kept = list(store.names())
    assert 0 < len(kept) < 70
    assert kept[-1] == "099"
    assert kept == [f"{number:03}" for number in range(100 - len(kept), 100)]
    store.close()


class Bomb:
    def __reduce__(self) -> object:
        return (os.mkdir, ("exploded",))


@pytest.mark.parametrize("mode", [1, 4])
def test_no_pickle_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path)
    store.put("k", 1)
    store.close()
    with sqlite3.connect(tmp_path / "cache.db") as base:
        base.execute("UPDATE Cache SET mode = ?, value = ?", (mode, pickle.dumps(Bomb())))
        base.execute("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 4, '')", (pickle.dumps(Bomb()),))
    base.close()
    store = Store(tmp_path)
    assert list(store.names()) == ["k"]
    with pytest.raises(StoreError, match=r"an entry is damaged.*python -m pytest_mapsat cache clear"):
        store.get("k")
    store.close()
    assert not (tmp_path / "exploded").exists()


def test_a_damaged_file_says_what_to_run_and_can_be_cleared(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(
        StoreError, match="cannot be used: file is not a database; run: python -m pytest_mapsat cache clear"
    ):
        Store(tmp_path)
    (tmp_path / "mine.txt").write_text("kept")
    (tmp_path / "tables").mkdir()
    for name in ("a.arrays", "a.lock"):
        (tmp_path / "tables" / name).write_text("")
    clear_store(tmp_path)
    assert not list((tmp_path / "tables").iterdir())
    store = Store(tmp_path)
    store.put("k", ["中文", "\ud800"])
    assert store.get("k") == ["中文", "\ud800"]
    store.close()
    assert (tmp_path / "mine.txt").exists()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="MAPSAT_CACHE_DIR"):
        Store(tmp_path / "file" / "below")


def test_the_folder_is_the_users_own_or_the_named_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MAPSAT_CACHE_DIR", raising=False)
    assert store_folder() == tmp_path / "pytest-mapsat"
    monkeypatch.setenv("MAPSAT_CACHE_DIR", str(tmp_path / "here"))
    assert store_folder() == tmp_path / "here"
    monkeypatch.setenv("MAPSAT_CACHE_DIR", "~no-such-user/here")
    with pytest.raises(
        UsageError, match="the home folder of ~no-such-user/here is not known; name a folder with MAPSAT"
    ):
        store_folder()
