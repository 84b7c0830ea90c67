"""From a URL to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from farm.errors import InputError
from farm.store.base import Store

DEFAULT_STORE = ".farm/store"


def open_store(url: str, env: Mapping[str, str] = os.environ) -> Store:
    """Open `s3://bucket[/prefix]`, `file:///dir` or a plain directory.

    S3 reads FARM_S3_ENDPOINT_URL, FARM_S3_REGION and FARM_S3_PATH_STYLE; credentials come from the
    usual AWS variables and files, never from the URL.

    Raises:
        InputError: the URL is of no known form.

    """
    if url.startswith("s3://"):
        bucket, _, prefix = url[5:].partition("/")
        if not bucket or "@" in bucket:
            raise InputError(f"store {url!r}: write s3://bucket or s3://bucket/prefix")
        from farm.store.s3 import S3Store

        endpoint = env.get("FARM_S3_ENDPOINT_URL") or None
        path_style = env.get("FARM_S3_PATH_STYLE", "1" if endpoint else "0") not in ("0", "false", "no")
        return S3Store(bucket, prefix, endpoint, env.get("FARM_S3_REGION", "us-east-1"), path_style)
    from farm.store.local import LocalStore

    if url.startswith("file://"):
        return LocalStore(Path(url[7:]))
    if "://" in url:
        raise InputError(f"store {url!r}: write s3://bucket/prefix, file:///directory or a directory")
    return LocalStore(Path(url))
