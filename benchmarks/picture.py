"""Renders a page to a picture with Chromium, for the pictures of reports in docs/.

python -m benchmarks.picture build/audit/report.html docs/images/audit-report.png
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1_040, 900


def main() -> None:
    """Renders the whole page in its light colour scheme."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.picture", description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--height", type=int, help="cut off below (pixels); default: the whole page")
    options = parser.parse_args()
    program = shutil.which("chromium")
    if program is None:
        sys.exit("picture: there is no chromium: apt-get install chromium")
    with sync_playwright() as play, play.chromium.launch(executable_path=program, args=["--no-sandbox"]) as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": options.height or HEIGHT}, color_scheme="light")
        page.goto(options.page.absolute().as_uri())
        page.screenshot(path=options.picture, full_page=options.height is None)


if __name__ == "__main__":
    main()
