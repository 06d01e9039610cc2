"""Write the JSON Schema of results.json from the records: ``python -m analysis.results.schema``."""

from __future__ import annotations

from analysis.results.files import SCHEMA_FILE, schema_text

if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
