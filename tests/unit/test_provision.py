"""`.ci/provision` with pretended programs: what it installs as root, and what it says otherwise."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.unit.sources import ROOT

_APT = """#!/bin/sh
echo "$@" >> {calls}
for word in "$@"; do [ "$word" != chromium ] || exit 100; done
"""


def provision(folder: Path, user: int) -> tuple[str, list[str]]:
    """Runs it where only `java` and an apt that lacks chromium are installed; returns what it printed and the calls of
    apt-get."""
    calls = folder / "calls"
    calls.touch()
    for name, text in {
        "apt-get": _APT.format(calls=calls),
        "id": f"#!/bin/sh\necho {user}\n",
        "java": "#!/bin/sh\n",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", ROOT / ".ci" / "provision"],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return done.stdout + done.stderr, calls.read_text().splitlines()


def test_root_gets_all_others_if_a_release_lacks_one(tmp_path: Path) -> None:
    printed, calls = provision(tmp_path, user=0)

    alone = [call.split()[-1] for call in calls[2:]]
    assert {"redis-server", "nodejs", "prometheus", "maven", "default-jdk-headless", "libfaketime"} < set(alone)
    assert "default-jre-headless" not in alone
    assert [line for line in printed.splitlines() if "could not" in line] == ["apt could not install: chromium"]


def test_others_are_told_the_command(tmp_path: Path) -> None:
    printed, calls = provision(tmp_path, user=1000)

    assert "as root: apt-get install redis-server nodejs" in printed
    assert calls == []
