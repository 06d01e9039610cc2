#!/usr/bin/env bash
# SurveyJS (survey-core 3.1.1): a rating from 0 to 100 in steps of 5 has no 100; the scale ends at 95, and no error says so.
#
# Guess: rateMin, rateMax and rateStep give every step from the one to the other, or the survey says that they are too
# many. Seen: the first twenty are shown. From 0 to 100 by 5 the last is 95, by 4 it is 76, from -50 to 50 by 5 it is 45;
# jsonErrors stays empty, rateMax still says 100, and a stored 100 is valid. The page of the question does not name the
# bound, a setting of all surveys does (settings.ratingMaximumRateValueCount). Nobody can give the best systems full
# points, so that means of good ones are drawn together. rateValues lists every step, whatever their number.
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
function scaleOf(more) {
  const survey = new Model({ elements: [{ type: "rating", name: "score", ...more }] });
  const question = survey.getQuestionByName("score");
  const shown = question.visibleRateValues.map((one) => one.value);
  question.value = more.rateMax;
  return { last: shown.at(-1), steps: shown.length, errors: survey.jsonErrors ?? [], valid: question.validate(false) };
}
const asked = [[0, 100, 10, 100], [0, 100, 5, 95], [0, 100, 4, 76], [-50, 50, 5, 45], [0, 20, 1, 19]];
for (const [rateMin, rateMax, rateStep, last] of asked) {
  const found = scaleOf({ rateMin, rateMax, rateStep });
  console.log({ rateMin, rateMax, rateStep }, found);
  assert.strictEqual(found.last, last, "the scale ends elsewhere now");
  assert.deepStrictEqual([found.errors, found.valid], [[], true], "it is told now");
}
const rateValues = Array.from({ length: 21 }, (_, step) => 5 * step);
const listed = scaleOf({ rateValues, rateMax: 100 });
console.log("listed:", listed);
assert.strictEqual(listed.last, 100);
JAVASCRIPT
