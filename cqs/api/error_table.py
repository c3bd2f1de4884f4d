"""Maps domain errors to the wire, in one complete table (sqs.md A8).

    error class        JSON __type                           query code (header, XML)               status
    QueueDoesNotExist  com.amazonaws.sqs#QueueDoesNotExist   AWS.SimpleQueueService.NonExistentQueue   400

Any exception other than an SqsError (the store is unavailable, a bug) becomes ServiceUnavailable: the client can
conclude nothing about the outcome and should retry. As on AWS, JSON clients that do not set x-amzn-query-mode get
status 400 instead of an entry's own status, except for entries marked `is_http` and server faults.
"""

from __future__ import annotations

from typing import NamedTuple

from cqs import errors
from cqs.api import wire_errors
from cqs.service.credentials import KeysOutdated

_SQS = "com.amazonaws.sqs#"
_CORAL = "com.amazon.coral.service#"
_PREFIX = "AWS.SimpleQueueService."


class WireError(NamedTuple):
    """How an error class appears to clients."""

    json_type: str
    query_code: str
    status: int
    is_sender: bool = True
    """Whether the caller is at fault, or the server."""
    is_http: bool = False
    """The status is the same in every protocol."""

    @property
    def fault(self) -> str:
        return "Sender" if self.is_sender else "Receiver"


def _modelled(name: str, code: str = "", status: int = 400) -> WireError:
    return WireError(_SQS + name, code or name, status)


def _common(name: str, code: str, status: int = 400) -> WireError:
    return WireError(_CORAL + name, code, status)


def _http(code: str, status: int) -> WireError:
    return WireError(_CORAL + code + "Exception", code, status, is_http=True)


UNAVAILABLE = WireError(_CORAL + "ServiceUnavailableException", "ServiceUnavailable", 503, False, True)

TABLE: dict[type[errors.SqsError], WireError] = {
    errors.QueueDoesNotExist: _modelled("QueueDoesNotExist", _PREFIX + "NonExistentQueue"),
    errors.QueueNameExists: _modelled("QueueNameExists", "QueueAlreadyExists"),
    errors.QueueDeletedRecently: _modelled("QueueDeletedRecently", _PREFIX + "QueueDeletedRecently"),
    errors.PurgeQueueInProgress: _modelled("PurgeQueueInProgress", _PREFIX + "PurgeQueueInProgress", 403),
    errors.OverLimit: _modelled("OverLimit", status=403),
    errors.MessageNotInflight: _modelled("MessageNotInflight", _PREFIX + "MessageNotInflight"),
    errors.ReceiptHandleIsInvalid: _modelled("ReceiptHandleIsInvalid"),
    errors.InvalidMessageContents: _modelled("InvalidMessageContents"),
    errors.InvalidAttributeName: _modelled("InvalidAttributeName"),
    errors.InvalidAttributeValue: _modelled("InvalidAttributeValue"),
    errors.EmptyBatchRequest: _modelled("EmptyBatchRequest", _PREFIX + "EmptyBatchRequest"),
    errors.TooManyEntriesInBatchRequest: _modelled(
        "TooManyEntriesInBatchRequest", _PREFIX + "TooManyEntriesInBatchRequest"
    ),
    errors.BatchEntryIdsNotDistinct: _modelled("BatchEntryIdsNotDistinct", _PREFIX + "BatchEntryIdsNotDistinct"),
    errors.InvalidBatchEntryId: _modelled("InvalidBatchEntryId", _PREFIX + "InvalidBatchEntryId"),
    errors.BatchRequestTooLong: _modelled("BatchRequestTooLong", _PREFIX + "BatchRequestTooLong"),
    errors.UnsupportedOperation: _modelled("UnsupportedOperation", _PREFIX + "UnsupportedOperation"),
    errors.ResourceNotFound: _modelled("ResourceNotFoundException", status=404),
    errors.RequestThrottled: _modelled("RequestThrottled"),
    errors.InvalidParameterValue: _common("InvalidParameterValueException", "InvalidParameterValue"),
    errors.ReceiptHandleExpired: _common("InvalidParameterValueException", "InvalidParameterValue"),
    errors.MissingParameter: _common("MissingRequiredParameterException", "MissingParameter"),
    errors.AccessDenied: _common("AccessDeniedException", "AccessDenied", 403),
    errors.InvalidClientTokenId: _common("InvalidClientTokenId", "InvalidClientTokenId", 403),
    errors.SignatureDoesNotMatch: _common("SignatureDoesNotMatch", "SignatureDoesNotMatch", 403),
    errors.RequestExpired: _common("RequestExpired", "RequestExpired", 403),
    errors.IncompleteSignature: _common("IncompleteSignature", "IncompleteSignature"),
    errors.MissingAuthenticationToken: _common("MissingAuthenticationToken", "MissingAuthenticationToken", 403),
    errors.ServiceUnavailable: UNAVAILABLE,
    KeysOutdated: UNAVAILABLE,
    wire_errors.SerializationError: _common("SerializationException", "SerializationException"),
    wire_errors.UnknownOperation: _common("UnknownOperationException", "UnknownOperationException", 404),
    wire_errors.InvalidAction: _common("InvalidActionException", "InvalidAction"),
    wire_errors.NoSuchVersion: _common("NoSuchVersionException", "NoSuchVersion"),
    wire_errors.MalformedInput: _common("MalformedInputException", "MalformedInput"),
    wire_errors.MalformedQueryString: _common("MalformedQueryStringException", "MalformedQueryString"),
    wire_errors.BadRequest: _http("BadRequest", 400),
    wire_errors.MethodNotAllowed: _http("MethodNotAllowed", 405),
    wire_errors.RequestTimeout: _http("RequestTimeout", 408),
    wire_errors.CrowdedOut: _http("ServiceUnavailable", 503)._replace(is_sender=False),
    wire_errors.RequestEntityTooLarge: _http("RequestEntityTooLarge", 413),
    wire_errors.UnsupportedContentEncoding: _http("UnsupportedContentEncoding", 415),
    wire_errors.RequestHeaderFieldsTooLarge: _http("RequestHeaderFieldsTooLarge", 431),
    wire_errors.OriginRefused: WireError(_CORAL + "AccessDeniedException", "AccessDenied", 403, is_http=True),
}


def wire_error(error: errors.SqsError) -> WireError:
    """The table entry for an error, or for its nearest base class that has one."""
    for kind in type(error).__mro__:
        entry = TABLE.get(kind)
        if entry is not None:
            return entry
    return UNAVAILABLE
