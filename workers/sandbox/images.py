"""The bundled base image, built on any Linux host from its own files, without a registry."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from workers.sandbox import rootfs
from workers.sandbox.base import SANDBOX_UID

if TYPE_CHECKING:
    from docker import DockerClient

BASE_IMAGE = "evalfarm/base:1"
"""The default image. The number changes with the recipe; `build_base_image` moves it to the newest build."""

_PATH = "/usr/local/bin:/usr/bin:/bin"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_OPEN = {"tmp": 0o1777, "var/tmp": 0o1777, "home/agent": 0o777}
"""Directories that anyone may write to; in a sandbox the first and the last are covered by a tmpfs."""


def build_base_image(client: DockerClient) -> str:
    """Build the image unless the engine has it; return its tag by content.

    Equal hosts give equal images: entries are sorted and carry neither times nor owners, so the image id is
    a digest of the content alone. `BASE_IMAGE` is made to point to it.

    Raises:
        SandboxError: the host lacks a program that belongs into the image.

    """
    from docker.errors import ImageNotFound

    with tempfile.TemporaryDirectory(prefix="evalfarm-image-") as name:
        work = Path(name)
        (work / "root").mkdir()
        rootfs.build(work / "root")
        layer = work / "layer.tar"
        digest = _write_layer(work / "root", layer)
        config = _config(digest)
        image_id = hashlib.sha256(config).hexdigest()
        tag = f"{BASE_IMAGE}-{image_id[:12]}"
        try:
            image = client.images.get(tag)
        except ImageNotFound:
            archive = work / "image.tar"
            _write_image(archive, config, layer, tag)
            with archive.open("rb") as stream:
                client.images.load(stream)
            image = client.images.get(tag)
    repository, _, version = BASE_IMAGE.partition(":")
    image.tag(repository, version)
    return tag


def _write_layer(root: Path, target: Path) -> str:
    """Write the layer; return the SHA-256 of the archive."""
    with target.open("wb") as file:
        hashing = _Hashing(file)
        with tarfile.open(fileobj=hashing, mode="w|", format=tarfile.PAX_FORMAT) as tar:  # type: ignore[call-overload]
            for path in sorted(root.rglob("*")):
                name = path.relative_to(root).as_posix()
                entry = tar.gettarinfo(path, name)
                entry.mtime = entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                if path.is_symlink():
                    entry.mode = 0o777
                elif entry.isdir():
                    entry.mode = _OPEN.get(name, 0o755)
                else:
                    entry.mode = 0o755 if entry.mode & 0o111 else 0o644
                if entry.isfile():
                    with path.open("rb") as content:
                        tar.addfile(entry, content)
                else:
                    tar.addfile(entry)
        return hashing.digest.hexdigest()


class _Hashing:
    """Hashes what is written on its way to a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


def _config(layer_digest: str) -> bytes:
    """The image's configuration, whose digest is the image's id."""
    machine = platform.machine()
    return _json(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {
                "Env": [f"PATH={_PATH}", "LANG=C.UTF-8"],
                "Cmd": ["/bin/sh"],
                "User": f"{SANDBOX_UID}:{SANDBOX_UID}",
                "WorkingDir": "/work",
                "Labels": {"evalfarm.image": "base"},
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
            "history": [{"created": "1970-01-01T00:00:00Z", "comment": "evalfarm base image, from the host"}],
        }
    )


def _write_image(target: Path, config: bytes, layer: Path, tag: str) -> None:
    """The archive format of ``docker save``, which ``load`` takes."""
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = _json([{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}])
    with tarfile.open(target, "w") as tar:
        for member, data in ((name, config), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        tar.add(layer, "layer.tar")


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
