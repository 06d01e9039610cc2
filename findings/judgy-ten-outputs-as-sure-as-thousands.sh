#!/usr/bin/env bash
# judgy 0.1.0: the interval of a corrected success rate is the same for 10 judged outputs as for 10,000.
#
# Guess: the interval around the rate that an LLM judge finds, corrected by its errors on outputs with people's labels,
# has two sources of error, few labels and few judged outputs, as Rogan and Gladen's estimator has. Seen: the bootstrap
# draws the labelled outputs anew and takes the share among the judged ones for exact. Of 10, 100 and 10,000 outputs of
# which 60 % pass, the interval is .56 to .67 each time; a judge without errors on its labels has an interval of no
# width at all. With 200 labels and 50 judged outputs an interval "of 95 %" held the truth in half of 200 simulated
# studies. Its documentation promises the uncertainty of the estimate. Draw the judged outputs anew as well.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet judgy==0.1.0 numpy==2.4.6
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy as np
from judgy import estimate_success_rate

print("judgy", version("judgy"))
np.random.seed(1)  # the library draws from numpy's global generator
people = [1] * 40 + [0] * 40
judge = [1] * 38 + [0] * 2 + [0] * 38 + [1] * 2
widths = []
for outputs in (10, 100, 10_000):
    passed = outputs * 6 // 10
    rate, low, high = estimate_success_rate(people, judge, [1] * passed + [0] * (outputs - passed))
    widths.append(high - low)
    print(f"{outputs} judged outputs: {rate:.3f}, {low:.3f} to {high:.3f}")
_, low, high = estimate_success_rate(people, people, [1] * 6 + [0] * 4)
print(f"10 judged outputs, no error on the labels: {low:.3f} to {high:.3f}")
assert max(widths) - min(widths) < 0.01, "the number of judged outputs matters now"
assert high - low < 1e-12, "a judge without errors is not taken for certain now"

TRUTH, RIGHT, LABELS, OUTPUTS, STUDIES = 0.6, 0.9, 200, 50, 200
rng = np.random.default_rng(1)
held = 0
for _ in range(STUDIES):
    passes = rng.random(LABELS + OUTPUTS) < TRUTH
    said = np.where(rng.random(passes.size) < RIGHT, passes, ~passes).astype(int)
    labels = passes[:LABELS].astype(int)
    _, low, high = estimate_success_rate(labels, said[:LABELS], said[LABELS:], bootstrap_iterations=300)
    held += low <= TRUTH <= high
print(f"{held} of {STUDIES} intervals of 95 % hold the truth")
assert held < 0.6 * STUDIES, "intervals hold the truth more often now"
PYTHON
