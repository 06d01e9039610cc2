#!/usr/bin/env bash
# evalica 0.4.2: eigen() ranks the other way round; the system that loses most has the highest score and stands first.
#
# Guess: scores of the eigenvector method run as those of the library's other methods, the higher the better, and the
# sorted result (and the "rank" of its command line) begins with the best. Seen: with three systems of which each wins
# 75 % or 90 % against those below it, all others give a, b, c, and eigen c, b, a (.81 for the worst, .27 for the best), by
# both solvers; likewise for eight systems with answers drawn from known strengths. Bonacich's score rises with what
# stands in a system's row of the matrix of wins; here the column, its losses, is summed. Nothing in the documentation says
# so. Read these scores upside down, or exchange the two columns of names.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet evalica==0.4.2 numpy==2.4.6 pandas==2.3.3
cd "$place"
"$place/env/bin/python" -W error - <<'PYTHON'
import csv
import subprocess
import sys

import evalica
import numpy as np
from evalica import Winner

print("evalica", evalica.__version__)
WINS = {("a", "b"): 15, ("b", "a"): 5, ("b", "c"): 15, ("c", "b"): 5, ("a", "c"): 18, ("c", "a"): 2}
battles = [pair for pair, times in WINS.items() for _ in range(times)]
xs, ys = [best for best, _ in battles], [worst for _, worst in battles]
others = (evalica.counting, evalica.average_win_rate, evalica.bradley_terry, evalica.newman, evalica.elo, evalica.pagerank)
for solver in ("pyo3", "naive"):
    for method in (*others, evalica.eigen):
        scores = method(xs, ys, [Winner.X] * len(xs), solver=solver).scores
        print(f"{solver}, {method.__name__}: " + ", ".join(f"{name} {score:.4g}" for name, score in scores.items()))
        expected = ["c", "b", "a"] if method is evalica.eigen else ["a", "b", "c"]
        assert list(scores.index) == expected, f"{method.__name__} has another order now"

rng = np.random.default_rng(3)
strengths = np.linspace(1.5, -1.5, 8)  # of eight systems, the best first
left = rng.integers(0, 8, 4000)
right = (left + rng.integers(1, 8, 4000)) % 8
won = rng.random(4000) < 1 / (1 + np.exp(strengths[right] - strengths[left]))
winners = [Winner.X if one else Winner.Y for one in won]
for method in (evalica.bradley_terry, evalica.eigen):
    scores = method(left.tolist(), right.tolist(), winners, limit=5000).scores.sort_index()
    ranks = scores.rank().to_numpy()
    agreement = np.corrcoef(ranks, np.arange(8, 0, -1))[0, 1]
    print(f"eight systems, {method.__name__}: rank correlation with the true strengths {agreement:.2f}")
    assert agreement < -0.9 if method is evalica.eigen else agreement > 0.9

with open("battles.csv", "w", newline="") as file:
    csv.writer(file).writerows([("left", "right", "winner"), *((*pair, "left") for pair in battles)])
command = [sys.executable, "-m", "evalica", "-i", "battles.csv", "pairwise", "eigen"]
rows = list(csv.DictReader(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()))
print("command line:", rows[0])
assert rows[0]["item"] == "c" and rows[0]["rank"] == "1", "the command line ranks another system first now"
PYTHON
