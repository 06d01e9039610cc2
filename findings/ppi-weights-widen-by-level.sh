#!/usr/bin/env bash
# ppi-python 0.2.3: with weights, the interval of a mean grows with the level of the scale, not only with its spread.
#
# Guess: prediction-powered inference (people's ratings of some outputs, a judge's of all) with weights w and
# w_unlabeled gives an interval as wide for ratings from 1 to 7 as for the same ratings counted from -3 to 3 or from 91 to
# 97: the estimate moves with the scale, its error does not. Without weights so it is. Seen: the error is the deviation of
# weight times rating, so that weights alone make it grow with the mean. The same 60 and 600 ratings have intervals of
# .52, .62 and 8.1 (unweighted .46). classical_mean_ci, to compare with, does it too: 1.1, 1.6 and 25. On a scale of 0 to
# 100 good systems so never differ. Subtract the estimate from all ratings first, and add it to the ends.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet ppi-python==0.2.3 numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 statsmodels==0.15.0
"$place/env/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from ppi_py import classical_mean_ci, ppi_mean_ci, ppi_mean_pointestimate

print("ppi-python", version("ppi-python"))
rng = np.random.default_rng(0)
labelled, unlabelled = 60, 600
people = rng.integers(1, 8, labelled + unlabelled).astype(float)
judge = np.clip(people + rng.integers(-1, 2, people.size), 1, 7)
weights = {"w": rng.choice([0.5, 1.5], labelled), "w_unlabeled": rng.choice([0.5, 1.5], unlabelled)}
shifts = {"-3 to 3": -4, "1 to 7": 0, "91 to 97": 90}


def width(ends: tuple) -> float:
    low, high = (np.asarray(end).item() for end in ends)
    return high - low


plain, weighted, classical, centres = {}, {}, {}, []
for scale, shift in shifts.items():
    data = (people[:labelled] + shift, judge[:labelled] + shift, judge[labelled:] + shift)
    plain[scale] = width(ppi_mean_ci(*data, alpha=0.05))
    weighted[scale] = width(ppi_mean_ci(*data, alpha=0.05, **weights))
    classical[scale] = width(classical_mean_ci(data[0], w=weights["w"], alpha=0.05))
    centres.append(ppi_mean_pointestimate(*data, **weights).item() - shift)
    print(f"{scale}: unweighted {plain[scale]:.2f}, weighted {weighted[scale]:.2f}, classical {classical[scale]:.2f}")
assert np.ptp(centres) < 1e-6 and np.ptp(list(plain.values())) < 1e-6
assert weighted["-3 to 3"] < weighted["1 to 7"] < 0.1 * weighted["91 to 97"], "errors are those around the mean now"
assert classical["-3 to 3"] < classical["1 to 7"] < 0.1 * classical["91 to 97"]
PYTHON
