#!/usr/bin/env bash
# choix 0.4.1: the least regularisation makes rank_centrality take systems that nobody compared for compared and equal.
#
# Guess: alpha of 1e-12 hardly changes the scores, as with the other estimators, where it weighs the less the more
# comparisons there are. Seen: rank_centrality adds it to the wins and then turns these into shares, so that each pair
# without a comparison becomes a tie of full weight, for any alpha and any number of comparisons. Of six systems, each
# compared with its neighbours and better than the next in three of four comparisons, the second comes out fifth. Where
# not all pairs were compared, keep alpha = 0.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet choix==0.4.1 numpy==2.4.6 scipy==1.17.1
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

import choix
import numpy as np

print("choix", version("choix"))
SYSTEMS = 6


def comparisons(times: int) -> list[tuple[int, int]]:
    """Return (winner, loser) pairs: each system beats the next one in three of four comparisons."""
    neighbours = [(best, best + 1) for best in range(SYSTEMS - 1)]
    return times * [pair for best, next_ in neighbours for pair in 3 * [(best, next_)] + [(next_, best)]]


def scores(estimator, alpha: float, times: int = 5) -> np.ndarray:
    found = estimator(SYSTEMS, comparisons(times), alpha=alpha)
    print(f"{estimator.__name__}, alpha {alpha:g}, {20 * times // 5} comparisons a pair: {np.round(found, 3) + 0.0}")
    return found


for estimator in (choix.lsr_pairwise, choix.mm_pairwise, choix.opt_pairwise):
    assert np.abs(scores(estimator, 1e-9) - scores(estimator, 0)).max() < 0.01
plain = scores(choix.rank_centrality, 0)
assert np.allclose(-np.diff(plain), np.log(3)), "each is better than the next by the log of three to one"
for alpha, times in ((1e-12, 5), (1e-6, 5), (1e-12, 5000)):
    levelled = scores(choix.rank_centrality, alpha, times)
    assert np.abs(levelled).max() < 0.2 < 2.7 < plain.max(), "the least alpha changes little now"
    assert list(np.argsort(-levelled)) == [0, 2, 3, 4, 1, 5], "the order of the systems is another one now"
PYTHON
