"""Agreement on marked stretches of a text: character-level F1 of two annotators, unitizing alpha of several.

A text is laid out as one code a character: 0 where nothing is marked, else 1 + the place of the severity, the lightest
first. Where marks of one annotator overlap, the heaviest counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np

from analysis.statistics.coding import Floats, Ints

Span: TypeAlias = tuple[int, int, int]  # start, end (half-open), severity from 1


def lay_out(spans: Sequence[Span], characters: int) -> tuple[Ints, Ints]:
    """Return the code of each character, and the number of the mark that gave it (-1: none).

    Parameters
    ----------
    spans : sequence of (int, int, int)
        Marks of one annotator: half-open offsets, and a severity from 1, the heavier the higher.
    characters : int
        Length of the text.

    Raises
    ------
    ValueError
        If a mark is empty or does not lie in the text, or a severity is below 1.
    """
    codes, owner = np.zeros(characters, dtype=np.int64), np.full(characters, -1, dtype=np.int64)
    for number, (start, end, severity) in enumerate(sorted(spans, key=lambda span: (span[2], span))):
        if not 0 <= start < end <= characters or severity < 1:
            raise ValueError(f"expected a mark within {characters} characters, got {start} to {end}, {severity}")
        codes[start:end], owner[start:end] = severity, number
    return codes, owner


def character_f1(first: Ints, second: Ints, *, severity: bool = False) -> float:
    """Return the F1 of two annotators' marks of one text, character by character.

    2 |A and B| / (|A| + |B|) over the characters that each marked; symmetric. 1 where neither marked anything.

    Parameters
    ----------
    first, second : array of int, shape (characters,)
        Codes of :func:`lay_out`.
    severity : bool
        Whether a character counts as shared only where both gave it the same severity.

    References
    ----------
    Blain et al. (2023). Findings of the WMT 2023 shared task on quality estimation, section 3.3 (span F1).

    Examples
    --------
    >>> one, other = (lay_out([span], 10)[0] for span in ((0, 4, 1), (2, 6, 2)))
    >>> character_f1(one, other), character_f1(one, other, severity=True)
    (0.5, 0.0)
    """
    marked = np.count_nonzero(first) + np.count_nonzero(second)
    if not marked:
        return 1.0
    shared = (first > 0) & (first == second if severity else second > 0)
    return float(2 * np.count_nonzero(shared) / marked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coincidences:
    """What alpha needs of some texts; sums over texts are those of all texts laid end to end.

    ``observed[c, k]`` are the lengths in which two annotators gave codes c and k, over m - 1; ``squares[c]`` the sum of
    squared lengths of marks of code c, of gaps the sum of lengths.
    """

    observed: Floats
    squares: Floats

    def __post_init__(self) -> None:
        """Check the shapes."""
        k = len(self.squares)
        if self.observed.shape != (k, k):
            raise ValueError(f"expected {k} x {k} coincidences, got {self.observed.shape}")


def coincidences(layouts: Sequence[tuple[Ints, Ints]], codes: int) -> Coincidences:
    """Count the coincidences of one text that two annotators or more have marked.

    Parameters
    ----------
    layouts : sequence of (array, array)
        What :func:`lay_out` returns, one an annotator.
    codes : int
        How many codes there are, 0 included.

    References
    ----------
    Krippendorff, K., Mathet, Y., Bouvry, S., & Widlöcher, A. (2016). On the reliability of unitizing textual continua:
    Further developments. Quality & Quantity, 50(6), 2347-2364, equations 1 and 4.
    """
    if len(layouts) < 2:
        raise ValueError(f"expected two annotators or more, got {len(layouts)}")
    observed = np.zeros((codes, codes))
    squares = np.zeros(codes)
    for (first, _), (second, _) in combinations(layouts, 2):
        both = np.bincount(first * codes + second, minlength=codes * codes).reshape(codes, codes)
        observed += both + both.T
    for given, owner in layouts:
        squares[0] += np.count_nonzero(owner < 0)
        ends = np.flatnonzero(np.diff(owner, prepend=-2, append=-2))  # a mark cut by a heavier one is two units
        for start, end in pairwise(ends.tolist()):
            if owner[start] >= 0:
                squares[given[start]] += float(end - start) ** 2
    return Coincidences(observed=observed / (len(layouts) - 1), squares=squares)


def unitizing_alpha(observed: Floats, squares: Floats, *, marked_only: bool = False) -> Floats:
    """Return Krippendorff's unitizing alpha: 1 full agreement, 0 as by chance.

    With l the lengths of the coincidences, the expected ones are e_ck = l (l_c l_k - [c = k] s_c) / (l^2 - sum s);
    alpha = 1 - (l - sum l_cc) / (l - sum e_cc).

    Parameters
    ----------
    observed : array of float, shape (..., codes, codes)
        :class:`Coincidences`, summed over texts.
    squares : array of float, shape (..., codes)
        The same.
    marked_only : bool
        Whether only marked against unmarked counts (the coefficient with a bar, equation 6), whatever the severities.

    Returns
    -------
    array of float, shape (...)
        NaN where all characters have one code.

    References
    ----------
    Krippendorff et al. (2016), equations 4 to 6; see :func:`coincidences`.
    """
    margins = observed.sum(axis=-1)
    total = margins.sum(axis=-1)
    free = total**2 - squares.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if marked_only:
            gaps = margins[..., 0]
            found = gaps - observed[..., 0, 0]
            expected = total * gaps * (total - gaps) / free
        else:
            found = total - np.trace(observed, axis1=-2, axis2=-1)
            expected = total - total * (margins**2 - squares).sum(axis=-1) / free
        return np.asarray(np.where(expected > 1e-9 * total, 1 - found / expected, np.nan))
