"""The store behind an S3 API, at AWS or any other endpoint."""

from __future__ import annotations

import builtins
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from botocore import exceptions as boto
from tenacity import Retrying, retry_if_exception, stop_before_delay

from farm.errors import InputError, Unreachable
from farm.store.atomic import replacing
from farm.store.base import ConditionUnsupported, KeyMissing, ObjectInfo, check_directory, check_key, check_prefix
from farm.store.s3_faults import UNCERTAIN, code_of, explain, fault_of, pause, status_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectsV2OutputTypeDef

T = TypeVar("T")

_ABSENT = ("NoSuchKey", "404", "NotFound")


class Credentials(NamedTuple):
    """Keys given explicitly; without them boto3 looks in its usual places."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


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
        credentials: Credentials | None = None,
    ):
        import boto3
        from botocore.config import Config

        self.bucket = bucket
        self.prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self.url = f"s3://{bucket}/{self.prefix}".rstrip("/")
        self.endpoint = endpoint_url or "the AWS endpoint"
        self.region = region
        self.patience = patience
        keys = credentials or Credentials(None, None)  # type: ignore[arg-type]
        try:
            # A session of its own: boto3's shared one is not safe to make clients from in threads.
            self.client: S3Client = boto3.session.Session().client(
                "s3",
                endpoint_url=endpoint_url,
                region_name=region,
                aws_access_key_id=keys.access_key,
                aws_secret_access_key=keys.secret_key,
                aws_session_token=keys.token,
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
        except (ValueError, boto.BotoCoreError) as error:
            raise InputError(f"store {self.url} at {self.endpoint}: {error}") from None

    def ensure(self) -> None:
        """Create the bucket if it is missing."""

        def create() -> None:
            try:
                self.client.head_bucket(Bucket=self.bucket)
                return
            except boto.ClientError as error:
                if code_of(error) not in ("404", "NoSuchBucket", "NotFound"):
                    raise
            try:
                if self.region == "us-east-1":  # the one region that AWS wants not to be named
                    self.client.create_bucket(Bucket=self.bucket)
                else:
                    where = {"LocationConstraint": self.region}
                    self.client.create_bucket(Bucket=self.bucket, CreateBucketConfiguration=where)  # type: ignore[arg-type]
            except boto.ClientError as error:
                if code_of(error) != "BucketAlreadyOwnedByYou":  # another worker was faster
                    raise

        self._call(create)

    def get(self, key: str) -> bytes:
        """Read an object."""
        name = self.prefix + check_key(key)
        return self._call(lambda: self.client.get_object(Bucket=self.bucket, Key=name)["Body"].read(), key)

    def get_file(self, key: str, path: Path) -> None:
        """Stream an object to a file."""
        name = self.prefix + check_key(key)

        def read() -> None:
            body = self.client.get_object(Bucket=self.bucket, Key=name)["Body"]
            with replacing(path) as stream:
                shutil.copyfileobj(body, stream, 1 << 20)

        self._call(read, key)

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        name = self.prefix + check_key(key)
        self._call(lambda: self.client.put_object(Bucket=self.bucket, Key=name, Body=data), key)

    def put_file(self, key: str, path: Path) -> None:
        """Stream a file into an object, in parts if it is large."""
        name = self.prefix + check_key(key)

        def write() -> None:
            with path.open("rb") as stream:
                self.client.upload_fileobj(stream, self.bucket, name)

        self._call(write, key)

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object if the key is free (`If-None-Match: *`), always in one part.

        A reply can be lost after the write has landed; the retry then meets its own object. So when a
        retry after such a fault is refused, the stored bytes are read back, and equal ones count as ours.

        Raises:
            ConditionUnsupported: the store does not know the condition.

        """
        name = self.prefix + check_key(key)
        uncertain = False

        def write() -> bool:
            nonlocal uncertain
            try:
                self.client.put_object(Bucket=self.bucket, Key=name, Body=data, IfNoneMatch="*")
            except boto.ClientError as error:
                if status_of(error) == 412 or code_of(error) == "PreconditionFailed":
                    return False
                if status_of(error) == 501 or code_of(error) == "NotImplemented":
                    raise ConditionUnsupported(
                        f"store {self.url} at {self.endpoint} does not know conditional writes (If-None-Match)"
                    ) from None
                uncertain = uncertain or fault_of(error) in UNCERTAIN
                raise
            except boto.BotoCoreError as error:
                uncertain = uncertain or fault_of(error) in UNCERTAIN
                raise
            return True

        if self._call(write, key):
            return True
        try:
            return uncertain and self.get(key) == data
        except KeyMissing:  # refused, and deleted since
            return False

    def head(self, key: str) -> ObjectInfo | None:
        """What a listing would show."""
        name = self.prefix + check_key(key)
        try:
            answer = self._call(lambda: self.client.head_object(Bucket=self.bucket, Key=name), key)
        except KeyMissing:
            return None
        return ObjectInfo(key, answer["ContentLength"], answer["ETag"].strip('"'))

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object that begins with a prefix, page by page."""
        for page in self._pages(check_prefix(prefix), ""):
            for item in page.get("Contents", []):
                yield ObjectInfo(item["Key"][len(self.prefix) :], item["Size"], item["ETag"].strip('"'))

    def children(self, prefix: str) -> builtins.list[str]:
        """The names one level below a prefix."""
        start = len(self.prefix + check_directory(prefix))
        names: set[str] = set()
        for page in self._pages(prefix, "/"):
            names.update(p["Prefix"][start:].rstrip("/") for p in page.get("CommonPrefixes", []))
            names.update(item["Key"][start:] for item in page.get("Contents", []))
        return sorted(names - {""})  # "": a marker object that some consoles make for a "folder"

    def delete(self, key: str) -> None:
        """Remove an object."""
        name = self.prefix + check_key(key)
        self._call(lambda: self.client.delete_object(Bucket=self.bucket, Key=name))

    def _pages(self, prefix: str, delimiter: str) -> Iterator[ListObjectsV2OutputTypeDef]:
        more: dict[str, str] = {"Delimiter": delimiter} if delimiter else {}
        while True:
            page = self._call(
                lambda: self.client.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix + prefix, **more)  # type: ignore[arg-type]
            )
            yield page
            if not page.get("IsTruncated"):
                return
            more["ContinuationToken"] = page["NextContinuationToken"]

    def _call(self, request: Callable[[], T], key: str = "") -> T:
        retrying = Retrying(
            retry=retry_if_exception(lambda error: fault_of(error) is not None),
            stop=stop_before_delay(self.patience),
            wait=pause,
            reraise=True,
        )
        try:
            return retrying(request)
        except boto.ClientError as error:
            if key and code_of(error) in _ABSENT:
                raise KeyMissing(f"store {self.url}: no object {key!r}") from None
            raise Unreachable(f"store {self.url} at {self.endpoint}: {explain(error)}") from None
        except boto.BotoCoreError as error:
            raise Unreachable(f"store {self.url} at {self.endpoint}: {explain(error)}") from None
