"""Take pictures of the HTML report and of the console: ``python tools/screenshots FOLDER``.

Needs playwright and a Chromium; ``--chromium`` says where it is. `failure.png` in this folder was made so, for the
README, and reduced to a palette of 256 colours, which halves it.
"""

from __future__ import annotations

import argparse
import html
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import attnspec
from attnspec.cases import load_suite
from attnspec.reports.formats import report_to_json
from attnspec.reports.html import html_page

CASE = "causal/square"
DESKTOP = {"width": 960, "height": 1200}
PHONE = {"width": 375, "height": 812}
TERMINAL = """<body style="margin: 1.25rem; background: #16181d; color: #e6e6e6"><pre style="font: 13px/1.45 monospace">
<span style="color: #8ab4f8">$ attnspec validate almost_right.py</span>
{}</pre></body>"""


def main() -> int:
    """Write the pictures into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the PNG files go")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser's program")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    suite = load_suite()
    wrong, right = (_document(target) for target in (str(Path(__file__).with_name("almost_right.py")), "reference"))
    with tempfile.TemporaryDirectory() as folder:
        one, both = Path(folder) / "one.html", Path(folder) / "both.html"
        one.write_text(html_page([wrong], ["almost right 0.3"], suite), encoding="utf-8")
        both.write_text(html_page([wrong, right], ["almost right 0.3", "reference"], suite), encoding="utf-8")
        terminal = Path(folder) / "terminal.html"
        terminal.write_text(TERMINAL.format(html.escape(_printed("almost_right.py"))), encoding="utf-8")
        _take(one.as_uri(), both.as_uri(), terminal.as_uri(), arguments.folder, arguments.chromium)
    return 0


def _document(target: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(report_to_json(attnspec.validate(target))))
    # The path of this machine does not belong in a picture.
    document["implementation"]["adapter"] = document["implementation"]["adapter"].rsplit("/", 1)[-1]
    return document


def _printed(target: str) -> str:
    """Return what the command prints."""
    command = [sys.executable, "-m", "attnspec", "validate", f"./{target}"]
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout


def _take(one: str, both: str, terminal: str, folder: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        failure = f"{one}#{CASE}"
        for name, address, size, colours in (
            ("light", one, DESKTOP, "light"),
            ("dark", one, DESKTOP, "dark"),
            ("phone", one, PHONE, "light"),
            ("side_by_side", both, DESKTOP, "light"),
            ("failure", failure, DESKTOP, "light"),
            ("failure_dark", failure, DESKTOP, "dark"),
            ("failure_phone", failure, PHONE, "dark"),
            ("console", terminal, DESKTOP, "dark"),
        ):
            page = browser.new_page(viewport=size, color_scheme=colours, reduced_motion="reduce")
            page.goto(address)
            page.screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
