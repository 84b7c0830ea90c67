"""Path globs: `*` within one directory, `**` across directories, `?` one character."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(4096)
def compiled(glob: str) -> re.Pattern[str]:
    """The whole-path expression of a glob. `**/x` matches a top-level `x` too; a trailing `/` means all below."""
    if glob.endswith("/"):
        glob += "**"
    out = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            out.append(".*")
            at += 2
        elif glob[at] == "*":
            out.append("[^/]*")
            at += 1
        elif glob[at] == "?":
            out.append("[^/]")
            at += 1
        else:
            out.append(re.escape(glob[at]))
            at += 1
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether any of the globs matches the whole path."""
    return any(compiled(glob).match(path) for glob in globs)
