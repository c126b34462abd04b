"""Take the pictures of the documentation, with a headless Chromium: ``python -m benchmarks.pictures`` writes ``docs/pictures``.

The terminal shows a run of the starter suite by an agent that takes the first thing it finds; the page is the report of that run.
"""

import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
COMMAND = """pytest benchmark_cases --mapsat-agent=shipped_agents.naive:agent -m 'mapsat(language="en")' --tb=no -rN"""
COLUMNS = 100
STYLES = {
    "1": "font-weight:bold",
    "2": "opacity:.7",
    "31": "color:#ff7b72",
    "32": "color:#7ee787",
    "33": "color:#e3b341",
    "35": "color:#d2a8ff",
    "36": "color:#76e3ea",
}
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #0d1117; color: #e6edf3 }}
pre {{ margin: 0; padding: 18px 22px; font: 14px/20px "DejaVu Sans Mono", monospace }}
</style><pre>{text}</pre>"""


def styled(text: str) -> str:
    """Return the HTML of a terminal's text: each colour of it is a span."""
    parts = re.split(r"\x1b\[([\d;]*)m", text)
    spans = [html.escape(parts[0])]
    for codes, words in zip(parts[1::2], parts[2::2], strict=True):
        style = ";".join(STYLES[code] for code in codes.split(";") if code in STYLES)
        spans.append(f'<span style="{style}">{html.escape(words)}</span>' if style else html.escape(words))
    return "".join(spans)


def take(page: Path, picture: Path, width: int, height: int) -> None:
    """Write what a browser shows of a page.

    Args:
        page: the HTML file.
        picture: the PNG file that is written.
        width: of the window, in pixels.
        height: of the window, in pixels.
    """
    browser = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if browser is None:
        raise SystemExit("the pictures need Chromium: install chromium or google-chrome")
    window = [f"--window-size={width},{height}", "--hide-scrollbars", f"--screenshot={picture}"]
    subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", *window, page.as_uri()],
        check=True,
        capture_output=True,
    )


def main() -> None:
    """Run the suite once, and take both pictures of it."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = folder / "report.html"
        arguments = [
            *shlex.split(COMMAND)[1:],
            f"--mapsat-report=html:{report}",
            "--color=yes",
            "-p",
            "no:cacheprovider",
        ]
        environment = {
            key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI", "PYTEST_ADDOPTS")
        }
        environment |= {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
        run = [sys.executable, "-m", "pytest", *arguments]
        done = subprocess.run(
            run, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )
        lines = [line for line in done.stdout.rstrip().splitlines() if str(report) not in line]
        shown = lines[max(number for number, line in enumerate(lines) if "== mapsat ==" in line) :]
        terminal = folder / "terminal.html"
        terminal.write_text(PAGE.format(text=styled("\n".join([f"$ {COMMAND}", "…", *shown]))), encoding="utf-8")
        take(terminal, PICTURES / "terminal.png", width=920, height=20 * (len(shown) + 2) + 40)
        take(report, PICTURES / "report.png", width=1280, height=860)


if __name__ == "__main__":
    main()
