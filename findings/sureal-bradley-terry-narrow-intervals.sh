#!/usr/bin/env bash
# sureal 0.9.0: confidence intervals of its Bradley-Terry scores are a fifth too narrow for two systems, and wrong for more.
#
# Guess: with 12 wins to 8, the standard error of the difference of two BT_MLE scores is that of log odds, the root of
# 1/12 + 1/8 (.46), and the covariance of more systems is the inverse of their information. Seen: .37, so that an interval
# of 95 % holds the truth in 89 %; of four systems, each pair compared 20 times, the errors of differences are 7 % too small
# to 7 % too large. The scores are right. The source squares a sum on the diagonal of the information, as its comment says,
# and doubles it elsewhere. Take the scores, and the errors from a bootstrap over people or from another library.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet sureal==0.9.0 numpy==1.26.4
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
from scipy.stats import norm
from sureal.dataset_reader import PairedCompDatasetReader
from sureal.pc_subjective_model import BradleyTerryMlePairedCompSubjectiveModel

print("sureal", version("sureal"))


def errors(wins):
    """Return the log odds of the first against the second system, and two arrays of standard errors of differences.

    One has those of the library, the other those of the information matrix at its scores; wins[i][j]: i beat j.
    """
    systems = range(len(wins))
    clips = [{"content_id": 0, "asset_id": one, "os": {}, "path": ""} for one in systems]
    for one in systems:
        for other in range(one + 1, len(wins)):
            chosen = wins[one][other] * [1] + wins[other][one] * [0]
            clips[one]["os"] |= {(f"person {number}", other): value for number, value in enumerate(chosen)}
    source = [{"content_id": 0, "content_name": "text", "path": ""}]
    reader = PairedCompDatasetReader(SimpleNamespace(dataset_name="study", ref_videos=source, dis_videos=clips))
    found = BradleyTerryMlePairedCompSubjectiveModel(reader).run_modeling(display=False)
    scores, given = np.array(found["quality_scores"]), np.array(found["quality_scores_v_cov"])
    shares = 1 / (1 + np.exp(scores[None] - scores[:, None]))
    weights = (np.array(wins) + np.array(wins).T) * shares * (1 - shares)
    expected = np.linalg.pinv(np.diag(weights.sum(1)) - weights, rcond=1e-8)
    pairs = [(one, other) for one in systems for other in range(one + 1, len(wins))]
    both = [[(c[i, i] + c[j, j] - 2 * c[i, j]) ** 0.5 for i, j in pairs] for c in (given, expected)]
    return scores[0] - scores[1], *np.array(both)


difference, seen, expected = errors([[0, 12], [8, 0]])
ratio = (seen / expected)[0]
held = 2 * norm.cdf(1.96 * ratio) - 1
print(f"12 to 8: difference {difference:.3f}, error {seen[0]:.3f}, expected {expected[0]:.3f}; 95 % holds {held:.1%}")
assert abs(difference - np.log(12 / 8)) < 1e-6 and abs(expected[0] - (1 / 12 + 1 / 8) ** 0.5) < 1e-6
assert 0.81 < ratio < 0.83, "errors of two systems are other ones now"
_, seen, expected = errors([[0, 12, 14, 17], [8, 0, 12, 15], [6, 8, 0, 11], [3, 5, 9, 0]])
print("four systems, error by expected error, each pair:", np.round(seen / expected, 3))
assert (seen / expected).min() < 0.95 < 1.05 < (seen / expected).max(), "errors of four systems are other ones now"
PYTHON
