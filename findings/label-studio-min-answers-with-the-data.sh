#!/usr/bin/env bash
# label-studio-sdk 2.1.2: in JSON_MIN a question that a person left open has the value of the data's field of that name.
#
# Guess: a task brings a field "verdict", what a judge said, and people answer a question named "verdict", which they may
# leave open; an export has people's answers, and nothing where there is none, as CSV has it (the judge's words stand in
# "_data_verdict" there). Seen: a JSON_MIN row is the data with the answers written over it. Where a person answered, the
# judge's word is gone; where nobody did, it stands in the same key, in the same form, beside the person's name. Two
# people who agree with the judge in 2 of the 6 answers that they gave agree with it in 6 of 10 rows. An "id" of the data
# is replaced in JSON_MIN and kept in CSV, so the two do not join. Give questions names that no field of the data has.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet label-studio-sdk==2.1.2
cd "$place"
"$place/env/bin/python" - <<'PYTHON'
import csv
import json
from importlib.metadata import version
from pathlib import Path

from label_studio_sdk.converter import Converter

print("label-studio-sdk", version("label-studio-sdk"))
FORM = """<View><Text name="answer" value="$answer"/>
<Choices name="verdict" toName="answer"><Choice value="good"/><Choice value="bad"/></Choices>
<TextArea name="remark" toName="answer"/></View>"""
JUDGE = ["good", "good", "bad", "good", "bad"]
PEOPLE = {"first": ["good", None, "good", None, "good"], "second": ["bad", "bad", None, "good", None]}


def stored(number: int, person: str, verdict: str | None) -> dict:
    """Return one person's annotation as the server keeps it: a remark, and a verdict unless it was left open."""
    values = [("remark", "textarea", {"text": ["seen"]})]
    if verdict is not None:
        values.append(("verdict", "choices", {"choices": [verdict]}))
    return {
        "id": number,
        "completed_by": {"email": person},
        "result": [
            {"id": name, "from_name": name, "to_name": "answer", "type": kind, "value": value}
            for name, kind, value in values
        ],
        "was_cancelled": False,
        "created_at": "2026-01-01",
        "updated_at": "2026-01-01",
        "lead_time": 3.0,
    }


tasks = [
    {
        "id": 70 + item,
        "data": {"answer": f"text {item}", "id": f"story {item}", "verdict": judged},
        "annotations": [stored(10 * item + at, who, PEOPLE[who][item]) for at, who in enumerate(PEOPLE)],
    }
    for item, judged in enumerate(JUDGE)
]
Path("tasks.json").write_text(json.dumps(tasks))
converter = Converter(FORM, "project")
for form in ("CSV", "JSON_MIN"):
    converter.convert("tasks.json", form, form, is_dir=False)
rows = {
    "CSV": list(csv.DictReader(Path("CSV/result.csv").read_text().splitlines())),
    "JSON_MIN": json.loads(Path("JSON_MIN/result.json").read_text()),
}
answers = [PEOPLE[who][item] for item in range(len(JUDGE)) for who in PEOPLE]
judged = [word for word in JUDGE for _ in PEOPLE]
for form, exported in rows.items():
    words = [row["verdict"] or None for row in exported]
    given = [(word, by) for word, by in zip(words, judged) if word is not None]
    print(form, words, f"as the judge: {sum(a == b for a, b in given)} of {len(given)};", "id", exported[0]["id"])
    expected = answers if form == "CSV" else [word or by for word, by in zip(answers, judged)]
    assert words == expected, f"open questions are exported otherwise in {form}"
print("keys of JSON_MIN:", sorted(rows["JSON_MIN"][0]))
assert [row["_data_verdict"] for row in rows["CSV"]] == judged
assert "_data_verdict" not in rows["JSON_MIN"][0], "the data's own value is kept now"
assert (rows["CSV"][0]["id"], rows["JSON_MIN"][0]["id"]) == ("story 0", 70), "ids are exported otherwise"
PYTHON
