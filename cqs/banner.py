"""The startup banner: the endpoint, where the data is, and a command to paste for each client."""

from __future__ import annotations

import contextlib
import shlex
import sys
from dataclasses import dataclass

import structlog

from cqs import __version__

_log = structlog.get_logger("cqs.server")

_MODES = {
    "open": "open: any credentials are accepted",
    "signed": "signed: requests must be signed with an access key, and reach the queues of its account",
    "enforced": "enforced: requests must be signed with an access key, and queue policies decide",
}


@dataclass(frozen=True, slots=True)
class Start:
    """The facts about a started server. `data` is the data folder, "" if in memory; `auth` is open, signed or
    enforced."""

    endpoint: str
    data: str
    auth: str
    region: str
    account: str
    queue_count: int
    console: str = ""
    """Its URL, "" if it is off."""

    @property
    def key(self) -> tuple[str, str]:
        """An access key id and secret that a client may use; placeholders if signatures are checked."""
        return (self.account, "any") if self.auth == "open" else ("YOUR_KEY_ID", "YOUR_SECRET")

    @property
    def aws_cli(self) -> str:
        """An AWS CLI command that lists the queues. The brackets of an IPv6 address are a pattern to shells."""
        secrets = "AWS_ACCESS_KEY_ID={} AWS_SECRET_ACCESS_KEY={}".format(*self.key)
        return f"{secrets} aws sqs list-queues --region {self.region} --endpoint-url {shlex.quote(self.endpoint)}"

    @property
    def boto3(self) -> str:
        """A Python expression that creates a boto3 client."""
        secrets = 'aws_access_key_id="{}", aws_secret_access_key="{}"'.format(*self.key)
        return f'boto3.client("sqs", endpoint_url="{self.endpoint}", region_name="{self.region}", {secrets})'

    def text(self) -> str:
        """The banner, for people."""
        data = self.data or "in memory: nothing survives a restart"
        lines = (
            ("endpoint", self.endpoint),
            ("data", data),
            ("mode", _MODES[self.auth]),
            ("queues", str(self.queue_count)),
            *((("console", self.console),) if self.console else ()),
            ("AWS CLI", self.aws_cli),
            ("boto3", self.boto3),
        )
        return "\n".join([f"CQS {__version__} serves Amazon SQS", *(f"  {name:8}  {fact}" for name, fact in lines), ""])

    def facts(self) -> dict[str, object]:
        """Fields for a log line right below the banner."""
        return {
            "version": __version__,
            "endpoint": self.endpoint,
            "data": self.data or "memory",
            "auth": self.auth,
            "queues": self.queue_count,
        }

    def fields(self) -> dict[str, object]:
        """Fields for a log line that programs read."""
        return {**self.facts(), "aws_cli": self.aws_cli, "boto3": self.boto3}


def announce(start: Start, log_format: str, **more: object) -> None:
    """Logs the start, and writes the banner to standard error unless the log format is json."""
    if log_format != "json":
        with contextlib.suppress(OSError):
            sys.stderr.write(start.text())
            sys.stderr.flush()
    _log.info("serving", **(start.facts() if sys.stderr.isatty() else start.fields()), **more)
