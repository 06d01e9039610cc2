#!/usr/bin/env bash
# SurveyJS (survey-core 3.1.1): scores computed in a survey take an open question for 0, even where none was answered.
#
# Guess: an "expression" of ratings from 1 to 5, such as their mean or which of two systems has more, has no value while
# one of them is open, as nobody's rating is 0; and whoever answered nothing has no scores in the results. Seen: in
# ({a} + {b} + {c}) / 3, in a product and in a difference an open question is 0, so that one 4 of three has a mean of 1.33;
# iif({a} > {b}, ...) names the second system where only the first was rated. avg() leaves open ones out, but is 0 of none,
# as is avgInArray(), while min() is empty. A form sent without a single answer holds a mean of 0, below the scale, and a
# preference. Compute scores from the stored ratings, or write iif({a} notempty and {b} notempty, ..., '') around each.
set -euo pipefail
command -v npm >/dev/null || { echo "needs npm"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --prefix "$place" survey-core@3.1.1 >/dev/null
cd "$place"
node - <<'JAVASCRIPT'
const assert = require("assert");
const { Model } = require("survey-core");
console.log("survey-core", JSON.parse(require("fs").readFileSync("node_modules/survey-core/package.json")).version);
const scores = {
  mean: "({a} + {b} + {c}) / 3",
  product: "{a} * {b}",
  difference: "{a} - {b}",
  average: "avg({a}, {b}, {c})",
  least: "min({a}, {b}, {c})",
  better: "iif({a} > {b}, 'first', 'second')",
  guarded: "iif({a} notempty and {b} notempty, {a} - {b}, '')",
};
function sent(answers) {
  const ratings = ["a", "b", "c"].map((name) => ({ type: "rating", name, rateMin: 1, rateMax: 5 }));
  const expressions = Object.entries(scores).map(([name, expression]) => ({ type: "expression", name, expression }));
  const survey = new Model({ elements: [...ratings, ...expressions] });
  for (const [name, rating] of Object.entries(answers)) survey.setValue(name, rating);
  let stored = null;
  survey.onComplete.add((sender) => (stored = { ...sender.data }));
  assert(survey.doComplete(), "the form is not taken");
  for (const name of Object.keys(answers)) delete stored[name];
  console.log(answers, "->", stored);
  return stored;
}
const all = { mean: 4, product: 16, difference: 0, average: 4, least: 4, better: "second", guarded: 0 };
assert.deepStrictEqual(sent({ a: 4, b: 4, c: 4 }), all);
const one = { mean: 4 / 3, product: 0, difference: 4, average: 4, least: 4, better: "second" };
assert.deepStrictEqual(sent({ a: 4 }), one, "one answer of three has other scores now");
const none = { mean: 0, product: 0, difference: 0, average: 0, better: "second" };
assert.deepStrictEqual(sent({}), none, "a form without answers has other scores now");
JAVASCRIPT
