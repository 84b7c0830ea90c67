"""The exact sign test.

Given that a pair is not tied, under "no difference" its sign is fair: wins ~ Binomial(m, 1/2). See
W. J. Dixon and A. M. Mood, "The statistical sign test", JASA 41 (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb


def two_sided_p(wins: int, losses: int) -> Fraction:
    """min(1, 2 P(X >= max(wins, losses))), exact; 1 when there is no non-tied pair."""
    m, k = wins + losses, max(wins, losses)
    if m == 0:
        return Fraction(1)
    # The shorter sum of the two tails, so that large m stays cheap.
    tail, term = 0, comb(m, k)
    for i in range(k, m + 1):
        tail += term
        term = term * (m - i) // (i + 1)
    return min(Fraction(1), Fraction(2 * tail, 1 << m))


def smallest_two_sided_p(m: int) -> Fraction:
    """The smallest p that m non-tied pairs can give: all agree."""
    return min(Fraction(1), Fraction(2, 1 << m))


def pairs_needed(alpha: float) -> int:
    """The fewest non-tied pairs with which any verdict is possible."""
    m = 1
    while smallest_two_sided_p(m) >= Fraction(alpha):
        m += 1
    return m


def twice_median(values: Sequence[int]) -> int:
    """Twice the mid-average median of integers, so that it is an integer too."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return 2 * ordered[middle] if len(ordered) % 2 else ordered[middle - 1] + ordered[middle]
