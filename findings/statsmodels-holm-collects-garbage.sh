#!/usr/bin/env bash
# statsmodels 0.15.0: multipletests collects all garbage of the process for Holm's method, and for no other one.
#
# Guess: methods that sort the p-values and run along them cost about the same. Seen: each call with method="holm" runs
# gc.collect(), a whole collection; Bonferroni, Benjamini-Hochberg, Hochberg and Sidak run none. In a process that holds a
# few million objects a correction of ten p-values so takes more than a tenth of a second, not a fiftieth of a millisecond: a
# simulation of corrected tests, or a report with many families, waits for the collector. gc.freeze() before helps.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet statsmodels==0.15.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
"$place/env/bin/python" - <<'PYTHON'
import gc
import timeit

import statsmodels
from statsmodels.stats.multitest import multipletests

print("statsmodels", statsmodels.__version__)
p = [0.001, 0.004, 0.01, 0.02, 0.03, 0.04, 0.1, 0.3, 0.5, 0.9]
whole = []
gc.callbacks.append(lambda phase, info: whole.append(phase) if phase == "start" and info["generation"] == 2 else None)


def collections(method, calls=20):
    multipletests(p, method=method)
    gc.disable()
    whole.clear()
    for _ in range(calls):
        multipletests(p, method=method)
    gc.enable()
    return len(whole) / calls


found = {method: collections(method) for method in ("holm", "bonferroni", "fdr_bh", "simes-hochberg", "holm-sidak")}
print("whole collections a call:", found)
held = [[number] for number in range(2_000_000)]  # as tables and models hold them
for method in ("holm", "fdr_bh"):
    seconds = min(timeit.repeat(lambda: multipletests(p, method=method), number=3, repeat=3)) / 3
    print(f"{method}: {1000 * seconds:.2f} ms a call beside {len(held):,} objects")
assert found.pop("holm") == 1, "holm collects no garbage now"
assert set(found.values()) == {0}, "others collect garbage, too"
PYTHON
