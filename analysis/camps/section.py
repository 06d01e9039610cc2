"""What the report says of whose preference it is."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.camps.differ_section import differ_blocks
from analysis.camps.people_differ import CampsRow, OwnPreference, PeopleDiffer
from analysis.camps.subgroups import PeopleColumn, SubgroupMean, SubgroupTest
from analysis.camps.subgroups_section import subgroup_blocks
from analysis.contribution import Shown
from analysis.printing.document import Section


def camps(
    columns: Sequence[PeopleColumn],
    means: Sequence[SubgroupMean],
    tests: Sequence[SubgroupTest],
    rows: Sequence[PeopleDiffer],
    own: Sequence[OwnPreference],
    two: Sequence[CampsRow],
    shown: Shown,
) -> Section | None:
    """Report subgroups, and how much people differ."""
    blocks = [*subgroup_blocks(columns, means, tests, shown), *differ_blocks(rows, own, two, shown)]
    return Section(id="camps", title="Best for whom?", blocks=tuple(blocks)) if blocks else None
