#!/usr/bin/env bash
# scikit-learn 1.9.1: weighted kappa of ratings counts steps between the values that occur, not between points of the scale.
#
# Guess: cohen_kappa_score(..., weights="quadratic") of ratings from 1 to 9 weighs a disagreement of 1 and 9 sixteen
# times as heavily as one of 1 and 3. Seen: where nobody used 3 to 8, the values 1, 2 and 9 are steps 0, 1 and 2; the
# same answers give .077, and .438 when labels= names all nine points. A judge's agreement with people so depends on
# which other scores anybody gave: one more item on which both say 5 moves it from .077 to .286, and with labels= from
# .438 to .435. Name the points of the scale.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet scikit-learn==1.9.1
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

from sklearn.metrics import cohen_kappa_score

print("scikit-learn", version("scikit-learn"))
POINTS = list(range(1, 10))
people, judge = [1, 2, 9, 9], [2, 1, 9, 1]


def both(more: list[int]) -> tuple[float, float]:
    pair = (people + more, judge + more)
    found = (cohen_kappa_score(*pair, weights="quadratic"), cohen_kappa_score(*pair, weights="quadratic", labels=POINTS))
    print(f"people {pair[0]}, judge {pair[1]}: {found[0]:.3f}, with the nine points named {found[1]:.3f}")
    return found


plain, named = both([])
renamed = cohen_kappa_score([1, 2, 3, 3], [2, 1, 3, 1], weights="quadratic")
print(f"with 3 in the place of 9: {renamed:.3f}")
assert abs(plain - renamed) < 1e-12, "the distance from 2 to 9 counts now"
assert abs(plain - 1 / 13) < 1e-9 and abs(named - 0.4382978723) < 1e-9
more = both([5])
assert more[0] - plain > 0.2 > 0.1 > more[1] - named
PYTHON
