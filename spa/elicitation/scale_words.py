"""Words at the ends of a scale: praise belongs to the high end, blame to the low one."""

from __future__ import annotations

from collections.abc import Iterator

from spa.records.study import Section, Study

STRONGER = frozenset(("very", "extremely", "really", "quite", "rather", "strongly", "the", "most", "completely"))
GOOD = frozenset(
    "excellent good great best better perfect outstanding superb high agree like love "
    "非常好 很好 好 优秀 最好 ممتاز جيد رائع".split()
)
BAD = frozenset(
    "terrible bad poor worst worse awful horrible unacceptable low disagree dislike hate "
    "非常差 很差 差 最差 很糟 سيئ رديء ضعيف".split()
)


def reversed_ends(study: Study, section: Section, low: str | None, high: str | None) -> Iterator[str]:
    """Warn of a section's scale that seems reversed, unless all it rates is lower-is-better."""
    lower = {criterion.id: criterion.lower_is_better for criterion in study.criteria}
    if not all(lower.get(one, False) for one in section.asks(study)):
        yield from reversed_scale(f"[{section.key}]", low or "", high or "")


def reversed_scale(place: str, low: str, high: str) -> Iterator[str]:
    """Warn of a scale whose low end is praise, or whose high end is blame."""
    if _meaning(low) > _meaning(high):
        end = f'low end "{low}"' if _meaning(low) > 0 else f'high end "{high}"'
        yield f"{place}: {end} seems to be reversed; swap the ends, or set lower_is_better on the criterion"


def _meaning(words: str) -> int:
    """Return 1 for praise, -1 for blame, 0 where neither is plain from the first word that is no mere emphasis."""
    first = next((word for word in words.casefold().split() if word not in STRONGER), "").strip(".,;:!")
    return (first in GOOD) - (first in BAD)
