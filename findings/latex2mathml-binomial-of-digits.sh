#!/usr/bin/env bash
# latex2mathml 3.81.1: a binomial of two digits without braces loses its lower number.
#
# Guess: \binom52 is five over two, as LaTeX reads it and as the same library reads \frac52. Seen: the two digits become
# one number, 52, over nothing: a fraction with a single child, which no browser draws as one, and no error. With
# letters (\binom nk) or with braces it is right. Put braces around single digits before converting.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet latex2mathml==3.81.1
"$place/env/bin/python" - <<'PYTHON'
from importlib.metadata import version
from xml.etree.ElementTree import fromstring

from latex2mathml.converter import convert

print("latex2mathml", version("latex2mathml"))
found = {}
for latex in (r"\frac52", r"\binom{5}{2}", r"\binom nk", r"\binom52", r"\tbinom52"):
    (fraction,) = (one for one in fromstring(convert(latex)).iter() if one.tag.endswith("mfrac"))
    found[latex] = ["".join(child.itertext()) for child in fraction]
    print(f"{latex}: {' over '.join(found[latex])}")
assert found[r"\frac52"] == found[r"\binom{5}{2}"] == ["5", "2"]
assert found[r"\binom nk"] == ["n", "k"]
assert found[r"\binom52"] == found[r"\tbinom52"] == ["52"], "binomials of digits are read otherwise now"
PYTHON
