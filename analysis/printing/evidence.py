"""Graded words for correlations and for the evidence behind them; the number always stands beside the word."""

from __future__ import annotations

DEGREES = ((0.1, "very weak"), (0.2, "weak"), (0.3, "moderate"))
EVIDENCE = (
    (0.001, "very strong evidence"),
    (0.01, "strong evidence"),
    (0.05, "moderate evidence"),
    (0.1, "weak evidence"),
)


def degree(tau: float) -> str:
    """Return the word for the size of a Kendall's tau.

    References
    ----------
    Botsch, R. (2011). Scopes and Methods of Political Science, chapter 12, as Chiang and Lee (2023) use it:
    [0, .1) very weak, [.1, .2) weak, [.2, .3) moderate, from .3 strong.

    >>> degree(0.05), degree(-0.2), degree(0.3)
    ('very weak', 'moderate', 'strong')
    """
    return next((word for bound, word in DEGREES if abs(tau) < bound), "strong")


def evidence(p_value: float) -> str:
    """Return the word for the evidence against "no relation" that a p-value gives.

    References
    ----------
    Muff, S., Nilsen, E. B., O'Hara, R. B. and Nater, C. R. (2022). Rewriting results sections in the
    language of evidence. Trends in Ecology & Evolution, 37(3), 203-210.

    >>> evidence(0.0004), evidence(0.03), evidence(0.4)
    ('very strong evidence', 'moderate evidence', 'little or no evidence')
    """
    return next((word for bound, word in EVIDENCE if p_value < bound), "little or no evidence")
