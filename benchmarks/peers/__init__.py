"""What users would otherwise pick, each in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paired import ENVIRONMENT, Command

#: Installed once and kept; git does not see it.
ENVIRONMENTS = Path(__file__).parents[2] / ".benchmarks"


@dataclass(frozen=True)
class Peer:
    """A package that runs cases, too.

    Attributes:
        package: its name on PyPI.
        waits: whether its cases may wait for agents together.
    """

    package: str
    waits: bool = True

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return ENVIRONMENTS / self.package / "bin" / "python"

    def command(self, cwd: Path, count: int, seconds: float = 0, width: int = 50) -> Command:
        """Return what runs so many cases, each of which waits so long, so many at once."""
        script = Path(__file__).with_name(f"with_{self.package.replace('-', '_')}.py")
        return Command((str(self.python), str(script), str(count), str(seconds), str(width)), cwd)

    def version(self) -> str:
        """Return the version that is installed."""
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


PEERS = (Peer("pydantic-evals"), Peer("deepeval"), Peer("inspect-ai"), Peer("pytest-evals", waits=False))


def installed(peers: Sequence[Peer]) -> tuple[list[Peer], dict[str, str]]:
    """Install peers where they are not, and try each; return those that run, and why the others do not."""
    found: list[Peer] = []
    missing: dict[str, str] = {}
    for peer in peers:
        try:
            if not peer.python.exists():
                subprocess.run([sys.executable, "-m", "venv", peer.python.parents[1]], check=True)
            packages = json.loads(_pip(peer, "list", "--format=json", "--disable-pip-version-check"))
            if peer.package not in {one["name"].replace("_", "-") for one in packages}:
                print(f"installing {peer.package} ...", file=sys.stderr, flush=True)
                _pip(peer, "install", "-q", peer.package, "pytest")
            trial = peer.command(ENVIRONMENTS, 3)
            subprocess.run(trial.argv, cwd=trial.cwd, env=ENVIRONMENT, capture_output=True, text=True, check=True)
            found.append(peer)
        except (OSError, subprocess.CalledProcessError) as error:
            said = (getattr(error, "stderr", "") or str(error)).strip()
            missing[peer.package] = said.splitlines()[-1] if said else "no reason given"
    return found, missing


def _pip(peer: Peer, *arguments: str) -> str:
    done = subprocess.run([peer.python, "-m", "pip", *arguments], capture_output=True, text=True, check=True)
    return done.stdout
