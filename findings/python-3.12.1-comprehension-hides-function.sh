#!/usr/bin/env bash
# Python 3.12.1: a comprehension's variable hides a function of the module in the comprehensions after it.
#
# Guess: the variable of a comprehension is its own, as in 3.11 and 3.13. Seen: where one comprehension of a function binds
# a name and a later one calls the module's function of that name, the call ends in "UnboundLocalError: cannot access
# local variable". The other order works, and so does a call outside of comprehensions. 3.13.0 does not have it.
set -euo pipefail
for python in "$(command -v python3.12 || true)" ~/.pyenv/versions/3.12.1/bin/python3.12; do
  "$python" -c "import sys; sys.exit(sys.version_info[:3] != (3, 12, 1))" 2>/dev/null && break
  python=""
done
[ -n "$python" ] || { echo "needs Python 3.12.1"; exit 1; }
"$python" - <<'PYTHON'
def number(value):
    return value


def shown(lines, values):
    places = [number for number in lines]
    return places, [number(value) for value in values]


try:
    print(shown([1], [2]))
except UnboundLocalError as error:
    print(error)
PYTHON
