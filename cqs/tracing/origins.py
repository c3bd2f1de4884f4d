"""Parses trace contexts: W3C's `traceparent`, and the X-Ray header that AWS SDKs send and SQS stores as a message's
AWSTraceHeader.

    traceparent       00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01
    X-Amzn-Trace-Id   Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1

Malformed input yields no trace and is never an error, since anybody can send it.
"""

from __future__ import annotations

import re

from opentelemetry.trace import SpanContext, TraceFlags

TEXT_LENGTH_MAX = 512
_W3C = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_ROOT = re.compile(r"1-([0-9a-f]{8})-([0-9a-f]{24})", re.ASCII)
_PARENT = re.compile(r"[0-9a-f]{16}", re.ASCII)


def of_traceparent(text: str) -> SpanContext | None:
    """W3C Trace Context, version 00; later versions as far as they are compatible."""
    found = _W3C.fullmatch(text[:TEXT_LENGTH_MAX].strip())
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    return _valid(found[2], found[3], is_sampled=bool(int(found[4], 16) & 1))


def of_xray(text: str) -> SpanContext | None:
    """AWS X-Ray's, if it names a parent."""
    fields = dict(part.strip().split("=", 1) for part in text[:TEXT_LENGTH_MAX].split(";") if "=" in part)
    root = _ROOT.fullmatch(fields.get("Root", ""))
    parent = fields.get("Parent", "")
    if root is None or not _PARENT.fullmatch(parent):
        return None
    return _valid(root[1] + root[2], parent, is_sampled=fields.get("Sampled") == "1")


def _valid(trace_id: str, span_id: str, *, is_sampled: bool) -> SpanContext | None:
    flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
    context = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=flags)
    return context if context.is_valid else None
