"""Durations for people: 1h30m instead of 5400."""

import re

UNITS = (("h", 3600), ("m", 60), ("s", 1))
_PATTERN = re.compile("(-?)" + "".join(f"(?:([0-9]+){unit})?" for unit, _ in UNITS))


def format_duration(seconds):
    """Return a whole number of seconds as hours, minutes and seconds, leaving out what is zero."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    parts = []
    for unit, factor in UNITS:
        count, seconds = divmod(seconds, factor)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_duration(text):
    """Return the seconds of a text such as 1h30m; the inverse of format_duration. ValueError if it is none."""
    match = _PATTERN.fullmatch(text.strip())
    if not match or not any(match.groups()[1:]):
        raise ValueError(f"not a duration: {text!r}")
    sign, *counts = match.groups()
    seconds = sum(int(count or 0) * factor for count, (_, factor) in zip(counts, UNITS))
    return -seconds if sign else seconds
