"""Tables and figures that fit the column of a conference's class, and a document that shows which is which."""

from __future__ import annotations

from analysis.report.paper.classes import PAPERS, PaperClass
from analysis.report.paper.files import paper_files

__all__ = ["PAPERS", "PaperClass", "paper_files"]
