"""Places that look random on a form but follow from the study's seed and the assignment."""

from __future__ import annotations

from hashlib import sha256

from spa.forms.assignment_view import AssignmentView


def place_by_seed(view: AssignmentView, name: str, places: int) -> int:
    """Return one of ``places`` numbers from 0: always the same one for this seed, assignment and name.

    A form is built anew whenever a page is asked for, so the place cannot be drawn from a generator.
    """
    told = f"{view.study.seed}/{view.assignment.assignment_id}/{name}"
    return int.from_bytes(sha256(told.encode()).digest()[:8], "big") % places
