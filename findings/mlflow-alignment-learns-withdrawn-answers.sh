#!/usr/bin/env bash
# mlflow 3.17.2: a judge is aligned with answers that people have withdrawn.
#
# Guess: once override_feedback has replaced an answer (valid=False from then on, as the library's own metrics heed),
# judge.align learns from the new one. Seen: it counts both. Where two of three people change "yes" to "no", "yes" has a
# majority of three to two, and the judge gets three examples of it. Where the correction names no source, it is stored
# as coming from code, and the withdrawn "yes" is all that is left of people. Remove invalid answers from traces first.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet mlflow-skinny==3.17.2 dspy==3.4.1 sqlalchemy==2.1.9 alembic==1.20.1 pandas==3.1.1
cd "$place"
MLFLOW_DISABLE_TELEMETRY=true LITELLM_LOCAL_MODEL_COST_MAP=True "$place/env/bin/python" - <<'PYTHON'
import logging
from collections import Counter

import mlflow
from mlflow.entities import AssessmentSource
from mlflow.genai.judges import make_judge
from mlflow.genai.judges.optimizers.dspy import DSPyAlignmentOptimizer

print("mlflow", mlflow.__version__)
logging.disable(logging.WARNING)
mlflow.set_tracking_uri("sqlite:///answers.db")
mlflow.set_experiment("study")
learnt = []


class Kept(DSPyAlignmentOptimizer):
    """Keeps the examples that the library made of people's answers; changes nothing."""

    _MINIMUM_TRACES_REQUIRED_FOR_OPTIMIZATION = 1

    def _dspy_optimize(self, program, examples, metric_fn):
        learnt.extend(example.result for example in examples)
        return program


def person(name):
    return AssessmentSource(source_type="HUMAN", source_id=name)


def aligned(people, changed, named):
    """Return the valid answers and those learnt, after ``people`` said yes and ``changed`` made it no."""
    answer = mlflow.start_span_no_context("answer", inputs={"question": "Why?"})
    answer.end(outputs="Because.")
    mlflow.flush_trace_async_logging()
    trace = {"trace_id": answer.trace_id}
    said = {name: mlflow.log_feedback(**trace, name="good", value="yes", source=person(name)) for name in people}
    for name in changed:
        source = {"source": person(name)} if named else {}
        mlflow.override_feedback(**trace, assessment_id=said[name].assessment_id, value="no", **source)
    found = mlflow.get_trace(answer.trace_id)
    valid = [(each.value, each.source.source_type) for each in found.info.assessments if each.valid]
    learnt.clear()
    model = "openai:/none"  # never called
    judge = make_judge(name="good", instructions="Is {{ outputs }} good?", model=model, feedback_value_type=str)
    judge.align([found], Kept(model=model))
    return dict(Counter(valid)), dict(Counter(learnt))


several = aligned(["ann", "ben", "cho"], ["ann", "ben"], named=True)
alone = aligned(["ann"], ["ann"], named=False)
print("two of three changed to no: valid %s, learnt %s" % several)
print("one changed to no, no source: valid %s, learnt %s" % alone)
assert several[0] == {("no", "HUMAN"): 2, ("yes", "HUMAN"): 1} and alone[0] == {("no", "CODE"): 1}
assert (several[1], alone[1]) == ({"yes": 3}, {"yes": 1}), "withdrawn answers are left out now"
PYTHON
