"""From a URL to a store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from farm.errors import InputError
from farm.store.base import Store, check_key

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,62}")
_FORMS = "write s3://bucket, s3://bucket/prefix, file:///directory or a directory"
_YES_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def open_store(url: str, env: Mapping[str, str] = os.environ) -> Store:
    """Open `s3://bucket[/prefix]`, `file:///dir` or a plain directory.

    S3 reads FARM_S3_ENDPOINT_URL, FARM_S3_REGION (us-east-1), FARM_S3_PATH_STYLE (true when an endpoint is
    given) and FARM_S3_PATIENCE (seconds that passing faults are retried for, 60). Credentials come from the
    usual AWS variables (of `env` too, if it is not the process's own) and files, never from the URL.

    Raises:
        InputError: the URL or a variable is of no known form.

    """
    if url.startswith("s3://"):
        return _open_s3(url, env)
    from farm.store.local import LocalStore

    if url.startswith("file:"):
        path = url.removeprefix("file://")
        if not path.startswith("/"):
            raise InputError(f"store {url!r}: a file URL holds a whole path: file:///directory")
        return LocalStore(Path(path))
    if not url or "\0" in url or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", url):
        # A URL of another kind may hold a password.
        shown = "with '@'" if "@" in url else repr(url)
        raise InputError(f"store {shown}: {_FORMS}")
    return LocalStore(Path(url))


def _open_s3(url: str, env: Mapping[str, str]) -> Store:
    bucket, _, prefix = url[5:].partition("/")
    if "@" in url:
        raise InputError("store: credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in the URL")
    if not _BUCKET.fullmatch(bucket):
        raise InputError(f"store {url!r}: {bucket!r} is no bucket name; write s3://bucket or s3://bucket/prefix")
    try:
        prefix = prefix.strip("/") and check_key(prefix.strip("/"))
    except ValueError:
        raise InputError(f"store {url!r}: the prefix must be plain names with '/' between them") from None
    from farm.store.s3 import Credentials, S3Store

    endpoint = _endpoint(env.get("FARM_S3_ENDPOINT_URL", ""))
    access, secret = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    credentials = None
    if env is not os.environ and access and secret:
        credentials = Credentials(access, secret, env.get("AWS_SESSION_TOKEN") or None)
    return S3Store(
        bucket,
        prefix,
        endpoint,
        env.get("FARM_S3_REGION") or "us-east-1",
        _flag(env, "FARM_S3_PATH_STYLE", endpoint is not None),
        _seconds(env, "FARM_S3_PATIENCE", 60.0),
        credentials,
    )


def _endpoint(value: str) -> str | None:
    if not value:
        return None
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018  (raises for a port that is no number)
    except ValueError:
        raise InputError("FARM_S3_ENDPOINT_URL is no URL; write http://host:port or https://host") from None
    if "@" in parts.netloc:
        raise InputError("FARM_S3_ENDPOINT_URL must not hold credentials; use AWS_ACCESS_KEY_ID and …SECRET_ACCESS_KEY")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"FARM_S3_ENDPOINT_URL={value!r}: write http://host:port or https://host")
    return value


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    value = env.get(name, "").strip().lower()
    if value and value not in _YES_NO:
        raise InputError(f"{name}={env[name]!r}: write true or false")
    return _YES_NO[value] if value else default


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    value = env.get(name, "").strip()
    if value and not re.fullmatch(r"\d+(\.\d+)?", value):
        raise InputError(f"{name}={env[name]!r}: write seconds, such as 60")
    return float(value) if value else default
