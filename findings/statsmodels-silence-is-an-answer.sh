#!/usr/bin/env bash
# statsmodels 0.15.0: aggregate_raters takes "no answer" for one more category, and silence of two raters for agreement.
#
# Guess: NaN in the table of items and raters is left out, or an error, as numbers that differ between items are to
# Fleiss' kappa. Seen: NaN gets a column of its own among the categories, and fleiss_kappa counts it like an answer. Three
# raters who agree in all that they answered have .55 instead of 1; three who answer by chance, and skip the same half of
# the items, have .46, and -.09 on the items that they answered. Look for NaN in the second result, `categories`, or use
# a coefficient for missing answers.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet statsmodels==0.15.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
"$place/env/bin/python" -W error - <<'PYTHON'
import numpy as np
import statsmodels
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

print("statsmodels", statsmodels.__version__)
SILENT = np.nan


def kappa(table: np.ndarray) -> tuple[float, np.ndarray]:
    counts, categories = aggregate_raters(table)
    return float(fleiss_kappa(counts)), categories


agreed = np.array([[step] * 3 for step in (1, 2, 3) for _ in range(20)], dtype=float)
gaps = agreed.copy()
gaps[np.arange(0, 60, 2), np.arange(30) % 3] = SILENT  # one of three raters is silent on every second item
chance = np.random.default_rng(1).integers(1, 4, (60, 3)).astype(float)
skipped = chance.copy()
skipped[::2] = SILENT  # all three skip every second item
figures = {"agreed": agreed, "agreed with gaps": gaps, "chance, answered": chance[1::2], "chance, half skipped": skipped}
found = {}
for title, table in figures.items():
    found[title], categories = kappa(table)
    print(f"{title}: kappa {found[title]:.3f}, categories {categories}")
    assert np.isnan(categories).any() == np.isnan(table).any(), "NaN is no category now"
assert found["agreed"] == 1 > 0.7 > found["agreed with gaps"]
assert found["chance, half skipped"] > 0.3 > 0.15 > found["chance, answered"]
PYTHON
