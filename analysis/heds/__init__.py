"""A human-evaluation datasheet (HEDS 3.0) filled in from a study."""

from __future__ import annotations

from analysis.heds.filled import sheet_files, write_sheets
from analysis.heds.form import Field, read_fields
from analysis.heds.sheet import Sheet, datasheets

__all__ = ["Field", "Sheet", "datasheets", "read_fields", "sheet_files", "write_sheets"]
