#!/usr/bin/env bash
# arena-rank 0.1.1: with its defaults ContextualBradleyTerry controls for next to nothing.
#
# Guess: battles rated with a feature, such as the difference of lengths, give strengths beyond it, as a logistic
# regression of the same battles does. Seen: `reg` = 1 is added to the MEAN log-likelihood, so that 20,000 battles weigh
# no more than one against half the squared coefficient; a taste of 1.5 (2.6 for a standard deviation, the unit of its
# rescaled features) comes out as 0.12, and the system that writes the longest stays first, though the worst. With
# reg = 1/n, normalize_features=False and reweighted=False the figures are those of the regression.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet arena-rank==0.1.1
HOME=$place "$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy as np
import pandas as pd
from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
from arena_rank.utils.data_utils import ContextualPairDataset

print("arena-rank", version("arena-rank"))
rng = np.random.default_rng(1)
n, taste, truth = 20_000, 1.5, np.array([0.5, 0.0, -0.5])
a = rng.integers(0, 3, n)
b = (a + rng.integers(1, 3, n)) % 3
longer = (a - b) + rng.normal(size=n)  # the worst, number 2, writes the longest
won = rng.random(n) < 1 / (1 + np.exp(-(truth[a] - truth[b] + taste * longer)))
names = np.array(["good", "fair", "poor"])
battles = pd.DataFrame(
    {"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b"), "length": longer}
)


def rated(reading, rating):
    pairs = ContextualPairDataset.from_pandas(battles, ["length"], **reading)
    model = ContextualBradleyTerry(n_competitors=3, n_features=1, **rating)
    model.fit(pairs)
    strengths = dict(zip(pairs.competitors, map(float, model.params["ratings"])))
    return sorted(strengths, key=strengths.get, reverse=True), float(model.params["coeffs"][0])


order, coefficient = rated({}, {})
print("defaults:", order, round(coefficient, 3))
plain_order, plain = rated({"normalize_features": False, "reweighted": False}, {"reg": 1 / n})
print("reg = 1/n:", plain_order, round(plain, 3))
assert order[0] == "poor" and coefficient < 0.3, "the defaults control now"
assert plain_order == ["good", "fair", "poor"] and abs(plain - taste) < 0.1
PYTHON
