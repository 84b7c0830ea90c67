"""The object store: the truth of every run. One interface, two backends: a directory, and any S3 API.

Importing this package imports neither boto3 nor botocore; `open_store` does, for an `s3://` URL.
"""

from farm.model.store_class import StoreClass
from farm.store.base import KeyMissing, ObjectInfo, Store
from farm.store.blobs import Blobs
from farm.store.commit import CommitOutcome, commit_once
from farm.store.open import open_store
from farm.store.probe import probe

__all__ = [
    "Blobs",
    "CommitOutcome",
    "KeyMissing",
    "ObjectInfo",
    "Store",
    "StoreClass",
    "commit_once",
    "open_store",
    "probe",
]
