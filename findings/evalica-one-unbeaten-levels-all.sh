#!/usr/bin/env bash
# evalica 0.4.2: Bradley-Terry scores of all systems become equal once a single one has won (or lost) all that it was in.
#
# Guess: where the likelihood has no maximum, an error or a warning; or the unbeaten one far ahead, and the others in
# proportion to their own comparisons as before. Seen: three systems with scores 1.8, 1.2 and 0.5; a fourth, compared
# once and won (or lost), and all four have the tolerance for a score (1e-6; of 1e-12 at that tolerance), without a word.
# A ranking by these scores is the order of the names. Newman's algorithm does the same for the unbeaten one only.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet evalica==0.4.2 numpy==2.4.6 pandas==2.3.3
"$place/env/bin/python" -W error - <<'PYTHON'
import evalica
from evalica import Winner, bradley_terry, newman

WINS = [("a", "b", 6), ("b", "a", 4), ("b", "c", 7), ("c", "b", 3), ("a", "c", 8), ("c", "a", 2)]


def scores(method, wins, **options):
    rows = [(won, lost) for won, lost, times in wins for _ in range(times)]
    found = method([won for won, _ in rows], [lost for _, lost in rows], [Winner.X] * len(rows), **options)
    return {system: float(f"{score:.3g}") for system, score in sorted(found.scores.items())}


print("evalica", evalica.__version__)
for title, more in {"three systems": [], "d beat a once": [("d", "a", 1)], "d lost to a once": [("a", "d", 1)]}.items():
    found = {method.__name__: scores(method, WINS + more) for method in (bradley_terry, newman)}
    print(title, found)
    levelled = {name: len(set(each.values())) == 1 for name, each in found.items()}
    assert levelled == {"bradley_terry": bool(more), "newman": title == "d beat a once"}, "the library does otherwise now"
    assert more == [] or set(found["bradley_terry"].values()) == {1e-06}
exact = scores(bradley_terry, WINS + [("d", "a", 1)], tolerance=1e-12, limit=100_000)
print("the same with a tolerance of 1e-12", exact)
assert set(exact.values()) == {1e-12}
PYTHON
