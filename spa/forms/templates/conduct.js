// Counts how a page is filled in: the numbers of PageConduct, and nothing else of keys, texts and places.
"use strict";

(() => {
  const form = document.querySelector("form[data-conduct]");
  if (!form) return;
  const NAMES = ["pastes", "letters", "away", "seconds", "moves", "touches", "keys", "answers", "unprompted", "timed",
    "fast", "automated"];
  const earlier = form.dataset.conduct.match(/[\d.]+/g) ?? [];
  const sum = Object.fromEntries(NAMES.map((name, place) => [name, Number(earlier[place]) || 0]));
  const answered = new Set();
  let prompted, press, before; // since the last answer: by anything, by the mouse; its own press
  let left = null; // when the page was left

  const watch = (type, listener) => window.addEventListener(type, listener, true);
  const count = (type, name, counts) => watch(type, (event) => {
    if (!event.isTrusted) return;
    prompted = true;
    if (counts(event)) sum[name] += 1;
  });
  const note = ({ target }) => {
    const question = target.closest(".question");
    if (!question || answered.has(question)) return;
    answered.add(question);
    sum.answers += 1;
    if (!prompted) sum.unprompted += 1;
    if (press && before) {
      const { width, height } = (press.target.closest("label") ?? press.target).getBoundingClientRect();
      const distance = Math.hypot(press.clientX - before.clientX, press.clientY - before.clientY);
      const least = 96 * Math.log2(distance / Math.max(Math.min(width, height), 1) + 1);
      sum.timed += 1;
      if (press.timeStamp - before.timeStamp < least) sum.fast += 1;
    }
    before = press;
    prompted = press = null;
  };
  count("pointermove", "moves", ({ pointerType }) => pointerType === "mouse");
  count("pointerdown", "touches", (event) => {
    press = event.pointerType === "mouse" ? event : null;
    return !press;
  });
  count("keydown", "keys", ({ repeat }) => {
    press = null;
    return !repeat;
  });
  watch("paste", ({ target, clipboardData }) => {
    if (target.tagName !== "TEXTAREA") return;
    sum.pastes += 1;
    sum.letters += clipboardData.getData("text").length;
  });
  watch("input", note);
  watch("change", note);

  const away = () => {
    const gone = performance.now() - (left ?? Infinity);
    return gone < 2000 ? [sum.away, sum.seconds] : [sum.away + 1, sum.seconds + gone / 1000];
  };
  const look = () => { // a frame of another site's page need not have the focus
    if (document.hidden || (self === top && !document.hasFocus())) left ??= performance.now();
    else [[sum.away, sum.seconds], left] = [away(), null];
  };
  for (const type of ["blur", "focus", "pageshow", "visibilitychange"]) watch(type, look);
  look();
  form.addEventListener("formdata", ({ formData }) => {
    const found = { ...sum };
    [found.away, found.seconds] = away();
    if (navigator.webdriver) found.automated = 1;
    formData.set("conduct", JSON.stringify(NAMES.map((name) => Math.round(found[name] * 100) / 100)));
  });
})();
