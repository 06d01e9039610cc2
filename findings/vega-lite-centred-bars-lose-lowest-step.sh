#!/usr/bin/env bash
# Vega-Lite 6.4.3 (so Altair): in a histogram of ratings with bars centred on the steps, the lowest step is not there.
#
# Guess: "bin": {"step": 1, "anchor": 0.5} gives ratings from 1 to 5 five bars, each around its step; the anchor is said
# to shift the boundaries, not to leave anything out. Seen: the first boundary is 1.5. What lies below has no bin (minus
# infinity) and is filtered away, in whichever bar the anchor stands: of 3, 1, 1, 1, 1 answers the chart shows four bars
# of one, without a word. Without the anchor the two highest steps share a bar, 4 to 5, and by "bin": true so do 9 and
# 10 of a scale to 10. "extent": [0.5, 5.5] beside the anchor gives all five; so does an ordinal field without bins.
set -euo pipefail
command -v npm >/dev/null || { echo "needs npm"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --prefix "$place" vega@6.4.0 vega-lite@6.4.3 >/dev/null
cd "$place"
cat > bars.mjs <<'JAVASCRIPT'
import assert from "assert";
import * as vega from "vega";
import * as lite from "vega-lite";

console.log("vega", vega.version, "vega-lite", lite.version);

async function bars(ratings, bin) {
  const values = ratings.map((rating) => ({ rating }));
  const x = { bin, field: "rating", type: "quantitative" };
  const { spec } = lite.compile({ data: { values }, mark: "bar", encoding: { x, y: { aggregate: "count" } } });
  const view = await new vega.View(vega.parse(spec)).runAsync();
  const shown = view.scenegraph().root.items[0].items.find((one) => one.role === "mark").items;
  const found = shown.map((bar) => bar.datum).map((row) => {
    const start = Object.keys(row).find((name) => name.startsWith("bin") && !name.endsWith("_end"));
    return [row[start], row[`${start}_end`], row.__count];
  });
  found.sort((one, other) => one[0] - other[0]);
  console.log(JSON.stringify(bin), found.map(([from, to, count]) => `${from} to ${to}: ${count}`).join(", "));
  return found.map(([, , count]) => count);
}

const ratings = [1, 1, 1, 2, 3, 4, 5];
const all = [3, 1, 1, 1, 1];
for (const anchor of [0.5, 1.5, 5.5]) {
  const counts = await bars(ratings, { step: 1, anchor });
  assert.deepStrictEqual(counts, [1, 1, 1, 1], "the lowest step has a bar now");
}
assert.deepStrictEqual(await bars(ratings, { step: 1 }), [3, 1, 1, 2], "the highest step has a bar of its own now");
const tens = Array.from({ length: 11 }, (_, step) => step);
assert.strictEqual((await bars(tens, true)).at(-1), 2, "9 and 10 have a bar each now");
assert.deepStrictEqual(await bars(ratings, { step: 1, anchor: 0.5, extent: [0.5, 5.5] }), all);
JAVASCRIPT
node bars.mjs
