"""A report with all that it is made of as one archive for reviewers, and the report made again from that alone."""

from __future__ import annotations

from analysis.archive.comparison import Comparison, compare_reports
from analysis.archive.contents import Contents
from analysis.archive.crate import About, refuse_without_library, write_crate
from analysis.archive.inputs import INPUTS, StudyInputs, TableInputs, read_inputs
from analysis.archive.opening import extract_crate

__all__ = [
    "INPUTS",
    "About",
    "Comparison",
    "Contents",
    "StudyInputs",
    "TableInputs",
    "compare_reports",
    "extract_crate",
    "read_inputs",
    "refuse_without_library",
    "write_crate",
]
