#!/usr/bin/env bash
# statsmodels 0.15.0: AnovaRM takes a design in which each annotator rated some of the systems, and its F is then too large.
#
# Guess: "only fully balanced within-subject designs", as its documentation has it, means that ratings where everybody
# saw two of six systems are refused like a table with one row missing ("Data is unbalanced"). Seen: only systems are
# counted. If each was rated as often as the others, as in any tidy assignment of outputs to people, there is a table,
# without a warning, whose F is that of a model with annotators and systems times 4/3 (two of three systems each), 3/2
# (two of four) or 5/3 (two of six), on the right degrees of freedom: of 300 studies with equal systems, 43 and 52 of
# the last two designs "differ" at 5 %. Fit a model with annotators in it (ols and anova_lm, or mixedlm) unless
# everybody rated every system.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet statsmodels==0.15.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
"$place/env/bin/python" -W error - <<'PYTHON'
from itertools import combinations, cycle

import numpy as np
import pandas as pd
import statsmodels
from statsmodels.formula.api import ols
from statsmodels.stats.anova import AnovaRM, anova_lm

print("statsmodels", statsmodels.__version__)


def study(rng: np.random.Generator, systems: int, seen: int) -> pd.DataFrame:
    """Return ratings of equal systems by 30 annotators, each of whom rated `seen` of them, all equally often."""
    rows = []
    for annotator, chosen in zip(range(30), cycle(combinations("ABCDEF"[:systems], seen))):
        habit = rng.normal()
        rows += [(annotator, system, habit + rng.normal()) for system in chosen]
    return pd.DataFrame(rows, columns=["annotator", "system", "rating"])


def repeated(ratings: pd.DataFrame) -> pd.Series:
    return AnovaRM(ratings, "rating", "annotator", ["system"]).fit().anova_table.loc["system"]


for systems, seen, ratio in ((3, 3, 1), (3, 2, 4 / 3), (4, 2, 3 / 2), (6, 2, 5 / 3)):
    rng = np.random.default_rng(systems)
    ratings = study(rng, systems, seen)
    found, both = repeated(ratings), anova_lm(ols("rating ~ C(annotator) + C(system)", ratings).fit(), typ=2)
    false = np.mean([repeated(study(rng, systems, seen))["Pr > F"] < 0.05 for _ in range(300)])
    expected = both.loc["C(system)", "F"]
    print(f"{seen} of {systems} systems: F {found['F Value']:.3f}, with annotators {expected:.3f}, false {false:.1%}")
    assert found["Den DF"] == both.loc["Residual", "df"]
    assert np.isclose(found["F Value"], ratio * expected), "F is another one now"
    assert (false > 0.1) == (systems > 3), "false alarms have changed"
try:
    repeated(ratings.iloc[1:])
except ValueError as error:
    print("one row missing:", error)
    assert "unbalanced" in str(error)
else:
    raise AssertionError("a missing row is taken, too")
PYTHON
