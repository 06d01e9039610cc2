#!/usr/bin/env bash
# crowd-kit 1.4.2: whom a tied vote favours depends on how the rows of the table stand.
#
# Guess: MajorityVote breaks a tie at random, or always for the same label. Seen: for the label that the table names
# first, anywhere: with the first row moved to the end, the same votes give another winner, and an early row wins all
# later ties. A majority of two or four annotators is therefore no property of their answers; sort first, or count ties.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet crowd-kit==1.4.2 pandas==3.1.1 numpy==2.4.6
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

import pandas as pd
from crowdkit.aggregation import MajorityVote

print("crowd-kit", version("crowd-kit"), "pandas", version("pandas"))
VOTES = [("one", "ann", "y"), ("two", "ann", "x"), ("two", "ben", "y"), ("three", "ann", "x"), ("three", "ben", "y")]
table = pd.DataFrame(VOTES, columns=["task", "worker", "label"])
found = {}
for name, rows in {"as given": table, "reversed": table.iloc[::-1], "first row last": table.iloc[[1, 2, 3, 4, 0]]}.items():
    found[name] = MajorityVote().fit_predict(rows)[["two", "three"]].tolist()
    print(f"{name}: two and three, tied 1 to 1, go to {found[name]}")
assert found["as given"] == ["y", "y"]
assert found["first row last"] == ["x", "x"], "ties no longer follow the rows"
PYTHON
