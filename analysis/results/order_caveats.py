"""Caveats of orders: where comparisons contradict the order, go round in a circle, or leave parts uncompared."""

from __future__ import annotations

from analysis.printing.circle_words import RATED_AS, way_round
from analysis.printing.lookup import rank_of
from analysis.printing.words import listed, plural, sentence
from analysis.results.caveat_evidence import Known, Lines
from analysis.results.claim_words import Wording
from analysis.results.claims import better, path
from analysis.results.live import live_row

MOST_NAMED = 3  # systems of a part


def circle(known: Known) -> Lines:
    """Say where no order fits: clear comparisons contradict it, or more goes round than noise leaves."""
    yield from _against_order(known)
    yield from _no_order(known)


def _against_order(known: Known) -> Lines:
    """Say where clear comparisons contradict the order that all of them together give."""
    if known.source is None or known.group is None:
        return
    wording = Wording(known.results, known.names, known.source, known.group)
    for claim, evidence in known.supported:
        order = [
            row.order
            for row in known.results.rankings
            if (row.source, row.group, row.criterion) == (known.source, known.group, claim.criterion) and row.order
        ]
        ranks = rank_of(order[0]) if order else {}
        beats: dict[str, list[str]] = {}
        against: list[tuple[str, str]] = []
        for row in evidence.latest:
            winner = better(row, live_row(known.results, row.source, row.test), evidence.fwer)
            if winner is None:
                continue
            loser = row.y if row.x == winner else row.x
            beats.setdefault(winner, []).append(loser)
            if ranks.get(winner, 0) > ranks.get(loser, len(ranks)):
                against.append((winner, loser))
        about = "" if len(known.supported) == 1 else f"{sentence(known.names.criterion(claim.criterion))}: "
        if claim.circle and len(known.supported) == 1:
            yield (
                f"{len(claim.circle)} clear comparisons go round in a circle: places and strengths mean little.",
                known.section,
            )
            continue
        for winner, loser in against:
            if way := path(beats, loser, winner):
                yield f"{about}{sentence(wording.round(way))}: no order fits.", known.section
                break
        else:
            if against:
                better_than = [
                    f"{known.names.system(x)} is clearly better than {known.names.system(y)}" for x, y in against[:2]
                ]
                more = f" and {len(against) - 2} more" if len(against) > 2 else ""
                text = plural(len(against), "clear comparison contradicts", "clear comparisons contradict")
                yield f"{about}{text} the order: {listed(better_than)}{more}.", known.section


def _no_order(known: Known) -> Lines:
    """Say where no order explains the pairs, though not each step of their circle is clear by itself."""
    clear = {claim.criterion for claim, _ in known.supported if claim.circle}
    for row in known.results.circles:
        judged = (known.source, known.group) == (RATED_AS.get(row.source, row.source), row.group)
        if not judged or row.criterion in clear or not row.circle or row.verdict not in ("circle", "no scale"):
            continue
        if any(claim.criterion == row.criterion for claim, _ in known.supported):
            about = "" if len(known.supported) == 1 else f"{sentence(known.names.criterion(row.criterion))}: "
            text = f"no order explains the pairs: {way_round(row, known.names)}"
            yield f"{about or text[0].upper()}{text if about else text[1:]}.", "circles"


def disconnected(known: Known) -> Lines:
    """Say where systems fall into parts that were never compared."""
    for claim, evidence in known.supported:
        parts = evidence.parts
        if len(parts) == 1:
            continue
        first = [known.names.system(system) for system in parts[0][: MOST_NAMED + 1]]
        shown = listed(first) if len(first) <= MOST_NAMED else listed([*first[: MOST_NAMED - 1], "others"])
        about = "" if len(known.supported) == 1 else f"{sentence(known.names.criterion(claim.criterion))}: the "
        start = f"{about}systems" if about else "The systems"
        yield (
            f"{start} fall into {len(parts)} parts that were never compared with each other, so that no order holds "
            f"across them; {shown} are one.",
            "strengths",
        )
