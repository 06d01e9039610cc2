#!/usr/bin/env bash
# statsmodels 0.14.5: a step of the scale that nobody used makes OrderedModel's slope 0, and Newton "converges" to NaN.
#
# Guess: a declared step without answers (4 of 1 to 5) has no threshold of its own, and the slope stays that of the
# other steps. Seen: the start puts a threshold at minus infinity; "bfgs" stays there with a slope of 0 (0.8 without the
# step) and a warning, "newton" gives NaN for all and converged = True. The highest step unused is an error. A scale in a
# pandas Categorical, as it should be, fails where integers would not.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet statsmodels==0.14.5 numpy==2.3.3 pandas==2.3.3 scipy==1.15.3
"$place/env/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import pandas as pd
import statsmodels
from statsmodels.miscmodels.ordinal_model import OrderedModel

ANSWERS = {0: {1: 20, 2: 30, 3: 30, 5: 20}, 1: {1: 10, 2: 20, 3: 35, 5: 35}}  # system -> step -> how often
system, step = zip(*((x, y) for x, each in ANSWERS.items() for y, times in each.items() for _ in range(times)))


def fitted(steps, method):
    scale = pd.Series(pd.Categorical(step, categories=steps, ordered=True))
    found = OrderedModel(scale, np.array(system, dtype=float)[:, None], distr="logit").fit(method=method, disp=0)
    print(f"steps {steps}, {method}: slope {found.params['x1']:.3f}, converged {found.mle_retvals['converged']}")
    return found.params["x1"], found.mle_retvals["converged"]


print("statsmodels", statsmodels.__version__)
for method in ("bfgs", "newton"):
    slope, converged = fitted([1, 2, 3, 5], method)
    assert converged and 0.75 < slope < 0.85
slope, converged = fitted([1, 2, 3, 4, 5], "bfgs")
assert (slope, converged) == (0.0, False), "the library does otherwise now"
slope, converged = fitted([1, 2, 3, 4, 5], "newton")
assert np.isnan(slope) and converged
PYTHON
