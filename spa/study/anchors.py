"""What low-passing took from the anchors of a listening test: where it is next to nothing, nobody can hear them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spa.errors import StudyError
from spa.records.outputs import Output, Outputs
from spa.records.study import Study

RATE = 48_000  # Hz, at which sound is measured
NEXT_TO_NOTHING = 0.01  # share of the energy above the cut-off: 0.4% of speech above 7 kHz, where PESQ drops by 0.24


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorLoss:
    """How much of the energy of an item's hidden reference lies where an anchor's highs were cut off."""

    item_id: str
    anchor: str
    low_pass: float  # Hz
    share: float  # of the reference's energy, 0 to 1

    @property
    def is_next_to_nothing(self) -> bool:
        """Whether the anchor can hardly be told from the reference."""
        return self.share < NEXT_TO_NOTHING


def anchor_losses(study: Study, outputs: Outputs) -> Iterator[AnchorLoss]:
    """Yield what each anchor with a ``low_pass`` lost in each item; nothing without sound or what reads it.

    Measured in the first sample of the first hidden reference, by the spectrum of all of it.
    """
    references = [one.id for one in study.systems if one.role == "hidden_reference"]
    anchors = [(one.id, one.low_pass) for one in study.systems if one.role == "anchor" and one.low_pass is not None]
    if not references or not anchors:
        return
    for item in outputs.items:
        heard: list[Output] = [one for one in outputs.of(item.item_id, references[0])[:1] if one.loudness is not None]
        for one in heard:
            assert one.shown_file is not None
            try:
                shares = energy_above(one.shown_file, [cutoff for _, cutoff in anchors])
            except StudyError:  # the extra is missing: nothing is measured
                return
            for (anchor, cutoff), share in zip(anchors, shares, strict=True):
                yield AnchorLoss(item_id=item.item_id, anchor=anchor, low_pass=cutoff, share=share)


def energy_above(clip: Path, cutoffs: list[float]) -> list[float]:
    """Return which share of a clip's energy lies above each frequency, in Hz."""
    import numpy as np

    from spa.clips.reading import samples_of

    samples = samples_of(clip.read_bytes(), RATE).astype(np.float64)
    power = np.abs(np.fft.rfft(samples)) ** 2
    frequency = np.fft.rfftfreq(len(samples), 1 / RATE)
    return [float(power[frequency > cutoff].sum() / power.sum()) for cutoff in cutoffs]


def loss_lines(losses: list[AnchorLoss]) -> Iterator[str]:
    """Yield a line an anchor: what was taken from it, and in which items that is next to nothing."""
    for anchor in dict.fromkeys(one.anchor for one in losses):
        own = [one for one in losses if one.anchor == anchor]
        least, most = min(one.share for one in own), max(one.share for one in own)
        span = f"{least:.1%}" if f"{least:.1%}" == f"{most:.1%}" else f"{least:.1%} to {most:.1%}"
        line = f"{anchor}: cut off at {own[0].low_pass:g} Hz, above which lies {span} of the reference's energy"
        hardly = [one.item_id for one in own if one.is_next_to_nothing]
        if hardly:
            listed = ", ".join(hardly[:3]) + (", ..." if len(hardly) > 3 else "")
            line += f"; under {NEXT_TO_NOTHING:.0%} in {len(hardly)} of {len(own)} items ({listed}), which say nothing"
            line += " of listeners by BS.1534's rule on the mid anchor"
        yield line
