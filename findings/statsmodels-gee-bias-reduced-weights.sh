#!/usr/bin/env bash
# statsmodels 0.15.0: GEE with cov_type="bias_reduced" does not take weights as its other covariances do.
#
# Guess: a whole-number weight on every answer of an annotator gives the covariance of those answers repeated, as
# cov_type="robust" does to all digits. Seen: with as many answers an annotator as the model has parameters, another
# standard error (.46 for .53) without a warning; with any other number, a ValueError about shapes.
# So the small-sample correction that few annotators call for cannot be had for weighted answers.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet statsmodels==0.15.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
"$place/env/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import statsmodels
import statsmodels.api as sm

warnings.simplefilter("error", RuntimeWarning)
print("statsmodels", statsmodels.__version__)

def errors(per_annotator, covariance, weighted, annotators=12):
    rng = np.random.default_rng(per_annotator)
    n = per_annotator * annotators
    known = np.c_[np.ones(n), rng.normal(size=n)]
    chosen = (rng.random(n) < 0.6).astype(float)
    who = np.repeat(np.arange(annotators), per_annotator)
    times = np.repeat(rng.integers(1, 5, annotators), per_annotator)
    rows = np.arange(n) if weighted else np.repeat(np.arange(n), times)
    weights = {"weights": times.astype(float)} if weighted else {}
    model = sm.GEE(chosen[rows], known[rows], groups=who[rows], family=sm.families.Binomial(), **weights)
    return model.fit(cov_type=covariance).bse


for size in (2, 6):
    same = np.abs(errors(size, "robust", True) - errors(size, "robust", False)).max()
    print(f"{size} answers each, robust: weighted and repeated differ by {same:.1e}")
    assert same < 1e-8
weighted, repeated = errors(2, "bias_reduced", True), errors(2, "bias_reduced", False)
print("2 answers each, bias_reduced: weighted", weighted.round(4), "repeated", repeated.round(4))
assert np.abs(weighted / repeated - 1).max() > 0.02, "the two agree now"
try:
    errors(6, "bias_reduced", True)
except ValueError as error:
    print("6 answers each, bias_reduced, weighted: ValueError:", error)
else:
    raise SystemExit("6 answers each are taken now")
PYTHON
