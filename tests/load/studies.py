"""The study that servers are loaded with: two texts on a page, each rated on a scale of seven, ten such pages."""

from __future__ import annotations

import json
from pathlib import Path

from spa.commands.build import build_store
from spa.study.load import load_study, study_fingerprint

PAGES = 10
SENTENCE = "The keeper of the lighthouse counted the ships that never came. "
STUDY = """
id = "load"
title = "Stories"
seed = 1
outputs = {files = ["outputs.jsonl"], item_text = "item_text"}
systems = [{id = "sysone"}, {id = "systwo"}]
design.items = PAGES
people.seconds_per_100_words = 0.1  # these annotators read at once: by its clock the server sees that

[likert]
points = 7
outputs = "all"
"""


def write_load_study(folder: Path, *, items: int = 40, pages: int = PAGES) -> Path:
    """Write the study file and its outputs."""
    rows = [
        {
            "item_id": f"i{item}",
            "system": system,
            "item_text": f"Tell a story about ship {item}.",
            "output": f"Story {item}, told {how}. " + 8 * SENTENCE,
        }
        for item in range(items)
        for system, how in (("sysone", "once"), ("systwo", "twice"))
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(STUDY.replace("PAGES", str(pages)))
    return path


def build_load_study(folder: Path, target: str, *, assignments: int, pages: int = PAGES) -> Path:
    """Write the study and draw its assignments into a store."""
    path = write_load_study(folder, pages=pages)
    study = load_study(path)
    build_store(study, target, fingerprint=study_fingerprint(study), annotators=assignments, seed=None)
    return path


def write_potato_study(folder: Path, *, items: int = 40, pages: int = PAGES) -> Path:
    """Write a study of the same kind for POTATO: a text on a page, rated on two scales of seven."""
    (folder / "data").mkdir()
    rows = [{"id": f"item{item}", "text": f"Story {item}. " + 8 * SENTENCE} for item in range(items)]
    (folder / "data" / "items.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scale = {"annotation_type": "likert", "min_label": "not at all", "max_label": "very", "size": 7}
    settings = {
        "annotation_task_name": "Stories",
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "output_annotation_format": "jsonl",
        "data_files": ["data/items.json"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": True, "users": []},
        "login": {"type": "url_direct", "url_argument": "PROLIFIC_PID"},
        "require_password": False,
        "num_annotators_per_item": 100_000,
        "max_annotations_per_user": pages,
        "assignment_strategy": "random",
        "annotation_schemes": [
            {**scale, "name": name, "description": f"How {name} is the text?"} for name in ("fluent", "coherent")
        ],
        "site_dir": "default",
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(settings))  # JSON is YAML
    return path
