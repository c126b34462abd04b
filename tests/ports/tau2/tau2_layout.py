"""Writes the published layout of tau2-bench from the borrowed data, which are packed otherwise."""

import gzip
import json
from pathlib import Path

import fitted_airline

SPLITS = ("base", "train", "test")


def write_domain(folder: Path, tasks: list[dict], databases: dict[str, dict], policies: dict[str, str]) -> Path:
    """Write the files of one domain as they are published, and return the folder."""
    folder.mkdir(parents=True)
    names = dict.fromkeys(split for task in tasks for split in task.get("splits", ()))
    splits = {name: [task["id"] for task in tasks if name in task.get("splits", ())] for name in names}
    plain = [{name: value for name, value in task.items() if name != "splits"} for task in tasks]
    (folder / "tasks.json").write_text(json.dumps(plain, indent=4, ensure_ascii=False), encoding="utf-8")
    (folder / "split_tasks.json").write_text(json.dumps(splits, indent=4))
    for name, database in databases.items():
        (folder / f"{name}.json").write_text(json.dumps(database, ensure_ascii=False), encoding="utf-8")
    for name, text in policies.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def borrowed_tasks(data: Path, domain: str) -> list[dict]:
    lines = (data / "tau2" / f"{domain}_tasks.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write_retail(root: Path, data: Path) -> Path:
    tables: dict[str, dict] = {}
    with gzip.open(data / "tau2" / "retail_db.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            tables.setdefault(entry["table"], {})[entry["key"]] = entry["row"]
    policy = (data / "tau2" / "retail_policy.md").read_text(encoding="utf-8")
    return write_domain(root / "retail", borrowed_tasks(data, "retail"), {"db": tables}, {"policy.md": policy})


def write_mock(root: Path, data: Path) -> Path:
    databases = json.loads((data / "tau2" / "mock_db.json").read_text(encoding="utf-8"))
    policy = (data / "tau2" / "mock_policy.md").read_text(encoding="utf-8")
    return write_domain(root / "mock", borrowed_tasks(data, "mock"), databases, {"policy.md": policy})


def write_airline(root: Path, data: Path) -> Path:
    """Write the airline's tasks with a made-up database that fits them: the published one is not among the data."""
    tasks = borrowed_tasks(data, "airline")
    policy = (data / "tau2" / "airline_policy.md").read_text(encoding="utf-8")
    return write_domain(root / "airline", tasks, {"db": fitted_airline.database(tasks)}, {"policy.md": policy})
