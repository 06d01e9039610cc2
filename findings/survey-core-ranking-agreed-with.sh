#!/usr/bin/env bash
# SurveyJS (survey-core 3.1.1): who agrees with the order that a ranking shows has not answered it.
#
# Guess: a ranking that shows all choices in an order records that order unless somebody moves one, so that its answers
# are complete. Seen: an order that nobody touched is no value. If the question is required, agreeing is refused
# ("Response required") until something was moved and moved back; if it is not, the row of the results has no order,
# and whoever preferred the systems as they stood is missing: means of ranks hold only those who disagreed.
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
for (const isRequired of [true, false]) {
  const choices = ["first", "second", "third"];
  const survey = new Model({ elements: [{ type: "ranking", name: "order", choices, isRequired }] });
  const ranking = survey.getQuestionByName("order");
  const shown = ranking.rankingChoices.map((one) => one.value);
  const finished = survey.tryComplete();
  const told = ranking.errors.map((one) => one.getText());
  console.log({ isRequired, shown, finished, told, data: survey.data });
  assert.deepStrictEqual(shown, choices);
  assert.strictEqual(finished, !isRequired, "a ranking left as it is counts as an answer now");
  assert.deepStrictEqual(survey.data, {}, "a ranking left as it is is recorded now");
}
JAVASCRIPT
