#!/usr/bin/env bash
# bwsample 0.7.0: rank(method="eigen") puts the system that won every comparison last, with a score of 0.
#
# Guess: Saaty's eigenvector of the ratios of wins grows with the wins; without a single loss a ratio has no value, so an
# error, a warning or the first place. Seen: a pair in which one side never won is left out on both sides, as if it had
# not been compared. Of four systems the one that beat all others in 19 of 20 comparisons has .995 and is first; with 20
# of 20 it has 0 and is last, without a word, while "ratio", "approx", "btl" and "trans" have it first both times. With
# few judgments a pair, one-sided pairs are common: look for them before this method is used.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet bwsample==0.7.0 numpy==1.26.4 scipy==1.17.1 scikit-learn==1.9.1
"$place/env/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import bwsample

print("bwsample", version("bwsample"))
OTHERS = {("b", "c"): 12, ("c", "b"): 8, ("c", "d"): 12, ("d", "c"): 8, ("b", "d"): 14, ("d", "b"): 6}


def ranked(wins: int, method: str) -> tuple[list[str], dict[str, float], list[str]]:
    """Rank four systems of which "a" beats each of the others in that many of 20 comparisons."""
    counts = OTHERS | {("a", other): wins for other in "bcd"}
    if wins < 20:
        counts |= {(other, "a"): 20 - wins for other in "bcd"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        _, order, _, scores, _ = bwsample.rank(counts, method=method)
    words = [str(one.message) for one in said if issubclass(one.category, RuntimeWarning)]
    found = dict(zip(map(str, order), map(float, scores)))
    print(f"a wins {wins} of 20, {method}: " + ", ".join(f"{name} {score:.3f}" for name, score in found.items()))
    return list(found), found, words


for method in ("ratio", "approx", "btl", "trans", "eigen"):
    assert ranked(19, method)[0] == ["a", "b", "c", "d"]
for method in ("ratio", "approx", "btl", "trans"):
    assert ranked(20, method)[0] == ["a", "b", "c", "d"]
order, scores, words = ranked(20, "eigen")
assert order == ["b", "c", "d", "a"], "the unbeaten system stands elsewhere now"
assert abs(scores["a"]) < 1e-6 and not words, "it has a score, or a warning, now"
PYTHON
