"""Protocol errors: what can be wrong with a request before it is understood. Like every SqsError they are sent to the
client in its own protocol; `cqs.api.error_table` has their names and statuses."""

from __future__ import annotations

from cqs.errors import AccessDenied, SqsError


class SerializationError(SqsError):
    """The body does not conform to its protocol, or a member has the wrong type."""


class UnknownOperation(SqsError):
    """No such X-Amz-Target, or no action named at all."""

    def __init__(self, text: str = "The requested operation is unknown.") -> None:
        super().__init__(text)


class InvalidAction(SqsError):
    def __init__(self, action: str) -> None:
        super().__init__(f"The action {action} is not valid for this endpoint.")


class NoSuchVersion(SqsError):
    def __init__(self, version: str) -> None:
        super().__init__(f"The requested version ( {version} ) is not valid.")


class MalformedInput(SqsError):
    """A form that contradicts itself: a parameter given twice with different values, a list index that is not a
    number."""


class MalformedQueryString(SqsError):
    """A form that can't be parsed: bad encoding, or more parameters than any request needs."""


class HttpError(SqsError):
    """Refused by the rules of HTTP: the status is the same in every protocol."""


class BadRequest(HttpError):
    """Not a well-formed HTTP/1 request, or one that two servers could interpret differently."""


class MethodNotAllowed(HttpError):
    def __init__(self) -> None:
        super().__init__("Only GET, POST and OPTIONS are served here.")


class RequestTimeout(HttpError):
    def __init__(self) -> None:
        super().__init__("The request took too long to arrive.")


class CrowdedOut(HttpError):
    """There was no memory left for the rest of the request, given all the other incoming requests."""

    def __init__(self) -> None:
        super().__init__("The server has too many unfinished requests. Send the request again.")


class RequestEntityTooLarge(HttpError):
    def __init__(self, size_max: int) -> None:
        super().__init__(f"The request is larger than {size_max} bytes, which no message of legal size needs.")


class RequestHeaderFieldsTooLarge(HttpError):
    def __init__(self) -> None:
        super().__init__("The request has too many or too long header fields.")


class UnsupportedContentEncoding(HttpError):
    def __init__(self) -> None:
        super().__init__("Content-Encoding is not supported. Send the body as it is.")


class OriginRefused(HttpError, AccessDenied):
    """A web page that is not listed tried to call the API."""

    def __init__(self, origin: str) -> None:
        page = origin or "another site"
        super().__init__(f"Requests from web pages of {page} are not allowed by this server: see its setting origins.")
