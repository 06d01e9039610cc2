#!/usr/bin/env bash
# inspect-ai 0.3.285: the clustered standard error of a single cluster is 0.
#
# Guess: stderr(cluster=...) of scores that all lie in one document (or come from one annotator) is undefined: NaN, or
# an error. Seen: 0.0, the most certain figure there is, beside .5 with two clusters of the same scores and .19 with
# none. A results file read from there says "mean .5, standard error 0".
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet inspect-ai==0.3.285
cd "$place"
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver

SCORES = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
print("inspect-ai", version("inspect-ai"))


@solver
def nothing():
    async def solve(state, generate):
        return state

    return solve


def figures(size):
    """Return mean and both standard errors where each document has ``size`` samples."""

    @scorer(metrics=[mean(), stderr(), stderr(cluster="document")])
    def known():
        async def score(state, target):
            return Score(value=SCORES[int(state.sample_id)])

        return score

    samples = [Sample(input="text", id=place, metadata={"document": place // size}) for place in range(len(SCORES))]
    task = Task(dataset=samples, solver=nothing(), scorer=known())
    log = evaluate(task, model="mockllm/model", display="none", log_dir="logs")[0]
    assert log.status == "success", log.error
    return [metric.value for metric in log.results.scores[0].metrics.values()]


found = {size: figures(size) for size in (4, 8)}
for size, (average, plain, clustered) in found.items():
    print(f"{8 // size} documents: mean {average}, stderr {plain:.3f}, clustered by document {clustered:.3f}")
assert found[4][2] == 0.5
assert found[8][2] == 0.0, "one cluster no longer gives 0"
PYTHON
