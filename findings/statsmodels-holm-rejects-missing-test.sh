#!/usr/bin/env bash
# statsmodels 0.15.0: Holm's correction rejects a hypothesis that has no p-value, if it rejects all others.
#
# Guess: NaN among p-values (a pair of systems with the same answer everywhere has no test) is left out or an error; in
# any case `reject` is False for it. Seen: NaN sorts last, compares as "not above" its threshold, and Holm and Holm-Sidak
# reject it where everything before it was rejected: the one comparison that nobody could make counts as significant. Its
# corrected value is NaN, so the two results contradict each other; with one large p-value among the others it is not
# rejected. Of Benjamini-Hochberg's corrected values each is NaN then, beside decisions that are right. Take NaN out.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet statsmodels==0.15.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
"$place/env/bin/python" -W error - <<'PYTHON'
import numpy as np
import statsmodels
from statsmodels.stats.multitest import multipletests

print("statsmodels", statsmodels.__version__)
p_values = [0.001, 0.002, np.nan, 0.004]
others = [0, 1, 3]
found = {}
for method in ("bonferroni", "holm", "holm-sidak", "fdr_bh"):
    reject, corrected, *_ = multipletests(p_values, method=method)
    found[method] = reject
    print(method, reject.tolist(), np.round(corrected, 4).tolist())
    assert reject[others].all() and np.isnan(corrected[2])
assert not found["bonferroni"][2] and not found["fdr_bh"][2]
assert found["holm"][2] and found["holm-sidak"][2], "a missing p-value is not rejected now"
reject, *_ = multipletests([0.001, 0.002, np.nan, 0.4], method="holm")
print("holm with a large p-value", reject.tolist())
assert reject.tolist() == [True, True, False, False]
assert np.isnan(multipletests(p_values, method="fdr_bh")[1]).all(), "values beside NaN are kept now"
PYTHON
