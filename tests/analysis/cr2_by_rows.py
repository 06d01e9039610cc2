"""CR2 and Satterthwaite's degrees of freedom written out over rows, as Pustejovsky and Tipton (2018) define them.

And a table of one person with most answers, with what clubSandwich 0.5.8 (R 4.2.2) makes of it.
"""

from __future__ import annotations

import numpy as np

from analysis.statistics.coding import Floats, Ints


def cr2_by_rows(
    x: Ints, y: Ints, strength: Floats, won: Floats, cluster: Ints, weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return standard errors and degrees of freedom of mean-zero strengths and of differences, shape (k, k).

    Strengths stand on the diagonal; the third array is the covariance. Every matrix is over rows: n is small.
    """
    n, k = len(x), len(strength)
    sign = np.zeros((n, k))
    sign[np.arange(n), x] += 1
    sign[np.arange(n), y] -= 1
    share = 1 / (1 + np.exp(strength[y] - strength[x]))
    v = share * (1 - share)
    u = v[:, None] * sign[:, 1:]  # the first system is the reference
    work, w = np.diag(v / weights), np.diag(weights / v)
    m = np.linalg.inv(u.T @ w @ u)
    hat = np.eye(n) - u @ m @ u.T @ w
    centre = (np.eye(k) - 1 / k)[:, 1:]
    made = [np.flatnonzero(cluster == one) for one in np.unique(cluster)]
    adjust = []
    for own in made:
        place = np.ix_(own, own)
        root = np.sqrt(work[place])
        values, vectors = np.linalg.eigh(root @ (hat @ work @ hat.T)[place] @ root.T)
        power = np.where(values > 1e-12, np.maximum(values, 1e-12) ** -0.5, 0.0)
        adjust.append(root.T @ ((vectors * power) @ vectors.T) @ root)
    residual = won - share
    each = [m @ u[own].T @ w[np.ix_(own, own)] @ a for own, a in zip(made, adjust, strict=True)]
    covariance = sum((s @ residual[own])[:, None] * (s @ residual[own]) for own, s in zip(made, each, strict=True))
    matrix = centre @ covariance @ centre.T
    se, df = np.zeros((k, k)), np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            contrast = centre[a] if a == b else centre[a] - centre[b]
            parts = np.array([hat[own].T @ (s.T @ contrast) for own, s in zip(made, each, strict=True)])
            gram = parts @ work @ parts.T
            df[a, b] = np.trace(gram) ** 2 / (gram**2).sum()
            se[a, b] = np.sqrt(contrast @ covariance @ contrast)
    return se, df, matrix


# Who answered (0 most), systems x and y, and what x won in tenths.
LOPSIDED = """
0 0 1 10|0 1 0 0|0 0 1 7|0 0 2 10|0 2 0 2|0 0 2 6|0 1 2 10|0 1 2 0|0 2 1 5|0 0 3 10|0 3 0 1|0 3 1 3|0 1 3 9|0 2 3 10|
0 2 3 0|0 3 2 8|0 0 1 10|0 0 2 10|0 1 2 9|0 3 0 0|0 3 1 0|0 2 3 7|0 0 1 0|0 2 0 3|1 0 1 2|1 1 2 10|1 0 3 0|1 3 2 4|
2 0 2 10|2 1 0 10|2 2 3 5|3 0 1 8|3 2 1 9|3 3 0 3|3 3 2 10|4 1 3 10|4 0 2 1|4 1 2 3|5 0 1 10|5 2 3 0|5 0 3 10|5 1 3 6
"""


def lopsided() -> tuple[Ints, Ints, Floats, Ints]:
    """Return x, y, won and annotator of the table."""
    rows = np.array([[int(part) for part in row.split()] for row in LOPSIDED.replace("\n", "").split("|")])
    return rows[:, 1], rows[:, 2], rows[:, 3] / 10, rows[:, 0]
