"""Other Python environments and programs that these tests use, and the variables that name them.

    CQS_QUERY_PYTHON    a Python with botocore 1.31.80, the last version with the Query protocol
    CQS_AWSCLI          the `aws` command
    CQS_CELERY_PYTHON   a Python with celery[sqs]; by default the one that runs the tests

If one is missing, the test is skipped as in tests/needs.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.needs import absent

_ROOT = Path(__file__).parents[2]


def query_python() -> Path:
    python = Path(os.environ.get("CQS_QUERY_PYTHON", _ROOT / ".venv-query/bin/python"))
    if not _imports(python, "import botocore; assert botocore.__version__ == '1.31.80'"):
        absent(f"needs botocore 1.31.80 under {python}", "make test, or set CQS_QUERY_PYTHON")
    return python


def awscli() -> Path:
    command = os.environ.get("CQS_AWSCLI") or str(_ROOT / ".venv-cli/bin/aws")
    found = shutil.which(command)
    if found is None:
        absent(f"needs the AWS CLI at {command}", "make test, or set CQS_AWSCLI")
    return Path(found)


def celery_python() -> Path:
    python = Path(os.environ.get("CQS_CELERY_PYTHON", sys.executable))
    if not _imports(python, "import celery, boto3, pycurl"):
        absent(f"needs celery[sqs] under {python}", "make test, or set CQS_CELERY_PYTHON")
    return python


@cache
def _imports(python: Path, code: str) -> bool:
    try:
        return subprocess.run([python, "-c", code], capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False
