#!/usr/bin/env bash
# argilla 2.8.0: a ranking that a person gave comes out of the SDK as the options in the order of the question.
#
# Guess: the list of values of a ranking response, in records.to_datasets and to_json too, is the person's order, best
# first. Seen: of what the server keeps, {"value", "rank"} for each option, the SDK takes "value" alone, unsorted: two
# opposite rankings are one and the same list, and a tie is gone. The web form sends the options in the order of the
# question (read in its source, RankingQuestionAnswer, not run): then all seem to agree on the order in which they were
# written. Only the API's own JSON has the ranks.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet argilla==2.8.0 requests
HOME=$place "$place/env/bin/python" - <<'PYTHON'
import uuid
from types import SimpleNamespace
from unittest.mock import MagicMock

import argilla
from argilla._models import UserResponseModel
from argilla.responses import UserResponse

print("argilla", argilla.__version__)
question = argilla.RankingQuestion(name="order", values=["alpha", "beta", "gamma"], client=MagicMock())
settings = SimpleNamespace(questions={"order": question})
record = SimpleNamespace(dataset=SimpleNamespace(settings=settings, name="shown"))
seen = []
for ranks in ((1, 2, 3), (3, 2, 1), (1, 1, 2)):
    kept = [{"value": value, "rank": rank} for value, rank in zip(("alpha", "beta", "gamma"), ranks)]
    model = UserResponseModel(values={"order": {"value": kept}}, status="submitted", user_id=uuid.uuid4())
    given = UserResponse.from_model(model, record=record)
    seen.append(next(iter(given)).value)
    print(f"ranks {ranks}: {seen[-1]}")
assert seen == [["alpha", "beta", "gamma"]] * 3, "the SDK keeps the ranks now"
PYTHON
