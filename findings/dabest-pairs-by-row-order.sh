#!/usr/bin/env bash
# dabest 2025.10.20: paired answers in long form are paired as the rows stand, not by id_col.
#
# Guess: with paired= and the id_col that it demands, the answers to one item by two systems are a pair, wherever their
# rows stand, as in a wide table of the same answers. Seen: the n-th row of the one is paired with the n-th row of the
# other. The difference of means is right; its interval is that of strangers, .57 to 1.47 instead of .87 to 1.12, and the
# difference of medians is .55 instead of 1.01. There is no warning; id_col serves to drop gaps and to draw the plot's
# lines. Exports list answers as they came in: sort by system and id first, or hand over a wide table.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet dabest==2025.10.20 numpy==2.1.3 pandas==2.2.3 scipy==1.15.3
MPLBACKEND=Agg NUMBA_CACHE_DIR=$place "$place/env/bin/python" -W ignore - <<'PYTHON'
from importlib.metadata import version

import numpy as np
import pandas as pd

import dabest

print("dabest", version("dabest"))
rng = np.random.default_rng(7)
items = 30
first = rng.normal(4, 1.2, items)
second = first + rng.normal(1, 0.4, items)
wide = pd.DataFrame({"item": range(items), "first": first, "second": second})
tidy = wide.melt(id_vars="item", var_name="system", value_name="rating")
as_they_came = tidy.sample(frac=1, random_state=3)
options = {"idx": ("first", "second"), "paired": "baseline", "id_col": "item", "random_seed": 1}
tables = {
    "wide": dabest.load(wide, **options),
    "long, sorted": dabest.load(tidy, x="system", y="rating", **options),
    "long, as they came": dabest.load(as_they_came, x="system", y="rating", **options),
}
found = {}
for title, table in tables.items():
    mean = table.mean_diff.results.iloc[0]
    median = table.median_diff.results.iloc[0]
    found[title] = [mean.difference, mean.bca_low, mean.bca_high, median.difference]
    print(f"{title}: mean difference {mean.difference:.3f}, {mean.bca_low:.3f} to {mean.bca_high:.3f};", end=" ")
    print(f"median difference {median.difference:.3f}")
widths = {title: high - low for title, (_, low, high, _) in found.items()}
assert np.allclose(found["wide"], found["long, sorted"], atol=0.02), "tidy rows are no longer enough"
assert abs(found["wide"][0] - found["long, as they came"][0]) < 1e-9
assert widths["long, as they came"] > 2.5 * widths["wide"], "pairs are found by their id now"
assert abs(found["wide"][3] - found["long, as they came"][3]) > 0.05, "medians are those of the pairs now"
PYTHON
