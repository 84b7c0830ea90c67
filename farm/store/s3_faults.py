"""What a failed S3 request means: whether to try again, how long to wait, and what to tell people."""

from __future__ import annotations

from enum import StrEnum

from botocore import exceptions as boto
from tenacity import RetryCallState, wait_random_exponential


class Fault(StrEnum):
    """Classes of failure that are worth another try."""

    THROTTLED = "throttled"
    CONFLICT = "conflict"
    """Another conditional write of the key was under way (409); nothing was written."""
    UNSENT = "unsent"
    """No connection: the request never arrived."""
    SERVER = "server"
    """5xx: the request may have taken effect."""
    BROKEN = "broken"
    """Connection lost or timed out half way: the request may have taken effect."""


UNCERTAIN = frozenset({Fault.SERVER, Fault.BROKEN})
"""After these a write may have landed although no answer says so."""

_THROTTLED = {"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests"}
_CONFLICT = {"ConditionalRequestConflict", "OperationAborted"}
_WAITS = {
    Fault.THROTTLED: wait_random_exponential(multiplier=0.5, max=10),
    Fault.CONFLICT: wait_random_exponential(multiplier=0.05, max=1),
    Fault.UNSENT: wait_random_exponential(multiplier=0.2, max=5),
    Fault.SERVER: wait_random_exponential(multiplier=0.1, max=5),
    Fault.BROKEN: wait_random_exponential(multiplier=0.1, max=5),
}
_HINTS = {
    "NoSuchBucket": "the bucket does not exist; create it, or correct the name",
    "AccessDenied": "the credentials may not do this; allow reading, writing, listing and deleting in the bucket",
    "InvalidAccessKeyId": "the access key is unknown there; check AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "the secret does not fit the access key; check AWS_SECRET_ACCESS_KEY",
    "ExpiredToken": "the session has ended; get new credentials",
    "RequestTimeTooSkewed": "this machine's clock is wrong; set it",
    "PermanentRedirect": "the bucket is in another region; set FARM_S3_REGION",
    "AuthorizationHeaderMalformed": "the bucket is in another region; set FARM_S3_REGION",
}
_HINTS |= {"403": _HINTS["AccessDenied"], "Forbidden": _HINTS["AccessDenied"]}


def code_of(error: boto.ClientError) -> str:
    """The store's own word for what went wrong."""
    return str(error.response.get("Error", {}).get("Code", ""))


def status_of(error: boto.ClientError) -> int:
    """The HTTP status of an answer, 0 if unknown."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def fault_of(error: BaseException | None) -> Fault | None:
    """The class of a failure that may pass; None for one that stays (403, 404, credentials, 501, …)."""
    if isinstance(error, boto.ClientError):
        code, status = code_of(error), status_of(error)
        if code in _THROTTLED or status == 429:
            return Fault.THROTTLED
        if code in _CONFLICT or (status == 409 and not code.startswith("Bucket")):
            return Fault.CONFLICT
        if code == "RequestTimeout" or (status >= 500 and status != 501):
            return Fault.SERVER
        return None
    if isinstance(error, boto.SSLError):
        # A certificate that is not trusted will not be so in a minute.
        return None if "CERTIFICATE_VERIFY_FAILED" in str(error) else Fault.BROKEN
    if isinstance(error, boto.EndpointConnectionError | boto.ConnectTimeoutError | boto.ProxyConnectionError):
        return Fault.UNSENT
    if isinstance(error, boto.ConnectionError | boto.HTTPClientError | boto.IncompleteReadError):
        return Fault.BROKEN
    return None


def pause(state: RetryCallState) -> float:
    """Seconds until the next try: jittered and growing, by the class of the last failure."""
    fault = fault_of(state.outcome.exception() if state.outcome else None)
    return _WAITS[fault or Fault.SERVER](state)


def explain(error: boto.ClientError | boto.BotoCoreError) -> str:
    """One line for people: what happened and what to do. Never holds credentials."""
    if isinstance(error, boto.ClientError):
        code = code_of(error)
        if code in _HINTS:
            return f"{code}: {_HINTS[code]}"
        # The text of a refused signature may quote parts of the request; only others are passed on.
        message = "" if status_of(error) in (401, 403) else str(error.response.get("Error", {}).get("Message", ""))
        return f"{code} {message}".strip() or f"HTTP {status_of(error)}"
    name = type(error).__name__
    if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError | boto.CredentialRetrievalError):
        return f"{name}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or an AWS profile"
    if isinstance(error, boto.SSLError):
        return f"{name}: the connection is not trusted; check the certificate, or set AWS_CA_BUNDLE"
    if fault_of(error) is not None:
        return f"{name}: is it up, and is FARM_S3_ENDPOINT_URL right?"
    return name
