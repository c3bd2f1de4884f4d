"""Turns a raw request into a raw reply, for every lane:

    negotiate ────► may this page? ──► authenticate ──► too often? ──► decode ──► act ──► encode
    which codec     origins            access           rates          codec      one function of cqs.api.actions

Any failure on the way becomes an error in the client's own protocol. The text of an SqsError is for the caller. Any
other exception is the server's fault: it is logged with its traceback and answered as ServiceUnavailable, so that
clients retry and internals do not leak. `dispatch` raises nothing but cancellation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter_ns

import msgspec
import structlog

from cqs.api.access import Access
from cqs.api.context import Context
from cqs.api.error_table import UNAVAILABLE, wire_error
from cqs.api.extensions import EXTENDED
from cqs.api.failure_log import FailureLog
from cqs.api.operations import BY_TARGET, TARGET_PREFIX
from cqs.api.origins import Origins
from cqs.api.protocol.codec import REQUEST_ID, Codec
from cqs.api.protocol.json import JsonCodec
from cqs.api.protocol.query import QueryCodec
from cqs.api.rates import Rates
from cqs.api.request import Head, Reply, Request, head_of
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.api.wire_errors import MethodNotAllowed
from cqs.errors import RequestThrottled, ServiceUnavailable, SqsError
from cqs.service.credentials import KeysOutdated
from cqs.service.engine import Engine

_log = structlog.get_logger("cqs.api")
_QUERY = QueryCodec(is_json=False)
_QUERY_AS_JSON = QueryCodec(is_json=True)
_TARGET = TARGET_PREFIX.encode()
_UNAVAILABLE_TEXT = str(ServiceUnavailable())


async def _at_once() -> None:
    """Nothing is outdated."""


class Dispatcher:
    """Answers requests. All lanes of a process share one."""

    def __init__(
        self,
        engine: Engine,
        access: Access,
        request_ids: RequestIds,
        *,
        origins: Origins,
        base_urls: BaseUrls,
        rates: Rates | None = None,
        catch_up: Callable[[], Awaitable[None]] = _at_once,
        is_logging_requests: bool = False,
        is_strict: bool = False,
    ) -> None:
        """`rates` None = no rate limit; `catch_up` is awaited by a call that finds the access keys outdated;
        `is_strict`: only AWS's actions are served."""
        self._engine = engine
        self._access = access
        self._request_ids = request_ids
        self._origins = origins
        self._base_urls = base_urls
        self._rates = rates
        self._catch_up = catch_up
        self._is_logging_requests = is_logging_requests
        self._record = engine.metrics.calls.record
        self._failures = FailureLog(engine.clock)
        by_target = BY_TARGET if is_strict else EXTENDED
        self._json = JsonCodec(is_query_mode=False, by_target=by_target)
        self._json_in_query_mode = JsonCodec(is_query_mode=True, by_target=by_target)

    async def dispatch(self, request: Request) -> Reply:
        """Never raises, except when cancelled."""
        head = head_of(request.headers) if request.head is None else request.head
        started_ns = perf_counter_ns()
        codec = self._codec_of(request, head)
        request_id = self._request_ids.next()
        action = code = ""
        context: Context | None = None
        try:
            self._origins.check(head, request.method)
            if request.method == b"OPTIONS":
                reply = Reply(204, [(REQUEST_ID, request_id.encode()), *self._origins.preflight_headers(head)], b"")
            elif request.method not in (b"POST", b"GET"):
                raise MethodNotAllowed
            else:
                try:
                    caller = self._access.authenticate(request, head)
                except KeysOutdated:
                    await self._catch_up()
                    caller = self._access.authenticate(request, head)
                if self._rates is not None:
                    self._rates.check(caller)
                operation, given = await codec.read(request, head)
                action = operation.name
                self._access.authorize_call(caller, action)
                context = Context(self._engine, self._access, self._base_urls, action, caller, head, request.client)
                output = await operation.act(context, given)
                reply = codec.answer(operation, output, request_id, context.undelivered)
        except Exception as error:
            action = action or codec.action_of(request, head)
            code, reply = self._refused(codec, error, request_id, action)
        self._record(action, code, perf_counter_ns() - started_ns)
        if self._is_logging_requests:
            _log_request(request, reply, request_id, context)
        return self._with_cors(reply, head) if b"origin" in head else reply

    def refuse(self, error: SqsError, request: Request) -> Reply:
        """The reply to a request that a lane rejects without reading it to its end."""
        head = head_of(request.headers)
        request_id = self._request_ids.next()
        codec = self._codec_of(request, head)
        action = codec.action_of(request, head)
        code, reply = self._refused(codec, error, request_id, action)
        self._record(action, code, 0)
        return self._with_cors(reply, head)

    def _codec_of(self, request: Request, head: Head) -> Codec:
        if request.method == b"POST" and _is_json(head):
            is_query_mode = head.get(b"x-amzn-query-mode", b"").lower() == b"true"
            return self._json_in_query_mode if is_query_mode else self._json
        return _QUERY_AS_JSON if head.get(b"accept", b"").startswith(b"application/json") else _QUERY

    def _refused(self, codec: Codec, error: Exception, request_id: str, action: str) -> tuple[str, Reply]:
        """The error's code, and the reply to the client."""
        if isinstance(error, SqsError):
            entry, text = wire_error(error), str(error)
        else:
            entry, text = UNAVAILABLE, _UNAVAILABLE_TEXT
        if entry is UNAVAILABLE:
            self._failures.tell(error, request_id, action)
        reply = codec.refuse(entry, text, request_id)
        if isinstance(error, RequestThrottled):
            reply.headers.append((b"Retry-After", b"%d" % error.retry_after_s))
        return entry.query_code, reply

    def _with_cors(self, reply: Reply, head: Head) -> Reply:
        return msgspec.structs.replace(reply, headers=reply.headers + self._origins.cors_headers(head))


def _is_json(head: Head) -> bool:
    """Whether a POST is of the JSON protocol. A form is not, if its X-Amz-Target is not one of that protocol: Perl's
    Amazon::SQS::Simple sends `AmazonSQSv20121105.SendMessage` with its forms. curl calls anything a form."""
    content_type = head.get(b"content-type", b"")
    if content_type.startswith(b"application/x-amz-json"):
        return True
    target = head.get(b"x-amz-target")
    is_form = content_type.lower().startswith(b"application/x-www-form-urlencoded")
    return target is not None and (target.startswith(_TARGET) or not is_form)


def _log_request(request: Request, reply: Reply, request_id: str, context: Context | None) -> None:
    action, account = ("", "") if context is None else (context.action, context.caller.account)
    _log.debug("request", request_id=request_id, action=action, account=account, peer=request.peer, status=reply.status)
