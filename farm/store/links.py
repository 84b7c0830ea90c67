"""Where the symbolic links of a tree lead, found out without touching a disk."""

from __future__ import annotations

from collections.abc import Mapping

_HOPS = 40
"""Links followed for one path; the kernel gives up there as well."""


def escaping(links: Mapping[str, str]) -> str | None:
    """The first link (relative path to target) of a tree that leads outside of it; None if none does.

    Each target is resolved as a kernel would, through the other links: `p/q/r -> ../..` is inside, and
    so `s -> p/q/r/../../x` looks inside by its words, but is not. A loop leads nowhere, hence not outside.
    """
    return next((path for path in sorted(links) if _escapes(path, links)), None)


def _escapes(path: str, links: Mapping[str, str]) -> bool:
    at: list[str] = path.split("/")[:-1]
    todo = links[path].split("/")[::-1]
    if links[path].startswith("/"):
        return True
    hops = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return True
            at.pop()
            continue
        target = links.get("/".join((*at, part)))
        if target is None:
            at.append(part)
            continue
        hops += 1
        if target.startswith("/"):
            return True
        if hops > _HOPS:
            return False
        todo += target.split("/")[::-1]
    return False
