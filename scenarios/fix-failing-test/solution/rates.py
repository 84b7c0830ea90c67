"""Figures of the nightly report."""


def success_rate(passed, total):
    """Share of passed checks in percent, one decimal; None when total is 0."""
    if not total:
        return None
    return round(100 * passed / total, 1)


def mean_duration(samples):
    """Mean of the durations in seconds; 0.0 when samples is empty."""
    if not samples:
        return 0.0
    return sum(samples) / len(samples)


def slowest(timings):
    """Name of the check that took longest, from a mapping of name to seconds; None when timings is empty."""
    return max(timings, key=timings.get, default=None)
