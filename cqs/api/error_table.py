"""Domain errors on the wire: one total table (sqs.md A8).

    error class        JSON __type                           query code (header, XML)               status
    QueueDoesNotExist  com.amazonaws.sqs#QueueDoesNotExist   AWS.SimpleQueueService.NonExistentQueue   400

Whatever is no SqsError (the store is away, a bug) becomes ServiceUnavailable: the client may not conclude anything, and
a retry is right. An entry without a status of its own collapses to 400 for JSON clients that do not set
x-amzn-query-mode, as on AWS; those marked `is_http` keep theirs.
"""

from __future__ import annotations

from typing import NamedTuple

from cqs import errors
from cqs.api import wire_errors

_SQS = "com.amazonaws.sqs#"
_CORAL = "com.amazon.coral.service#"
_PREFIX = "AWS.SimpleQueueService."


class WireError(NamedTuple):
    """How an error class looks to clients."""

    json_type: str
    query_code: str
    status: int
    is_sender: bool = True
    """Whose fault: the caller's, or ours."""
    is_http: bool = False
    """The status stands whatever the client's protocol."""

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
    """The table's entry for an error, or for the nearest class above it that has one."""
    for kind in type(error).__mro__:
        entry = TABLE.get(kind)
        if entry is not None:
            return entry
    return UNAVAILABLE
