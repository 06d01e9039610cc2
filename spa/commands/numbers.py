"""Numbers as options of commands."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number within a range that is neither infinite nor NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what a comparison with a bound lets through."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"a finite number is expected, got {value!r}", param, ctx)
        return number
