#!/usr/bin/env bash
# bwsample 0.7.0: scoring_orme leaves out what was neither best nor worst, and favours what was shown more often.
#
# Guess: the counting score of best-worst scaling, times best less times worst over times shown, for each item of the
# sets, as Orme's paper has it: from -1 to 1, and 0 for an item in the middle. Seen: the divisor is the number of all sets,
# whoever stood in them, and an item that nobody picked is in no row of the result. Best in both of its two sets scores
# .14, best in 6 of 12 scores .43; of seven items shown, five come back. Only where each item is in equally many sets is
# the order that of the shares, and the unpicked must be put back as 0.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet bwsample==0.7.0 numpy==1.26.4 scipy==1.17.1 scikit-learn==1.9.1
"$place/env/bin/python" - <<'PYTHON'
from collections import Counter
from importlib.metadata import version

import bwsample

print("bwsample", version("bwsample"))
BEST, WORST, NEITHER = 1, 2, 0
sets = (
    6 * [([BEST, NEITHER, NEITHER, WORST], ["a", "b", "c", "d"])]
    + 6 * [([NEITHER, NEITHER, BEST, WORST], ["a", "b", "c", "d"])]
    + 2 * [([BEST, NEITHER, WORST], ["e", "f", "g"])]
)
shown, points = Counter(), Counter()
for states, items in sets:
    shown.update(items)
    points.update({item: {BEST: 1, WORST: -1, NEITHER: 0}[state] for state, item in zip(states, items)})
shares = {item: points[item] / shown[item] for item in sorted(shown)}
items, scores = bwsample.scoring_orme(sets)
found = dict(zip(map(str, items), map(float, scores)))
print("over times shown:", {item: round(share, 2) for item, share in shares.items()})
print("scoring_orme:    ", {item: round(score, 2) for item, score in sorted(found.items())})
assert shares["e"] == 1 > shares["a"] == 0.5 and shares["b"] == shares["f"] == 0
assert set(shares) - set(found) == {"b", "f"}, "items that nobody picked have a score now"
assert abs(found["e"] - 2 / 14) < 1e-9 and abs(found["a"] - 6 / 14) < 1e-9, "it divides by another number now"
PYTHON
