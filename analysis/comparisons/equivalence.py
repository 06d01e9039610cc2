"""Whether two systems are equal up to a margin declared beforehand: two one-sided t-tests (TOST)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from scipy.special import stdtr

from analysis.statistics.checks import check_finite
from analysis.statistics.corrections import adjust, members_by_family
from analysis.statistics.t_tests import t_bound

if TYPE_CHECKING:
    from analysis.comparisons.choices import ChoiceTest
    from analysis.comparisons.preferences import PreferenceTest
    from analysis.comparisons.ratings import RatingTest

Row = TypeVar("Row", "PreferenceTest", "RatingTest", "ChoiceTest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tost:
    """Both one-sided tests: ``t_low`` against -margin, ``t_high`` against +margin; ``p_value`` is the larger one."""

    t_low: float
    t_high: float
    df: float
    p_value: float
    margin: float


def two_one_sided(effect: float, *, se: float, df: float, margin: float) -> Tost:
    """Test whether an effect lies within ±margin.

    The null hypothesis is that it does not: t_low = (effect + margin) / se tests "effect <= -margin",
    t_high = (effect - margin) / se tests "effect >= margin", both must be refused. Refused at a level
    of .05 it is exactly where the 90% interval of the effect lies within the margin.

    Parameters
    ----------
    effect : float
        Mean minus its value under no difference (a preference minus 0.5, a difference of ratings).
    se : float
        Its standard error, above 0.
    df : float
        Degrees of freedom.
    margin : float
        Largest difference that does not matter, above 0, chosen before the answers are seen.

    Raises
    ------
    ValueError
        When ``se`` or ``margin`` is not above 0.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach
    for assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and
    Biopharmaceutics, 15(6), 657-680.

    >>> round(two_one_sided(0.01, se=0.02, df=30, margin=0.05).p_value, 4)
    0.0273
    """
    check_finite("effect", effect)
    for name, value in (("se", se), ("margin", margin), ("df", df)):
        check_finite(name, value, above=0)
    t_low, t_high = (effect + margin) / se, (effect - margin) / se
    p_value = max(float(stdtr(df, -t_low)), float(stdtr(df, t_high)))
    return Tost(t_low=t_low, t_high=t_high, df=df, p_value=min(1.0, p_value), margin=margin)


def with_equivalence(
    rows: Sequence[Row], *, margin: float | None, fwer: float, confidence: float, family: str
) -> list[Row]:
    """Add ``p_equivalence``, its Holm-adjusted value and ``equivalent`` to the tests of one source.

    Parameters
    ----------
    rows : sequence of rows
        Tests with their effect, interval and degrees of freedom; a row without a test stays without.
    margin : float or None
        ``None``: no margin was declared, nothing is added.
    fwer : float
        Familywise error rate of these tests, a family of their own beside that of the differences.
    confidence : float
        Level of the rows' intervals, from which their standard errors follow.
    family : {"criterion", "all"}
        As for the tests of a difference.
    """
    if margin is None:
        return list(rows)
    done = list(rows)
    for members in members_by_family(rows, family):
        p_values = [_p_equivalence(rows[place], margin, confidence) for place in members]
        result = adjust(p_values, rate=fwer)
        for place, p_value, p_adjusted, rejected in zip(
            members, p_values, result.p_adjusted, result.rejected, strict=True
        ):
            done[place] = replace(
                rows[place],
                p_equivalence=p_value,
                p_equivalence_adjusted=p_adjusted,
                equivalent=rejected,
            )
    return done


def _p_equivalence(row: PreferenceTest | RatingTest | ChoiceTest, margin: float, confidence: float) -> float:
    assert row.df is not None
    assert row.ci_low is not None
    assert row.ci_high is not None
    se = (row.ci_high - row.ci_low) / 2 / t_bound(row.df, confidence)
    return two_one_sided(row.effect, se=se, df=row.df, margin=margin).p_value
