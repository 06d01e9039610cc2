"""Write the JSON Schema of ``study.toml`` from its records: ``python -m tests.study_schema``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from mturk.settings import MTurkTable
from prolific.settings import ProlificTable
from spa.study.file_schema import SCHEMA_FILE, Meanings, file_schema

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROW = re.compile(r"^\| `(\w+)` \| .*? \| (.*) \|$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def meanings() -> Meanings:
    """Return what the reference of the study file says of each key."""
    return dict(_rows())


def _rows() -> Iterator[tuple[tuple[str, str], str]]:
    for section in re.split(r"^## ", (DOCS / "study-file.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        header = "" if title == "Top level" else title.strip("`")
        for key, meaning in ROW.findall(section):
            yield (header, key), LINK.sub(r"\1", meaning).replace("`", "").replace("\\|", "|")


def written() -> str:
    """Return the text of the schema file."""
    schema = file_schema({"mturk": MTurkTable, "prolific": ProlificTable}, meanings())
    return json.dumps(schema, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(written(), encoding="utf-8")
