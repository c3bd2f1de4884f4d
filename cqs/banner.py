"""What a server says when it starts to serve: where it is, where its data lies, and a line to paste for each client."""

from __future__ import annotations

from dataclasses import dataclass

from cqs import __version__


@dataclass(frozen=True, slots=True)
class Start:
    """The facts of a start. `data` is the data folder, "" for in memory."""

    endpoint: str
    data: str
    mode: str
    region: str
    account: str
    queue_count: int

    @property
    def aws_cli(self) -> str:
        """A command that lists the queues with AWS CLI."""
        secrets = f"AWS_ACCESS_KEY_ID={self.account} AWS_SECRET_ACCESS_KEY=any"
        return f"{secrets} aws sqs list-queues --region {self.region} --endpoint-url {self.endpoint}"

    @property
    def boto3(self) -> str:
        """A Python expression that makes a boto3 client."""
        secrets = f'aws_access_key_id="{self.account}", aws_secret_access_key="any"'
        return f'boto3.client("sqs", endpoint_url="{self.endpoint}", region_name="{self.region}", {secrets})'

    def text(self) -> str:
        """The banner, for people."""
        data = self.data or "in memory: nothing survives a restart"
        lines = (
            ("endpoint", self.endpoint),
            ("data", data),
            ("mode", self.mode),
            ("queues", str(self.queue_count)),
            ("AWS CLI", self.aws_cli),
            ("boto3", self.boto3),
        )
        return "\n".join([f"CQS {__version__} serves Amazon SQS", *(f"  {name:8}  {fact}" for name, fact in lines), ""])

    def fields(self) -> dict[str, object]:
        """The same for a log line."""
        return {
            "version": __version__,
            "endpoint": self.endpoint,
            "data": self.data or "memory",
            "mode": self.mode,
            "queues": self.queue_count,
            "aws_cli": self.aws_cli,
            "boto3": self.boto3,
        }
