"""Check what is about to be published: ``python .github/check_release.py TAG DIST``.

The tag is the version of the package, the changelog has a dated section for it, and the wheel is at most 2 MB.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 2_000_000  # bytes


def main(tag: str, dist: str) -> int:
    """Print each fault. Return 1 if there is one, else 0."""
    source = (ROOT / "pytest_mapsat" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "([^"]+)"', source, re.MULTILINE)[1]
    faults = []
    if tag != f"v{version}":
        faults.append(f"the tag is {tag}; expected v{version}, the version in pytest_mapsat/__init__.py")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        faults.append(f"CHANGELOG.md has no section '## {version} - YYYY-MM-DD'")
    wheels = list(Path(dist).glob("*.whl"))
    if len(wheels) != 1:
        faults.append(f"{dist} has {len(wheels)} wheels; expected one")
    faults += [
        f"{wheel.name} has {size:,} bytes; at most {LIMIT:,} are allowed"
        for wheel in wheels
        if (size := wheel.stat().st_size) > LIMIT
    ]
    print("\n".join(faults) or f"{tag} can be published")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
