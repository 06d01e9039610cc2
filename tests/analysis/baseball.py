"""American League 1987, Eastern Division, home and away pooled.

Wins and abilities relative to Baltimore from Agresti, Categorical Data Analysis, table 10.10. The
model-based standard errors of these abilities are those that R's ``BTm`` prints for the same table
(BradleyTerry2; Turner, H. and Firth, D., 2012, J. Statistical Software 48(9)).
"""

from __future__ import annotations

import numpy as np

TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
WINS = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ],
    dtype=np.float64,
)
PUBLISHED = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]
PUBLISHED_SE = [0.3433, 0.3396, 0.3367, 0.3359, 0.3339, 0.3319]
