#!/usr/bin/env bash
# datasets 5.2.0: answers that are dates are texts no longer once read from JSON, and are written back as milliseconds.
#
# Guess: a JSON string stays a string, so that load_dataset("json") followed by to_json gives the same answers. Seen:
# where every answer of a column looks like a date, as to questions of "when", all become datetimes, and to_json writes
# the milliseconds since 1970: "1969-07-20" is -14256000000 for the next judge, metric or table. A zone ("Z") is lost.
# A system that once says "unknown" keeps its whole column as text, so files of two systems differ. Features that name
# the column a string do not help: the answer is then "1969-07-20 00:00:00". Arrow's JSON reader says that it infers
# times, `datasets` does not. Dataset.from_list of the lines, parsed by Python, keeps every answer as it was.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet datasets==5.2.0 pyarrow==26.0.1
cd "$place"
HF_HOME=$place HF_HUB_OFFLINE=1 "$place/env/bin/python" - <<'PYTHON'
import json
from importlib.metadata import version
from pathlib import Path

import datasets

print("datasets", version("datasets"), "with pyarrow", version("pyarrow"))
datasets.disable_progress_bars()


def read(name: str, answers: list[str], **options) -> datasets.Dataset:
    Path(f"{name}.jsonl").write_text("".join(json.dumps({"answer": each}) + "\n" for each in answers))
    return datasets.load_dataset("json", data_files=f"{name}.jsonl", split="train", **options)


def written(table: datasets.Dataset) -> list:
    table.to_json("back.jsonl")
    return [json.loads(line)["answer"] for line in Path("back.jsonl").read_text().splitlines()]


dates = ["1969-07-20", "2024-01-01"]
found = read("dates", dates)
print(found["answer"][:], "->", written(found))
assert str(found.features["answer"].dtype).startswith("timestamp"), "dates stay texts now"
assert written(found) == [-14256000000, 1704067200000], "to_json writes dates in another way now"
zoned = read("zoned", ["1969-07-20T20:17:40Z", "2024-01-01T00:00:00Z"])["answer"][0]
print("with a zone:", repr(zoned))
assert zoned.tzinfo is None, "the zone is kept now"
mixed = [*dates, "unknown"]
assert written(read("mixed", mixed)) == mixed, "one text that is no date does not keep the column now"
text = datasets.Features({"answer": datasets.Value("string")})
kept = written(read("named", dates, features=text))
print("with features:", kept)
assert kept == ["1969-07-20 00:00:00", "2024-01-01 00:00:00"], "named as strings they are something else now"
assert written(datasets.Dataset.from_list([{"answer": each} for each in dates])) == dates
PYTHON
