"""Files of other tools, as the guides name them: small, written by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEMS = ("reference", "model-a", "model-b")
SCORES = {"reference": (5, 4, 5, 4), "model-a": (4, 3, 4, 4), "model-b": (2, 2, 3, 1)}  # of four items


def rows(path: Path, header: Sequence[str], body: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, its folder too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as written:
        writer = csv.writer(written)
        writer.writerow(header)
        writer.writerows(body)


def ratings(path: Path, *, llm: str, annotator: str = "annotator_id", criterion: str = "overall") -> None:
    """Write ratings by three people and an LLM."""
    body = [
        (who, f"i{item}", system, score, criterion)
        for who in ("ann", "bob", "cem", llm)
        for system in SYSTEMS
        for item, score in enumerate(SCORES[system])
    ]
    rows(path, (annotator, "item_id", "system", "score", "criterion"), body)


def metrics(path: Path) -> None:
    """Write a metric of the same outputs."""
    body = [
        (f"i{item}", system, "overlap", score / 10, "true")
        for system in SYSTEMS
        for item, score in enumerate(SCORES[system])
    ]
    rows(path, ("item_id", "system", "metric", "score", "higher_is_better"), body)


def potato_folder(folder: Path) -> None:
    """Write what POTATO leaves of two people and four items, with an attention check and an LLM's answers."""
    for person in ("W1", "W2"):
        lines = [_instance(f"i{item}", item) for item in range(4)]
        lines.append({**_instance("attention_check_1", 0)})
        own = folder / "part_1" / "annotation_output" / person
        own.mkdir(parents=True)
        (own / "annotated_instances.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (own / "annotation_order.txt").write_text("intro.html\ni2\nattention_check_1\ni1\ni0\ni3\n")
    said = [
        {"id": f"i{item}", **{system: {"fluency": SCORES[system][item], "simplicity": 3} for system in SYSTEMS}}
        for item in range(4)
    ]
    (folder / "part_1" / "gpt4").mkdir()
    (folder / "part_1" / "gpt4" / "output.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))


def _instance(name: str, item: int) -> dict[str, object]:
    labels = {}
    for number, system in enumerate(SYSTEMS, start=1):
        for criterion in ("fluency", "simplicity"):
            label = criterion if number == 1 else f"{criterion}_{number}"
            labels[label] = {f"scale_{SCORES[system][item]}": str(SCORES[system][item])}
    behaviour = {"time_string": "Time spent: 0d 0h 1m 2s "}
    return {"id": name, "label_annotations": labels, "behavioral_data": behaviour}


def wide_results(path: Path) -> None:
    """Write a CSV with a column a question."""
    header = ("WorkerId", "Input.id", "AssignmentStatus", "Answer.q1", "Answer.q2", "Answer.q3")
    body = [
        ("A1", "i1", "Approved", 4, 70, "left"),
        ("A2", "i1", "Submitted", 3, 60, "left"),
        ("A1", "i2", "Approved", 5, 80, "right"),
        ("A3", "i2", "Rejected", 1, 0, "right"),
    ]
    rows(path, header, body)


def batches_of_old_hits(folder: Path) -> None:
    """Write two result CSVs of the requester site as it was, with the columns of the guide's mapping."""
    answers = ("Input.story", "Input.system", "Answer.grammar", "Answer.better.left", "Answer.better.right")
    header = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds", *answers)
    first = ("H1", "A1", "AWORKER1", "Approved", 60, "s1", "gpt", "5 (best)", "true", "false")
    second = ("H2", "A2", "AWORKER2", "Approved", 45, "s2", "human", "1 (worst)", "false", "true")
    rows(folder / "Batch_1_results.csv", header, [first])
    rows(folder / "Batch_2_results.csv", header, [first, second])
