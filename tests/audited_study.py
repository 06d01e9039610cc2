"""An audit in waves on a platform: the tables that a study has for it, and in which order everybody prefers systems."""

from __future__ import annotations

WAVE = 3
LIKED = ("alpha", "beta", "gamma")


def audit(least: int) -> str:
    """Return the tables of study.toml by which people answer forms of a rater's, at least so many."""
    return f"""
[[raters]]
id = "judge"
model = "judge"

[audit]
rater = "judge"
rule = "when_decided"
effect = 0.3
least = {least}
wave = {WAVE}
forms = 40
"""
