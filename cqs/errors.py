"""All errors, as one tree. `cqs.api.error_table` holds the wire names and statuses; the texts that clients match on are
here, once each, as SQS writes them (sqs.md A8).

    CqsError
    ├── SqsError                     sent to the client: one class per SQS error
    │   ├── QueueDoesNotExist  QueueNameExists  QueueDeletedRecently  PurgeQueueInProgress  OverLimit
    │   ├── MessageNotInflight  ReceiptHandleIsInvalid  InvalidMessageContents
    │   ├── InvalidAttributeName  InvalidAttributeValue  InvalidParameterValue  MissingParameter
    │   ├── EmptyBatchRequest  TooManyEntriesInBatchRequest  BatchEntryIdsNotDistinct  InvalidBatchEntryId
    │   ├── BatchRequestTooLong  UnsupportedOperation  ResourceNotFound  AccessDenied  RequestThrottled
    │   ├── InvalidClientTokenId  SignatureDoesNotMatch  RequestExpired  IncompleteSignature  MissingAuthenticationToken
    │   └── ServiceUnavailable       503: nothing was done, or it is not known; the client should retry
    ├── CacheUnavailable             the cache can't be reached: serve from the store
    ├── StoreUnavailable             nothing was written
    │   └── DataInUse                another process has the data directory
    ├── OutcomeUnknown               a write may or may not have happened
    ├── CannotStart                  the machine prevents the start: a port in use, a folder that can't be written
    ├── IdentityError                a change to accounts, users or keys that is not possible
    │   └── NoSuchIdentity           there is no user or key of that name
    └── ConfigError                  a setting is wrong: one line that names it and says what would be right
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CqsError(Exception):
    """Root of the tree. `str(error)` may be shown to the user who caused it. Picklable, whatever its constructor takes,
    because the store's writer may be another process."""

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[CqsError], args: tuple[object, ...], members: dict[str, object]) -> CqsError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class SqsError(CqsError):
    """An error that is sent to the client, with SQS's text."""


class CacheUnavailable(CqsError):
    """The cache did not answer, or not validly. The call may or may not have had an effect."""


class StoreUnavailable(CqsError):
    """The store refused or can't be reached; nothing was written."""


class DataInUse(StoreUnavailable):
    """Another process uses the data directory. `owner` is its pid, as text."""

    def __init__(self, path: str, owner: str) -> None:
        super().__init__(
            f"The data directory {path} is in use by another process (pid {owner}): "
            "stop it, or choose another data directory."
        )
        self.path = path
        self.owner = owner


class OutcomeUnknown(CqsError):
    """The write may or may not have happened; retrying it with the same address is safe."""


class CannotStart(CqsError):
    """The machine prevents the server from starting. The text says why and what to do."""


class IdentityError(CqsError):
    """A change to accounts, users or access keys that is not possible. The text says why."""


class NoSuchIdentity(IdentityError):
    """No user or access key has this name."""


class ConfigError(CqsError):
    """A setting can't be used. The text names the setting, its origin, and what would be right."""


class QueueDoesNotExist(SqsError):
    def __init__(self, text: str = "The specified queue does not exist.") -> None:
        super().__init__(text)


class QueueNameExists(SqsError):
    def __init__(self, attribute: str) -> None:
        super().__init__(f"A queue already exists with the same name and a different value for attribute {attribute}")


class QueueDeletedRecently(SqsError):
    def __init__(self) -> None:
        super().__init__(
            "You must wait 60 seconds after deleting a queue before you can create another with the same name."
        )


class PurgeQueueInProgress(SqsError):
    def __init__(self, queue: str) -> None:
        super().__init__(f"Only one PurgeQueue operation on {queue} is allowed every 60 seconds.")


class OverLimit(SqsError):
    pass


class MessageNotInflight(SqsError):
    def __init__(self) -> None:
        super().__init__("The specified message is not in flight.")


class ReceiptHandleIsInvalid(SqsError):
    def __init__(self, handle: str) -> None:
        super().__init__(f'The input receipt handle "{handle}" is not a valid receipt handle.')


class InvalidMessageContents(SqsError):
    def __init__(
        self,
        text: str = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | "
        "#x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
    ) -> None:
        super().__init__(text)


class InvalidAttributeName(SqsError):
    @classmethod
    def unknown(cls, name: str) -> InvalidAttributeName:
        return cls(f"Unknown Attribute {name}.")


class InvalidAttributeValue(SqsError):
    @classmethod
    def of(cls, name: str, reason: str) -> InvalidAttributeValue:
        return cls(f"Invalid value for the parameter {name}. Reason: {reason}")


class InvalidParameterValue(SqsError):
    @classmethod
    def of(cls, value: object, parameter: str, reason: str) -> InvalidParameterValue:
        return cls(f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")


class ReceiptHandleExpired(InvalidParameterValue):
    """When deleting a message from a FIFO queue."""

    REASON = "The receipt handle has expired"


class MissingParameter(SqsError):
    @classmethod
    def named(cls, parameter: str) -> MissingParameter:
        return cls(f"The request must contain the parameter {parameter}.")


class EmptyBatchRequest(SqsError):
    def __init__(self, entry: str) -> None:
        super().__init__(f"There should be at least one {entry} in the request.")


class TooManyEntriesInBatchRequest(SqsError):
    def __init__(self, count: int) -> None:
        super().__init__(f"Maximum number of entries per request are 10. You have sent {count}.")


class BatchEntryIdsNotDistinct(SqsError):
    def __init__(self, entry_id: str) -> None:
        super().__init__(f"Id {entry_id} repeated.")


class InvalidBatchEntryId(SqsError):
    def __init__(self) -> None:
        super().__init__(
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
            "It can be at most 80 letters long."
        )


class BatchRequestTooLong(SqsError):
    def __init__(self, size: int, size_max: int) -> None:
        super().__init__(f"Batch requests cannot be longer than {size_max} bytes. You have sent {size} bytes.")


class UnsupportedOperation(SqsError):
    pass


class ResourceNotFound(SqsError):
    pass


class AccessDenied(SqsError):
    pass


class RequestThrottled(SqsError):
    """Too many requests. `retry_after_s`: when to retry."""

    def __init__(self, text: str = "Rate exceeded", retry_after_s: int = 1) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class InvalidClientTokenId(SqsError):
    """The access key is unknown or disabled, or the session token was not issued by this server."""

    def __init__(self, text: str = "The security token included in the request is invalid.") -> None:
        super().__init__(text)


class SignatureDoesNotMatch(SqsError):
    def __init__(
        self,
        text: str = "The request signature we calculated does not match the signature you provided. Check your AWS "
        "Secret Access Key and signing method. Consult the service documentation for details.",
    ) -> None:
        super().__init__(text)


class RequestExpired(SqsError):
    """A presigned URL is older than it allows."""


class IncompleteSignature(SqsError):
    """The signature is incomplete or malformed."""


class MissingAuthenticationToken(SqsError):
    def __init__(self, text: str = "Request is missing Authentication Token") -> None:
        super().__init__(text)


class ServiceUnavailable(SqsError):
    def __init__(self, text: str = "The service can't do this now and has not confirmed it. Try again.") -> None:
        super().__init__(text)


@contextmanager
def after_a_write(what: str) -> Iterator[None]:
    """Something has already been written, so failures inside are never reported as "nothing was written"."""
    try:
        yield
    except StoreUnavailable as error:
        raise OutcomeUnknown(f"{what} {error}") from error
