#!/usr/bin/env bash
# imageio-ffmpeg 0.8.1: of a film with uneven times some pictures are read many times and others never.
#
# Guess: read_frames gives each picture of a film once, in order, as many as count_frames_and_secs says, which its own
# documentation names for the number of frames. Seen: so it is where all pictures are shown equally long. With a pause
# in the middle, as phones and screen recorders write them, the frames are those of an even grid of times: of ten
# pictures come 50 frames, 41 of them one picture; with B-frames, which x264 uses unless told not to, 87 (Debian's
# ffmpeg 5.1.9: 50), and three pictures are in none; of a quick film with a pause 12, and two pictures in none. The
# count says 10 each time, and "fps" and "duration" fit the count. Metrics by frame, and judges who are shown every n-th
# one, so see another film than people do. output_params=["-fps_mode", "passthrough"] gives the ten.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet imageio-ffmpeg==0.8.1
cd "$place"
"$place/env/bin/python" - <<'PYTHON'
import subprocess
from importlib.metadata import version

from imageio_ffmpeg import count_frames_and_secs, get_ffmpeg_exe, read_frames

print("imageio-ffmpeg", version("imageio-ffmpeg"))
PAUSE = "N/25+1.6*gt(N,4)"
# Times of ten pictures (N = 0 to 9) in seconds, N > 4 behind a pause, and the most B-frames in a row.
FILMS = {"even": ("N/25", 3), "pause": (PAUSE, 0), "pause, B-frames": (PAUSE, 3), "quick": ("N/100+0.3*gt(N,4)", 0)}
PASSTHROUGH = ["-fps_mode", "passthrough"]


def film(name: str, seconds: str, between: int) -> None:
    picture = ["-f", "lavfi", "-i", "testsrc=size=64x64:rate=25:duration=0.4"]
    timed = ["-vf", f"setpts='({seconds})/TB',format=yuv420p", "-fps_mode", "vfr", "-enc_time_base", "1:1000"]
    encoded = ["-c:v", "libx264", "-bf", str(between), "-crf", "5", "-video_track_timescale", "1000", name]
    subprocess.run([get_ffmpeg_exe(), "-v", "error", *picture, *timed, *encoded], check=True)


def pictures(name: str, output_params: list[str] | None = None) -> tuple[dict, list[bytes]]:
    frames = read_frames(name, output_params=output_params)
    return next(frames), list(frames)


found = {}
for title, (seconds, between) in FILMS.items():
    name = f"{title}.mp4"
    film(name, seconds, between)
    told, frames = pictures(name)
    _, kept = pictures(name, PASSTHROUGH)
    shown = [frames.count(picture) for picture in kept]
    found[title] = (len(frames), sum(times > 0 for times in shown))
    count = count_frames_and_secs(name)[0]
    print(f"{title}: counted {count}, fps {told['fps']}, {told['duration']} s; read {len(frames)} frames")
    print("    times that each picture was read:", shown)
    assert count == len(kept) == len(set(kept)) == 10 and set(frames) <= set(kept)
assert found["even"] == (10, 10) and found["pause"] == (50, 10), "films are read otherwise now"
for title in ("pause, B-frames", "quick"):
    frames, seen = found[title]
    assert frames > 10 > seen, "each picture is read now"
PYTHON
