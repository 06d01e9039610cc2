"""The methods section of a paper, written from what was done."""

from __future__ import annotations

from analysis.methods.section import methods
from analysis.methods.sentences import Methods, MethodsParagraph, Sentence

__all__ = ["Methods", "MethodsParagraph", "Sentence", "methods"]
