"""Which failures of an S3 store may pass, and what people are told."""

from __future__ import annotations

import pytest
from botocore import exceptions as boto

from farm.store.s3_faults import Fault, explain, fault_of


def answer(status: int, code: str = "", message: str = "") -> boto.ClientError:
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return boto.ClientError(response, "PutObject")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (answer(503, "SlowDown"), Fault.THROTTLED),
        (answer(429), Fault.THROTTLED),
        (answer(409, "ConditionalRequestConflict"), Fault.CONFLICT),
        (answer(409, "BucketNotEmpty"), None),
        (answer(500, "InternalError"), Fault.SERVER),
        (answer(502), Fault.SERVER),
        (answer(400, "RequestTimeout"), Fault.SERVER),
        (answer(501, "NotImplemented"), None),
        (answer(403, "AccessDenied"), None),
        (answer(404, "NoSuchKey"), None),
        (answer(412, "PreconditionFailed"), None),
        (boto.EndpointConnectionError(endpoint_url="u"), Fault.UNSENT),
        (boto.ConnectTimeoutError(endpoint_url="u"), Fault.UNSENT),
        (boto.ReadTimeoutError(endpoint_url="u"), Fault.BROKEN),
        (boto.ConnectionClosedError(endpoint_url="u"), Fault.BROKEN),
        (boto.IncompleteReadError(actual_bytes=1, expected_bytes=2), Fault.BROKEN),
        (boto.SSLError(endpoint_url="u", error="EOF"), Fault.BROKEN),
        (boto.SSLError(endpoint_url="u", error="CERTIFICATE_VERIFY_FAILED"), None),
        (boto.NoCredentialsError(), None),
        (ValueError(), None),
        (None, None),
    ],
)
def test_faults(error, fault):
    assert fault_of(error) is fault


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (answer(403, "InvalidAccessKeyId", "AKIASECRET"), "check AWS_ACCESS_KEY_ID"),
        (answer(403, "Odd", "AKIASECRET"), "Odd"),
        (answer(403, "403"), "the credentials may not do this"),
        (answer(404, "NoSuchBucket"), "the bucket does not exist"),
        (answer(400, "Odd", "because"), "Odd because"),
        (answer(400), "HTTP 400"),
        (boto.NoCredentialsError(), "set AWS_ACCESS_KEY_ID"),
        (boto.SSLError(endpoint_url="u", error="x"), "AWS_CA_BUNDLE"),
        (boto.ReadTimeoutError(endpoint_url="u"), "is it up"),
    ],
)
def test_what_people_are_told(error, told):
    assert told in explain(error) and "AKIASECRET" not in explain(error)
