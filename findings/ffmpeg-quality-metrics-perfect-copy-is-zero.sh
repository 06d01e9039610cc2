#!/usr/bin/env bash
# ffmpeg-quality-metrics 3.13.0: a perfect copy of a film has an average PSNR of 0 dB, and perfect frames count for nothing.
#
# Guess: a film equal to its reference has an infinite PSNR, or none, as ffmpeg's own filter says; and of a film that is
# equal but for one frame the average is above that of a film which is bad throughout. Seen: frames that are equal (inf, in
# the list by frame) are left out of average, median and minimum, and where nothing is left these are 0.0, below whatever
# else was measured. With noise in all of 20 frames the average is 18.08 dB, with noise in one of them 18.12, with none
# 0; the mean squared errors give 18.08, 31.1 and infinity. In a table of systems (still scenes, skipped frames, lossless
# codecs) the best is last. Take the mean of mse_avg over all frames, which the same result holds, and its PSNR.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet ffmpeg-quality-metrics==3.13.0 imageio-ffmpeg==0.8.1
cd "$place"
"$place/env/bin/python" - <<'PYTHON'
import math
import subprocess
from importlib.metadata import version

from ffmpeg_quality_metrics import FfmpegQualityMetrics
from imageio_ffmpeg import get_ffmpeg_exe

print("ffmpeg-quality-metrics", version("ffmpeg-quality-metrics"))
FFMPEG = get_ffmpeg_exe()


def film(name: str, source: list[str], filters: str = "null") -> None:
    lossless = ["-vf", filters, "-pix_fmt", "yuv420p", "-c:v", "ffv1", name]
    subprocess.run([FFMPEG, "-v", "error", *source, *lossless], check=True)


film("reference.mkv", ["-f", "lavfi", "-i", "testsrc=size=176x144:rate=10:duration=2"])
noise = "noise=alls=60:allf=t"
for name, filters in (("equal", "null"), ("one", f"{noise}:enable='eq(n,5)'"), ("all", noise)):
    film(f"{name}.mkv", ["-i", "reference.mkv"], filters)
averages, expected = {}, {}
for name in ("equal", "one", "all"):
    metrics = FfmpegQualityMetrics("reference.mkv", f"{name}.mkv", ffmpeg_path=FFMPEG)
    metrics.calculate(["psnr", "ssim"])
    frames, figures = metrics.data["psnr"], metrics.get_global_stats()
    error = sum(frame["mse_avg"] for frame in frames) / len(frames)
    expected[name] = 10 * math.log10(255**2 / error) if error else math.inf
    averages[name] = figures["psnr"]["psnr_avg"]["average"]
    perfect = sum(math.isinf(frame["psnr_avg"]) for frame in frames)
    similarity = figures["ssim"]["ssim_avg"]["average"]
    print(f"{name}: {len(frames)} frames, {perfect} perfect, PSNR {averages[name]}, from the errors {expected[name]:.2f}")
    print(f"    least PSNR {figures['psnr']['psnr_avg']['min']}, SSIM {similarity}")
    assert (len(frames), perfect) == (20, {"equal": 20, "one": 19, "all": 0}[name])
assert averages["equal"] == 0, "a perfect copy has another average now"
assert abs(averages["one"] - averages["all"]) < 0.1, "perfect frames count now"
assert expected["equal"] == math.inf and expected["one"] > expected["all"] + 10
PYTHON
