"""Write what is made from the records of ``study.toml``, its schema and rows of its reference.

Run ``python -m tests.study_schema``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from spa.records.platforms import installed_platforms
from spa.study.file_schema import SCHEMA_FILE, Meanings, file_schema
from spa.study.schema_errors import REFERENCE, tables_in

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| (.*?) \|(?: (.*))? \|$", re.MULTILINE)
AS_THERE = "as there"  # the default of keys that are as in the table which their meaning names
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def meanings() -> Meanings:
    """Return what the reference of the study file says of each key."""
    return {(header, key): meaning.replace("\\|", "|") for header, key, _, meaning in reference_rows() if meaning}


def reference_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield each key of the reference: header of its table, name, default, meaning; keys alike share a row."""
    for section in re.split(r"^## ", (DOCS / REFERENCE).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        header = "" if title == "Top level" else title.strip("`")
        for keys, default, meaning in ROW.findall(section):
            for key in keys.split(", "):
                yield header, key.strip("`"), default.strip("`"), LINK.sub(r"\1", meaning).replace("`", "")


def written() -> str:
    """Return the text of the schema file."""
    schema = file_schema(meanings())
    return json.dumps(schema, ensure_ascii=False, indent=1) + "\n"


def rows_of(record: type[BaseModel]) -> str:
    """Return the table of a record's keys as the reference has it: name, default, meaning."""
    rows = [f"| `{key}` | {_default(field)} | {field.description} |\n" for key, field in record.model_fields.items()]
    return "".join(["| key | default | meaning |\n|---|---|---|\n", *rows])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    return "none" if field.default is None else f"`{json.dumps(field.default)}`"


def reference() -> str:
    """Return the reference with the tables of platforms that it lists as their records have them."""
    text = (DOCS / REFERENCE).read_text(encoding="utf-8")
    listed = [one for one in installed_platforms() if one.page == REFERENCE]
    tables = [found for one in listed if one.table is not None for found in tables_in(one.table, one.key)]
    for header, record in tables:
        before, title, rest = text.partition(f"\n## `{header}`\n")
        intro, _, rest = rest.partition("| key ")
        text = before + title + intro + rows_of(record) + "\n" + rest.partition("\n\n")[2]
    return text


if __name__ == "__main__":
    (DOCS / REFERENCE).write_text(reference(), encoding="utf-8")
    SCHEMA_FILE.write_text(written(), encoding="utf-8")
