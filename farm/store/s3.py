"""The store behind an S3 API, at AWS or any other endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from farm.errors import Unreachable
from farm.store.base import KeyMissing, ObjectInfo, check_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

T = TypeVar("T")

_TRANSIENT = {
    "SlowDown",
    "RequestTimeout",
    "InternalError",
    "ServiceUnavailable",
    "Throttling",
    "500",
    "502",
    "503",
}
_TRANSIENT |= {"504", "ConditionalRequestConflict", "OperationAborted", "409", "429"}


class S3Store:
    """Objects below `prefix` in a bucket.

    Transient faults (throttling, 5xx, broken connections) are retried with growing, jittered waits for
    `patience` seconds; everything else is reported at once.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        endpoint_url: str | None = None,
        region: str = "us-east-1",
        path_style: bool = True,
        patience: float = 60.0,
    ):
        import boto3
        from botocore.config import Config

        self.bucket = bucket
        self.prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self.url = f"s3://{bucket}/{self.prefix}"
        self.endpoint = endpoint_url or "the AWS default endpoint"
        self.patience = patience
        self.client: S3Client = boto3.client(
            "s3",
            endpoint_url=endpoint_url,
            region_name=region,
            config=Config(
                s3={"addressing_style": "path" if path_style else "auto"},
                # Retrying is ours, in one place: botocore's own would multiply the waits.
                retries={"total_max_attempts": 1, "mode": "standard"},
                connect_timeout=5,
                read_timeout=30,
                # Many S3 implementations refuse the newer checksum trailers.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                max_pool_connections=32,
            ),
        )

    def ensure(self) -> None:
        """Create the bucket if it is missing."""
        from botocore.exceptions import ClientError

        def create() -> None:
            try:
                self.client.head_bucket(Bucket=self.bucket)
            except ClientError as error:
                if _code(error) not in ("404", "NoSuchBucket", "NotFound"):
                    raise
                self.client.create_bucket(Bucket=self.bucket)

        self._call(create)

    def get(self, key: str) -> bytes:
        """Read an object."""
        name = self.prefix + check_key(key)
        return self._call(lambda: self.client.get_object(Bucket=self.bucket, Key=name)["Body"].read(), key)

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        name = self.prefix + check_key(key)
        self._call(lambda: self.client.put_object(Bucket=self.bucket, Key=name, Body=data), key)

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object if the key is free (`If-None-Match: *`).

        A reply can be lost after the write has landed; the retry then meets its own object. So when a
        retry is refused, the stored bytes are read back, and equal ones count as ours.
        """
        from botocore.exceptions import ClientError

        name = self.prefix + check_key(key)
        attempts = 0

        def write() -> bool:
            nonlocal attempts
            attempts += 1
            try:
                self.client.put_object(Bucket=self.bucket, Key=name, Body=data, IfNoneMatch="*")
            except ClientError as error:
                if _code(error) not in ("PreconditionFailed", "412"):
                    raise
                return False
            return True

        created = self._call(write, key)
        return created or (attempts > 1 and self.get(key) == data)

    def head(self, key: str) -> ObjectInfo | None:
        """What a listing would show."""
        name = self.prefix + check_key(key)
        try:
            answer = self._call(lambda: self.client.head_object(Bucket=self.bucket, Key=name), key)
        except KeyMissing:
            return None
        return ObjectInfo(key, answer["ContentLength"], answer["ETag"].strip('"'))

    def scan(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object below a prefix, page by page."""
        token: dict[str, str] = {}
        while True:
            page = self._call(
                lambda token=dict(token): self.client.list_objects_v2(  # type: ignore[misc]
                    Bucket=self.bucket, Prefix=self.prefix + prefix, **token
                )
            )
            for item in page.get("Contents", []):
                yield ObjectInfo(item["Key"][len(self.prefix) :], item["Size"], item["ETag"].strip('"'))
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def children(self, prefix: str) -> list[str]:
        """The names one level below a prefix."""
        full = self.prefix + prefix
        names: list[str] = []
        token: dict[str, str] = {}
        while True:
            page = self._call(
                lambda token=dict(token): self.client.list_objects_v2(  # type: ignore[misc]
                    Bucket=self.bucket, Prefix=full, Delimiter="/", **token
                )
            )
            names += [p["Prefix"][len(full) :].rstrip("/") for p in page.get("CommonPrefixes", [])]
            names += [item["Key"][len(full) :] for item in page.get("Contents", [])]
            if not page.get("IsTruncated"):
                return sorted(names)
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def delete(self, key: str) -> None:
        """Remove an object."""
        name = self.prefix + check_key(key)
        self._call(lambda: self.client.delete_object(Bucket=self.bucket, Key=name), key)

    def _call(self, request: Callable[[], T], key: str = "") -> T:
        from botocore.exceptions import BotoCoreError, ClientError
        from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

        retrying = Retrying(
            retry=retry_if_exception(_transient),
            stop=stop_after_delay(self.patience),
            wait=wait_random_exponential(multiplier=0.1, max=5),
            reraise=True,
        )
        try:
            return retrying(request)
        except ClientError as error:
            code = _code(error)
            if key and code in ("NoSuchKey", "404", "NotFound"):
                raise KeyMissing(f"store {self.url}: no object {key!r}") from None
            message = error.response.get("Error", {}).get("Message", "")
            raise Unreachable(f"store {self.url} at {self.endpoint}: {code} {message}".rstrip()) from None
        except BotoCoreError as error:
            raise Unreachable(
                f"store {self.url} at {self.endpoint}: {type(error).__name__}. Is the endpoint up, and are "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY set?"
            ) from None


def _code(error: object) -> str:
    response = getattr(error, "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _transient(error: BaseException) -> bool:
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

    if isinstance(error, ClientError):
        status = str(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
        return _code(error) in _TRANSIENT or status in _TRANSIENT
    return isinstance(error, ConnectionError | HTTPClientError)
