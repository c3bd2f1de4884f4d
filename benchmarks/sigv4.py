"""The cost of a signature check: `python -m benchmarks.sigv4` prints µs per request, the best of 300 runs of 1,000, for
a SendMessage of 1 KiB as boto3 signs it (ten headers, five of them signed), with the day's signing key cached, in the
form in which the fast lane passes it."""

from __future__ import annotations

import time

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from cqs.api.request import Head, Headers
from cqs.api.sigv4 import Verifier
from cqs.clock import SystemClock
from cqs.identity import Caller, Credential

_KEY = Credential(key_id="AKIDEXAMPLE", secret=b"secret", caller=Caller(account="111122223333"))
_RUNS, _CALLS = 300, 1_000


class _OneKey:
    def find(self, key_id: str) -> Credential | None:
        return _KEY if key_id == _KEY.key_id else None


def main() -> None:
    body = b'{"QueueUrl": "http://localhost:9324/111122223333/q", "MessageBody": "' + b"x" * 1_024 + b'"}'
    sent = {
        "Host": "localhost:9324",
        "X-Amz-Target": "AmazonSQS.SendMessage",
        "x-amzn-query-mode": "true",
        "Content-Type": "application/x-amz-json-1.0",
        "User-Agent": "Boto3/1.43.117 md/Botocore#1.43.117 ua/2.1 os/linux md/arch#x86_64 lang/python#3.11.7",
    }
    request = AWSRequest("POST", "http://localhost:9324/", data=body, headers=sent)
    SigV4Auth(Credentials(_KEY.key_id, _KEY.secret.decode()), "sqs", "us-east-1").add_auth(request)
    unsigned = {"amz-sdk-invocation-id": "7a8f", "amz-sdk-request": "attempt=1", "Content-Length": str(len(body))}
    headers = [(name.encode(), value.encode()) for name, value in [*request.headers.items(), *unsigned.items()]]
    head = {name.lower(): value for name, value in headers}
    verifier = Verifier(_OneKey(), SystemClock(), region="us-east-1")

    best_s = min(_run(verifier, headers, head, body) for _ in range(_RUNS))
    print(f"{best_s / _CALLS * 1e6:.2f} µs a request")


def _run(verifier: Verifier, headers: Headers, head: Head, body: bytes) -> float:
    start = time.perf_counter()
    for _ in range(_CALLS):
        verifier.verify(b"POST", b"/", headers, body, None, head)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
