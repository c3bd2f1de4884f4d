"""`.ci/provision` with pretended programs: what it installs as root, and what it says otherwise."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.sources import ROOT

_APT = """#!/bin/sh
echo "$@" >> {calls}
for word in "$@"; do [ "$word" != chromium ] || exit 100; done
"""


def provision(folder: Path, user: int, java: int = 17) -> tuple[str, list[str]]:
    """Runs it where no program but an apt without chromium is installed, on a release with that default Java. Returns
    what it printed and the calls of apt-get."""
    calls = folder / "calls"
    calls.touch()
    sed = shutil.which("sed")
    assert sed is not None
    (folder / "sed").symlink_to(sed)
    for name, text in {
        "apt-get": _APT.format(calls=calls),
        "apt-cache": f"#!/bin/sh\necho '  Depends: openjdk-{java}-jre-headless'\n",
        "id": f"#!/bin/sh\necho {user}\n",
        "curl": "#!/bin/sh\n",
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
    assert "curl" not in alone
    assert [line for line in printed.splitlines() if "could not" in line] == ["apt could not install: chromium"]


def test_others_are_told_the_command(tmp_path: Path) -> None:
    printed, calls = provision(tmp_path, user=1000)

    assert "as root: apt-get install redis-server nodejs" in printed
    assert calls == []


@pytest.mark.parametrize(("default", "package"), [(17, "default"), (21, "default"), (25, "openjdk-21")])
@pytest.mark.parametrize("user", [0, 1000])
def test_java_is_one_that_cassandra_runs_on(tmp_path: Path, user: int, default: int, package: str) -> None:
    printed, _ = provision(tmp_path, user, default)

    words = set(printed.split())
    assert {f"{package}-jre-headless", f"{package}-jdk-headless"} < words
    assert sum("-jre-headless" in word for word in words) == 1
