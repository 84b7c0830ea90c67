"""From URLs and variables to stores; errors say what to write and hold no secrets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from farm.errors import InputError
from farm.store import open_store
from farm.store.local import LocalStore
from farm.store.s3 import Credentials, S3Store


def test_directories(tmp_path):
    for url in (str(tmp_path / "s"), f"file://{tmp_path}/s"):
        store = open_store(url, {})
        assert isinstance(store, LocalStore)
        assert store.url == f"file://{tmp_path}/s"
        assert open_store(store.url, {}).url == store.url


@pytest.mark.parametrize(
    ("env", "endpoint", "style"),
    [
        ({}, "the AWS endpoint", "auto"),
        ({"FARM_S3_ENDPOINT_URL": "http://127.0.0.1:9"}, "http://127.0.0.1:9", "path"),
        ({"FARM_S3_ENDPOINT_URL": "https://h", "FARM_S3_PATH_STYLE": "False"}, "https://h", "auto"),
        ({"FARM_S3_PATH_STYLE": "yes"}, "the AWS endpoint", "path"),
    ],
)
def test_s3(env, endpoint, style):
    store = open_store("s3://bucket/team/a/", env)
    assert isinstance(store, S3Store)
    assert (store.url, store.prefix, store.endpoint) == ("s3://bucket/team/a", "team/a/", endpoint)
    assert store.client.meta.config.s3["addressing_style"] == style
    assert store.client.meta.region_name == "us-east-1"
    assert open_store("s3://bucket", env).url == "s3://bucket"


@pytest.mark.parametrize(
    "url",
    ["", "s3://", "s3://b", "s3:///x", "s3://bucket/../x", "s3://bucket/a//b", "s3:/bucket", "gs://b", "file://x",
     "file:x", "https://h/b", "s3://bucket?x=1"],
)  # fmt: skip
def test_bad_urls_say_what_to_write(url):
    with pytest.raises(InputError, match=r"write|whole path|plain names"):
        open_store(url, {})


@pytest.mark.parametrize(
    ("url", "env"),
    [
        ("s3://AKIA:SECRET@bucket", {}),
        ("https://u:SECRET@h/b", {}),
        ("s3://bucket", {"FARM_S3_ENDPOINT_URL": "http://u:SECRET@h"}),
    ],
)
def test_secrets_are_not_repeated(url, env):
    with pytest.raises(InputError) as raised:
        open_store(url, env)
    assert "SECRET" not in str(raised.value).replace("AWS_SECRET_ACCESS_KEY", "").replace("…SECRET_ACCESS_KEY", "")
    assert "SECRET" not in repr(Credentials("a", "SECRET"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FARM_S3_ENDPOINT_URL", "127.0.0.1:9000"),
        ("FARM_S3_ENDPOINT_URL", "http://h:port"),
        ("FARM_S3_PATH_STYLE", "maybe"),
        ("FARM_S3_PATIENCE", "-1"),
    ],
)
def test_bad_variables_are_named(name, value):
    with pytest.raises(InputError, match=name):
        open_store("s3://bucket", {name: value})


def test_importing_the_store_does_not_import_boto():
    code = "import sys, farm.store; sys.exit(any(m.startswith('boto') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
