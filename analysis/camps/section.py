"""What the report says of whose preference it is."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.camps.subgroups import PeopleColumn, SubgroupMean, SubgroupTest
from analysis.camps.subgroups_section import subgroup_blocks
from analysis.contribution import Shown
from analysis.printing.document import Section


def camps(
    columns: Sequence[PeopleColumn], means: Sequence[SubgroupMean], tests: Sequence[SubgroupTest], shown: Shown
) -> Section | None:
    """Report subgroups, and how much people differ."""
    blocks = list(subgroup_blocks(columns, means, tests, shown))
    return Section(id="camps", title="Best for whom?", blocks=tuple(blocks)) if blocks else None
