"""Chromium, started once for all tests of this folder, and servers with data to show."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.console.browser.eye import DESK, Eye
from tests.console.browser.world import client, fill
from tests.sdk.server_process import ServerProcess

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
expect.set_options(timeout=60_000)
_NPM = Path(__file__).with_name("npm")
_BUILD = Path(__file__).parents[3] / "build" / "console-npm"


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The system's Chromium; Playwright downloads none."""
    program = shutil.which("chromium")
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """An open server with varied data and no passwords."""
    folder = tmp_path_factory.mktemp("console") / "data"
    running = ServerProcess(folder)
    running.start()
    fill(running.url, folder)
    yield running
    assert running.stop() == 0, running.log
    assert "Traceback" not in running.log, running.log
    assert "console_failed" not in running.log, running.log


@pytest.fixture(scope="package")
def sqs(server: ServerProcess) -> Any:
    return client(server.url)


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server whose console waits ten minutes, not ten seconds, before it does what can't be undone: on a slow machine
    those may have passed when "Undo" is clicked. If requested before `look`, it outlives the pages."""
    running = ServerProcess(tmp_path / "data", program=("-m", "tests.console.browser.patient_server"))
    running.start()
    yield running
    assert running.stop() == 0, running.log


@pytest.fixture
def look(chromium: Any, server: ServerProcess) -> Iterator[Callable[..., Eye]]:
    """Opens monitored tabs: `look(size=PHONE, theme="dark", is_scripted=False)`."""
    eyes: list[Eye] = []
    contexts = []

    def open_eye(
        size: tuple[int, int] = DESK, theme: str = "light", *, is_scripted: bool = True, base: str = ""
    ) -> Eye:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=theme,
            java_script_enabled=is_scripted,
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        eyes.append(Eye(context, base or server.url))
        return eyes[-1]

    yield open_eye
    for context in contexts:
        context.close()
    for eye in eyes:
        eye.check()


@pytest.fixture
def eye(look: Callable[..., Eye]) -> Eye:
    """A tab of the default size."""
    return look()


@pytest.fixture(scope="package")
def axe() -> str:
    """axe-core's script, installed by npm for the tests only."""
    script = _BUILD / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        shutil.copytree(_NPM, _BUILD, dirs_exist_ok=True)
        command = ["npm", "ci", "--no-audit", "--no-fund"]
        installed = subprocess.run(command, cwd=_BUILD, capture_output=True, text=True, timeout=110)
        assert installed.returncode == 0, installed.stderr
    return script.read_text()
