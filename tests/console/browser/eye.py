"""A monitored browser tab: it records console messages, errors, and requests to other hosts, and `check` fails if there
were any. Screenshots go to build/screenshots."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, Response

PICTURES = Path(__file__).parents[3] / "build" / "screenshots"
PHONE, DESK, NARROW = (390, 844), (1360, 860), (360, 740)
SERIOUS = {"serious", "critical"}
_ARE_SCRIPTS_RUNNING = """() => document.readyState === "complete" && (!document.querySelector("script")
    || window.cqs?.read !== undefined
    && (!document.querySelector("[hx-get]") || document.querySelector("[data-htmx-powered]") !== null))"""
"""`cqs.read` is defined by the last of the page's own scripts."""


class Eye:
    """One tab. `page` is Playwright's."""

    def __init__(self, context: BrowserContext, base: str) -> None:
        self.base = base
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self._expected: tuple[str, ...] = ()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._see_request)
        self.page.on("response", self._see_response)
        self.page.on("dialog", self._see_dialog)

    def open(self, path: str) -> Page:
        """Opens the page and waits until its scripts have run."""
        self.page.goto(f"{self.base}/ADMIN{path}", wait_until="load")
        self.wait_for_scripts()
        return self.page

    def wait_for_scripts(self) -> None:
        """Until then, links and keys do what they do without scripts. htmx is the last to begin, in a task of its own
        that may run after the page's load event."""
        self.page.wait_for_function(_ARE_SCRIPTS_RUNNING)

    def expect(self, *texts: str) -> None:
        """Ignores complaints with one of these texts: errors that the test provokes."""
        self._expected = texts

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def overflow(self) -> str:
        """Returns what is wider than the window; "" = nothing."""
        width = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return f"{self.page.url} is {width} pixels too wide" if width > 0 else ""

    def accessibility(self, axe: str) -> list[str]:
        """Returns the serious findings of axe-core, as text."""
        self.page.evaluate(axe)
        found = self.page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
        return [
            f"{self.page.url}: {one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in found
            if one["impact"] in SERIOUS
        ]

    def check(self) -> None:
        """Fails if there were unexpected complaints."""
        wrong = [one for one in self.complaints if not any(text in one for text in self._expected)]
        assert not wrong, "\n".join(wrong)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text} at {self.page.url}")

    def _see_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _see_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and f"{parts.scheme}://{parts.netloc}" != self.base:
            self.complaints.append(f"request to {request.url}")

    def _see_response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"answer {response.status} of {response.url}")
