"""Containers of clips by their bytes: which one a file is, and whether its end is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

WAV, FLAC, MP3, OGG, MP4, MATROSKA = "wav", "flac", "mp3", "ogg", "mp4", "matroska"
DEMUXERS = {WAV: "wav", FLAC: "flac", MP3: "mp3", OGG: "ogg", MP4: "mp4", MATROSKA: "matroska"}  # of FFmpeg
STREAMED = 0x7FFF_0000  # bytes that a WAV header claims from here on when it was written before its sound
SEGMENT, CLUSTER = 0x18538067, 0x1F43B675  # of Matroska, whose size may be unknown
VBR_TABLES = (b"Xing", b"Info")
BITRATES = (  # of MPEG 1 and 2, layer III; kbit/s
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
RATES = (44_100, 48_000, 32_000)  # Hz, of MPEG 1


def container_of(start: bytes) -> str | None:
    """Return the container of a file by its first 16 bytes; ``None`` where it is none of these.

    >>> container_of(b"RIFF....WAVEfmt "), container_of(b"FORM....AIFF"), container_of(b"....ftypisom")
    ('wav', None, 'mp4')
    """
    if start.startswith(b"RIFF") and start[8:12] == b"WAVE":
        return WAV
    if start[4:8] == b"ftyp":
        return MP4
    if start.startswith(b"ID3") or _mp3_frame(start) is not None:
        return MP3
    known = {b"fLaC": FLAC, b"OggS": OGG, b"\x1aE\xdf\xa3": MATROSKA}
    return known.get(start[:4])


def is_cut_off(content: bytes, container: str) -> bool:
    """Return whether the end of a file is missing, as its container tells; one that does not tell is taken as whole."""
    return container in ENDS and ENDS[container](content)


def _cut_wav(content: bytes) -> bool:
    at = 12
    while at + 8 <= len(content):
        size = int.from_bytes(content[at + 4 : at + 8], "little")
        if content[at : at + 4] == b"data":
            return size < STREAMED and at + 8 + size > len(content)
        at += 8 + size + size % 2
    return True  # no sound in it


def _cut_ogg(content: bytes) -> bool:
    at, ended, open_streams = 0, False, set[bytes]()
    while at + 27 <= len(content) and content.startswith(b"OggS", at):
        segments = content[at + 26]
        serial = content[at + 14 : at + 18]
        ended = bool(content[at + 5] & 4)
        (open_streams.discard if ended else open_streams.add)(serial)
        at += 27 + segments + sum(content[at + 27 : at + 27 + segments])
    return at > len(content) or bool(open_streams) or not ended


def _cut_mp4(content: bytes) -> bool:
    at, found = 0, set[bytes]()
    while at + 8 <= len(content):
        size, kind = int.from_bytes(content[at : at + 4]), content[at + 4 : at + 8]
        if size == 1:
            size = int.from_bytes(content[at + 8 : at + 16])
        elif size == 0:  # to the end of the file
            size = len(content) - at
        found.add(kind)
        at += max(size, 8)
    return at > len(content) or not {b"moov", b"mdat"} <= found


def _cut_matroska(content: bytes) -> bool:
    at = 0
    while at < len(content):
        kind, after = _number(content, at, marked=True)
        size, inside = _number(content, after)
        if kind is None or inside > len(content):
            return True
        if size is not None and inside + size > len(content):
            return True
        descend = kind == SEGMENT or (size is None and kind == CLUSTER)
        if size is None and not descend:
            return True
        at = inside if descend else inside + (size or 0)
    return False


def _number(content: bytes, at: int, *, marked: bool = False) -> tuple[int | None, int]:
    """Return a number of variable length and the place after it; ``None`` of an unknown one."""
    first = content[at] if at < len(content) else 0
    length = 9 - first.bit_length()
    if length > 8:
        return None, len(content) + 1
    value = int.from_bytes(content[at : at + length])
    if marked:
        return value, at + length
    value &= (1 << 7 * length) - 1
    return (None if value == (1 << 7 * length) - 1 else value), at + length


def _cut_mp3(content: bytes) -> bool:
    """Return whether the last frame is not whole, or there are fewer than the table at the beginning says."""
    declared, found, end = None, 0, len(content)
    for at, length in _mp3_frames(content):
        if found == 0 and declared is None:
            declared = _frames_declared(content[at : at + length])
            found -= declared is not None
        found, end = found + 1, at + length
    return end > len(content) or (declared is not None and found + 1 < declared)


def _mp3_frames(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where frames begin and how many bytes they take; what lies between them is passed over."""
    at = 0
    if content.startswith(b"ID3") and len(content) > 10:
        at = 10 + sum((byte & 127) << 7 * (3 - place) for place, byte in enumerate(content[6:10]))
    while 0 <= at < len(content) - 3:
        length = _mp3_frame(content[at : at + 4])
        if length is None:
            at = content.find(b"\xff", at + 1)
            continue
        following = content[at + length : at + length + 4]
        if len(following) == 4 and _mp3_frame(following) is None and following[:3] not in (b"TAG", b"APE", b"LYR"):
            at = content.find(b"\xff", at + 1)  # by chance
            continue
        yield at, length
        at += length


def _mp3_frame(head: bytes) -> int | None:
    """Return how many bytes a frame takes by its first four; ``None`` of what begins no frame of layer III."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2 or head[1] & 0x18 == 0x08:
        return None
    version = head[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    rate, kbits = head[2] >> 2 & 3, head[2] >> 4
    if rate == 3 or kbits in (0, 15):
        return None
    hertz = RATES[rate] // {3: 1, 2: 2, 0: 4}[version]
    return (144_000 if version == 3 else 72_000) * BITRATES[version != 3][kbits] // hertz + (head[2] >> 1 & 1)


def _frames_declared(frame: bytes) -> int | None:
    first, mono = frame[1] >> 3 & 3 == 3, frame[3] >> 6 == 3
    at = 4 + ((17 if mono else 32) if first else (9 if mono else 17))
    if frame[at : at + 4] in VBR_TABLES and frame[at + 7] & 1:
        return int.from_bytes(frame[at + 8 : at + 12])
    return None


ENDS: Mapping[str, Callable[[bytes], bool]] = {
    WAV: _cut_wav,
    OGG: _cut_ogg,
    MP4: _cut_mp4,
    MATROSKA: _cut_matroska,
    MP3: _cut_mp3,
}
