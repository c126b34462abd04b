"""Cases, tools, recordings and manifests to disk: the same value gives the same bytes, and a file is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mapsat.formats import replacing, scalar, umask
from pytest_mapsat.model import Case, JsonObject, Recording, SuiteManifest, Tool, UsageError

from .entries import HEADER

if TYPE_CHECKING:
    import yaml


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    """Write cases as JSONL, in the order given; each line begins with the header that a listing scans."""
    _write_lines(path, map(case_json, cases))


def write_recordings(path: Path, recordings: Iterable[Recording]) -> None:
    """Write recordings as JSONL, in the order given."""
    _write_lines(path, (recording.to_json() for recording in recordings))


def write_tool(path: Path, tool: Tool) -> None:
    """Write one tool as YAML."""
    write_bytes(path, to_yaml(tool.to_json()))


def write_manifest(path: Path, manifest: SuiteManifest) -> None:
    """Write a suite's manifest as YAML."""
    write_bytes(path, to_yaml(manifest.to_json()))


def write_case(path: Path, case: Case) -> None:
    """Write one case as YAML."""
    write_bytes(path, to_yaml(case_json(case)))


def case_json(case: Case) -> JsonObject:
    """Return a case as JSON data with its header first, defaults in the header included."""
    data = case.to_json()
    own = {"domains": list(case.domains), "group": data.get("group")}
    header = {name: own[name] if name in own else getattr(case, name) for name in HEADER}
    return {name: header[name] for name in HEADER} | {name: data[name] for name in data if name not in HEADER}


def _write_lines(path: Path, values: Iterable[JsonObject]) -> None:
    with replacing(path) as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n")


def write_bytes(path: Path, data: bytes) -> None:
    """Put a file in place whole, or leave what was there."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def new_folder(dest: Path) -> Iterator[Path]:
    """Give a folder beside ``dest`` that becomes ``dest`` when all went well.

    Raises:
        UsageError: when ``dest`` exists and is not an empty folder, or cannot be made.
    """
    if dest.is_symlink() or (dest.exists() and (not dest.is_dir() or any(dest.iterdir()))):
        raise UsageError(f"{dest} exists and is not an empty folder; name one that does not exist yet")
    parent = Path(os.path.abspath(dest)).parent  # noqa: PTH100  resolve() would follow links that the user did not name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        built = Path(tempfile.mkdtemp(prefix=f".{dest.name}.", dir=parent))
    except OSError as error:
        raise UsageError(f"cannot write to {parent}: {error.strerror}") from error
    try:
        yield built
        built.chmod(0o777 & ~umask())
        if dest.exists():
            dest.rmdir()
        built.replace(dest)
    except BaseException:
        shutil.rmtree(built, ignore_errors=True)
        raise


def to_yaml(value: JsonObject | list[JsonObject]) -> bytes:
    """Return YAML text that this package reads as the same value."""
    import yaml  # noqa: PLC0415  heavy

    class Dumper(yaml.SafeDumper):
        """Quotes whatever would not be read as text, and writes no aliases."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  the base class's signature
            return True

    Dumper.add_representer(str, _represent_text)
    text: str = yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=120)
    return text.encode("utf-8")


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if _reads_as_itself(text) else '"')


def _reads_as_itself(text: str) -> bool:
    try:
        return isinstance(scalar(text), str)
    except ValueError:
        return False
