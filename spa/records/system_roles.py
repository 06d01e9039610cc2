"""What a system is in a study, and which of them are rated without being ranked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

UnrankedRole = Literal["hidden_reference", "anchor"]
Role = Literal["system", "human", "reference", "hidden_reference", "anchor"]
UNRANKED: tuple[UnrankedRole, ...] = get_args(UnrankedRole)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrankedSystem:
    """A system that is rated as the others, but is no part of the order.

    Attributes
    ----------
    system : str
        Its name in the answers.
    role : {"hidden_reference", "anchor"}
        What it is.
    low_pass : float or None
        Of an anchor: where its highs were cut off, in Hz; ``None`` where that is not known.
    """

    system: str
    role: UnrankedRole
    low_pass: float | None = None

    def option(self) -> str:
        """Return it as ``spa report --role`` takes it.

        >>> UnrankedSystem(system="low", role="anchor", low_pass=3500).option()
        'low=anchor:3500'
        """
        return f"{self.system}={self.role}{'' if self.low_pass is None else f':{self.low_pass:g}'}"


def role_of(text: str) -> tuple[str, UnrankedSystem | None] | None:
    """Read a system and its role as ``spa report --role`` takes them: ``None`` beside a system as others.

    ``None`` alone where the text is none of them.

    >>> role_of("low=anchor:3500"), role_of("ref=system"), role_of("ref=best")
    (('low', UnrankedSystem(system='low', role='anchor', low_pass=3500.0)), ('ref', None), None)
    """
    system, _, said = text.rpartition("=")
    name, colon, cut = said.partition(":")
    role = next((one for one in UNRANKED if one == name), None)
    try:
        low_pass = float(cut) if colon else None
    except ValueError:
        return None
    if not system or (low_pass is not None and (role != "anchor" or not 0 < low_pass < math.inf)):
        return None
    if role is None:
        return (system, None) if said == "system" else None
    return system, UnrankedSystem(system=system, role=role, low_pass=low_pass)


WEBMUSHRA = (  # as webMUSHRA names them, and ITU-R BS.1534-3 makes them
    UnrankedSystem(system="reference", role="hidden_reference"),
    UnrankedSystem(system="anchor35", role="anchor", low_pass=3500.0),
    UnrankedSystem(system="anchor70", role="anchor", low_pass=7000.0),
)
