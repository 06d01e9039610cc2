#!/usr/bin/env bash
# sacrebleu 2.6.0: two systems with the same outputs differ with the least p-value there is, in both paired tests.
#
# Guess: the p-value of approximate randomisation is the share of exchanges whose difference is at least as large as the one
# seen: 1 for equal outputs, 2 / 2**k where k outputs differ and all are worse. Seen: only larger differences count, equal
# ones do not. Equal outputs get 1 / (trials + 1), by the paired bootstrap as well; where one to five of 50 outputs are
# worse, "ar" gives the same, and the exact values are 1 to .06. A metric that few outputs change, or a system entered
# twice under two names, thus looks significant: count the outputs that differ before reading a p-value.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet sacrebleu==2.6.0 numpy==2.4.6
"$place/env/bin/python" - <<'PYTHON'
import logging
from importlib.metadata import version

from sacrebleu.metrics import CHRF
from sacrebleu.significance import PairedTest

logging.disable(logging.INFO)
print("sacrebleu", version("sacrebleu"))
OUTPUTS, TRIALS = 50, 999
LEAST = 1 / (TRIALS + 1)
references = [f"in sentence {number} a cat sat down" for number in range(OUTPUTS)]


def p_value(test: str, worse: int) -> float:
    """Return the p-value between a system that equals the references and one with so many other outputs."""
    other = [text.replace("cat", "dog") if number < worse else text for number, text in enumerate(references)]
    systems = [("one", references), ("other", other)]
    _, found = PairedTest(systems, {"chrF": CHRF()}, [references], test_type=test, n_samples=TRIALS)()
    (scores,) = (results for name, results in found.items() if name != "System")
    return scores[1].p_value


for test in ("ar", "bs"):
    equal = p_value(test, worse=0)
    print(f"{test}, equal outputs: p = {equal:.3f}")
    assert abs(equal - LEAST) < 1e-12, "equal systems are no longer told apart"
for worse in (1, 2, 3, 4, 5):
    found, exact = p_value("ar", worse), 2 / 2**worse
    print(f"ar, {worse} of {OUTPUTS} outputs worse: p = {found:.3f}, exact {exact:.3f}")
    assert abs(found - LEAST) < 1e-12 < 0.05 < exact, "exchanges with an equal difference are counted now"
PYTHON
