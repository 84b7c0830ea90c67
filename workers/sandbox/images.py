"""The bundled base image, built from the host without any registry."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from farm.errors import FarmError
from workers.sandbox.base import SANDBOX_PATH, SANDBOX_UID

if TYPE_CHECKING:
    from docker.client import DockerClient

BASE_IMAGE = "evalfarm/base:1"

_TOOLS = """sh bash git env timeout ls cat cp mv rm mkdir rmdir ln chmod touch grep egrep sed gawk mawk find xargs
sort uniq head tail wc cut tr diff cmp mktemp printf echo date dirname basename readlink realpath tee test expr
true false sleep id uname seq od comm tar gzip sha256sum stat du pwd which patch setpriv nproc join paste setsid yes""".split()
_LEFT_OUT = {"test", "site-packages", "idlelib", "ensurepip", "tkinter", "turtledemo", "__pycache__", "lib2to3"}


def build_base_image(client: DockerClient) -> str:
    """Build `BASE_IMAGE` (python3, git, a POSIX shell and its tools) unless the engine has it.

    The files are this host's own, with the libraries they link to, so that no registry is needed.
    """
    from docker.errors import ImageNotFound

    try:
        client.images.get(BASE_IMAGE)
    except ImageNotFound:
        changes = [f"ENV PATH={SANDBOX_PATH}", "WORKDIR /work"]
        repository, tag = BASE_IMAGE.split(":")
        client.api.import_image_from_data(_archive(), repository=repository, tag=tag, changes=changes)
    return BASE_IMAGE


def _archive() -> bytes:
    if not sys.platform.startswith("linux"):
        raise FarmError("the base image can be built on Linux only; build deploy/images/base instead")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        image = _Image(archive)
        for directory in ("usr/bin", "usr/lib", "usr/lib64", "usr/local/bin", "etc", "tmp", "work", "proc", "dev"):
            image.directory(directory)
        for link in ("bin", "lib", "lib64"):
            image.link(link, f"usr/{link}")
        image.text("etc/passwd", f"root:x:0:0::/:/bin/sh\nagent:x:{SANDBOX_UID}:{SANDBOX_UID}::/tmp:/bin/sh\n")
        image.text("etc/group", f"root:x:0:\nagent:x:{SANDBOX_UID}:\n")
        # The worktree belongs to another uid than the fixture's author; git may trust it here.
        image.text("etc/gitconfig", "[safe]\n\tdirectory = *\n")
        for tool in _TOOLS:
            found = shutil.which(tool, path="/usr/bin:/bin")
            if found:
                image.program(Path(found), f"usr/bin/{tool}")
        if shutil.which("mawk", path="/usr/bin:/bin"):
            image.link("usr/bin/awk", "mawk")
        for helper in ("git", "git-remote-http"):
            source = Path("/usr/lib/git-core", helper)
            if source.exists() and helper == "git":
                image.program(source, f"usr/lib/git-core/{helper}")
        if Path("/usr/share/git-core/templates").is_dir():
            image.directory("usr/share/git-core/templates")
        _python(image)
        image.libraries()
    return buffer.getvalue()


def _python(image: _Image) -> None:
    """This interpreter and its standard library, at the prefix it was built for."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefix = Path(sys.base_prefix)
    binary = prefix / "bin" / version
    inside = prefix.as_posix().lstrip("/")
    image.directory(f"{inside}/bin")
    image.program(binary.resolve(), f"{inside}/bin/{version}")
    image.link("usr/bin/python3", f"/{inside}/bin/{version}")
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*")):
        relative = path.relative_to(library)
        if _LEFT_OUT.intersection(relative.parts) or any(part.startswith("config-") for part in relative.parts):
            continue
        if path.is_file() and path.suffix != ".a":
            name = f"{inside}/lib/{version}/{relative.as_posix()}"
            image.program(path, name) if path.suffix == ".so" else image.file(path, name)


class _Image:
    """An archive under construction that remembers which shared libraries its programs need."""

    def __init__(self, archive: tarfile.TarFile):
        self.archive = archive
        self.programs: list[Path] = []
        self.names: set[str] = set()

    def _add(self, member: tarfile.TarInfo, data: bytes | None = None) -> None:
        if member.name not in self.names:
            self.names.add(member.name)
            self.archive.addfile(member, io.BytesIO(data) if data is not None else None)

    def directory(self, name: str) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
        self._add(member)

    def link(self, name: str, target: str) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = tarfile.SYMTYPE, target
        self._add(member)

    def text(self, name: str, content: str) -> None:
        member = tarfile.TarInfo(name)
        data = content.encode()
        member.size, member.mode = len(data), 0o644
        self._add(member, data)

    def file(self, source: Path, name: str) -> None:
        member = tarfile.TarInfo(name)
        data = source.read_bytes()
        member.size, member.mode = len(data), 0o755 if source.stat().st_mode & 0o111 else 0o644
        self._add(member, data)

    def program(self, source: Path, name: str) -> None:
        self.file(source.resolve(), name)
        self.programs.append(source.resolve())

    def libraries(self) -> None:
        """Add every library that the programs link to, under its own path."""
        listing = subprocess.run(
            ["ldd", *map(str, self.programs)], capture_output=True, text=True, check=False
        ).stdout
        found = {word for line in listing.splitlines() for word in line.split() if word.startswith("/") and ".so" in word}
        for path in sorted(word.rstrip(":") for word in found):
            inside = path.lstrip("/")
            self.file(Path(path).resolve(), inside if inside.startswith("usr/") or not inside.startswith("lib") else f"usr/{inside}")
