"""A wheel of this package, built once, and a fresh environment with nothing but it and what it depends on."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def build_wheel(folder: Path) -> Path:
    """Return a wheel of the working tree; the test is skipped where none can be built (no network, no build backend)."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        pytest.skip(f"no wheel can be built here: {done.stderr.strip().splitlines()[-1:]}")
    return wheels[0]


def install(wheel: Path, folder: Path) -> str:
    """Make an environment with the wheel and, for its dependencies, the packages of this one; return its folder of commands."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True, text=True)
    # A path file only adds to sys.path: the editable install of this project stays where it is.
    purelib = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    Path(purelib, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    shim = folder / "bin" / "pytest"
    shim.write_text(f'#!/bin/sh\nexec {python} -m pytest "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    return str(folder / "bin")
