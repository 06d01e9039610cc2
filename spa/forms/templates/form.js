// Comfort only: every page works without this file.
"use strict";

const form = document.querySelector("form[data-page]");
const narrow = window.matchMedia("(max-width: 999px)");

// The whole number in a box, null where it holds none in range. The box is no number field: that would drop a comma or
// the digits of another script as they are typed, and hand over what is left.
const ZEROS = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xff10]; // of Latin, Arabic, Persian, Devanagari, Bengali, full width
function numberIn(box) {
  const digits = Array.from(box.value.trim(), (sign) => {
    const digit = ZEROS.map((zero) => sign.codePointAt(0) - zero).find((away) => away >= 0 && away < 10);
    return digit === undefined ? sign : digit;
  }).join("");
  const number = /^[0-9]+\s*[%\u066a\uff05]?$/.test(digits) ? parseInt(digits, 10) : null;
  return number !== null && number >= Number(box.dataset.low) && number <= Number(box.dataset.high) ? number : null;
}

import "./number.js";

import "./order.js";

// A frame that has done its work goes away. Nothing moves: a button that slips from under the pointer is not pressed.
function clearGap(event) {
  const question = event.target.closest(".has-gap");
  if (!question) return;
  question.classList.remove("has-gap");
  question.classList.add("mended");
  for (const input of question.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}

// What was read before is folded where there is no room for it beside the questions.
function foldRepeated() {
  for (const item of document.querySelectorAll("details.repeated")) item.open = !narrow.matches;
}

// What was read before opens by its tab, or its name at the questions.
function openRepeated() {
  const open = (stage, column) => {
    for (const item of stage.querySelectorAll("details.repeated")) {
      if (item.querySelector(`.column-${column}`)) item.open = true;
    }
  };
  for (const tab of document.querySelectorAll(".switch input")) {
    tab.addEventListener("change", () => open(tab.closest(".stage"), tab.value));
  }
  for (const link of document.querySelectorAll(".read-again a")) {
    link.addEventListener("click", () => {
      const [stage, { column }] = [link.closest(".stage"), link.dataset];
      stage.querySelector(`.tab-${column} input`)?.click();
      open(stage, column);
    });
  }
}

// Captions of columns stay below the heading that stays, whose height only the browser knows.
function keepCaptionsInSight() {
  const measure = () => {
    for (const item of document.querySelectorAll(".item")) {
      const heading = item.querySelector(":scope > .heading");
      const stays = heading && getComputedStyle(heading).position === "sticky";
      item.style.setProperty("--heading-height", `${stays ? heading.offsetHeight : 0}px`);
    }
    for (const said of document.querySelectorAll(".heading > .said[role]")) {
      if (said.scrollHeight > said.clientHeight + 1) said.tabIndex = 0; // a keyboard scrolls only what has the focus
      else said.removeAttribute("tabindex");
    }
  };
  const observer = new ResizeObserver(measure);
  for (const heading of document.querySelectorAll(".item > .heading")) observer.observe(heading);
  measure();
  document.documentElement.classList.add("captions-stay");
}

// How each output was seen: [first seen, seconds on screen, share of its height]; the clock of the page runs only while
// the page itself is in sight. An earlier measurement goes on.
function measureExposure(articles, { seconds, outputs }, changed) {
  const exposures = new Map(Object.entries(outputs));
  const onScreen = new Set();
  const rounded = (number) => Math.round(number * 100) / 100;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    const passed = Math.min((now - last) / 1000, 1); // a machine that slept read nothing
    last = now;
    if (document.visibilityState !== "visible") return;
    seconds += passed;
    const shares = new Map();
    for (const content of onScreen) {
      if (content.tagName === "IMG" && !(content.complete && content.naturalWidth)) continue;
      const { top, height } = content.getBoundingClientRect();
      const share = height ? Math.min(Math.max((window.innerHeight - top) / height, 0), 1) : 1;
      const { exhibit } = content.closest("[data-exhibit]").dataset;
      shares.set(exhibit, Math.max(share, shares.get(exhibit) ?? 0));
    }
    for (const [exhibit, share] of shares) {
      const [first, before, most] = exposures.get(exhibit) ?? [seconds, 0, 0];
      exposures.set(exhibit, [first, before + passed, Math.max(most, share)]);
    }
    changed();
  };
  const observer = new IntersectionObserver((entries) => {
    tick();
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) onScreen.add(target);
      else onScreen.delete(target);
    }
    tick();
  }, { rootMargin: "-5% 0px" }); // what only peeps in at an edge is not read
  for (const article of articles) observer.observe(article.querySelector(".body, img"));
  setInterval(tick, 250);
  return {
    tick,
    // Nobody reads two texts at once: those on screen together share the time of the page, as the server counts it.
    unseen(required) {
      let left = rounded(seconds);
      const seen = new Map();
      for (const { dataset: { exhibit, seconds: least } } of required) {
        if (seen.has(exhibit)) continue;
        const had = form.clips?.seconds(exhibit) ?? exposures.get(exhibit)?.[1] ?? -1;
        const enough = rounded(had) >= Number(least) && rounded(left - least) >= 0;
        if (enough) left -= least;
        seen.set(exhibit, enough);
      }
      return required.filter(({ dataset }) => !seen.get(dataset.exhibit));
    },
    evidence() {
      tick();
      const measured = [...exposures].map(([exhibit, values]) => [exhibit, values.map(rounded)]);
      const outputs = Object.fromEntries(measured);
      return JSON.stringify({ seconds: rounded(seconds), outputs, ...form.clips?.evidence() });
    },
  };
}

function tabOf(article) {
  const [, column] = article.className.match(/column-(\d+)/);
  return article.closest(".stage").querySelector(`.tab-${column} input`);
}

function markUnread(tabs, unread) {
  for (const tab of tabs) {
    tab.parentElement.classList.toggle("unread", unread.has(tab));
    if (unread.has(tab)) tab.setAttribute("aria-description", form.dataset.unread);
    else tab.removeAttribute("aria-description");
  }
}

// The list of what is left, each line of which leads to its output.
function askToRead(box, unseen) {
  const lines = new Map([...unseen].reverse().map((article) => [article.dataset.exhibit, article]));
  box.querySelector("ul").replaceChildren(...[...lines].reverse().map(([exhibit, article]) => {
    const line = document.createElement("li");
    const button = document.createElement("button");
    const caption = article.querySelector(".caption");
    button.type = "button";
    button.textContent = caption.textContent;
    button.addEventListener("click", () => {
      const tab = tabOf(article);
      if (tab) tab.checked = true;
      article.scrollIntoView({ block: "center" });
      caption.tabIndex = -1; // a screen reader goes on from here
      caption.focus({ preventScroll: true });
    });
    line.dataset.of = exhibit;
    line.append(button);
    return line;
  }));
  box.hidden = false;
  box.scrollIntoView({ block: "center" });
  box.querySelector("button")?.focus({ preventScroll: true });
}

// Evidence of reading goes with the answers, and a page is left forward only when every output that is new on it was
// on screen for its minimum.
function askForReading() {
  const articles = [...document.querySelectorAll("[data-exhibit]")];
  const required = articles.filter((article) => "seconds" in article.dataset);
  const tabs = new Set(required.map(tabOf).filter(Boolean));
  const box = document.querySelector(".unseen-outputs");
  const earlier = form.dataset.reading ? JSON.parse(form.dataset.reading) : { seconds: 0, outputs: {} };
  const exposure = measureExposure(articles, earlier, () => mark());
  const unseen = () => exposure.unseen(required);
  const mark = () => {
    const left = unseen();
    markUnread(tabs, new Set(left.map(tabOf)));
    const names = new Set(left.map(({ dataset }) => dataset.exhibit));
    for (const line of box?.querySelectorAll("li") ?? []) line.classList.toggle("done", !names.has(line.dataset.of));
  };
  form.addEventListener("formdata", ({ formData }) => formData.set("reading", exposure.evidence()));
  form.addEventListener("submit", (event) => {
    exposure.tick();
    if (event.submitter?.hasAttribute("formaction") || !unseen().length) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // the page stays, and its answers are still to be kept
    askToRead(box, unseen());
  });
  mark();
  if (box && !box.hidden) askToRead(box, unseen());
}

if (form) {
  // made for browsers without script, because the page before was sent without
  if ("step" in form.dataset) window.location.replace(`${form.getAttribute("action").split("?")[0]}?script`);
  if ("reading" in form.dataset) askForReading();
  form.querySelectorAll(".question.number").forEach(addSlider);
  form.querySelectorAll(".question.order").forEach(addSorting);
  form.addEventListener("input", clearGap);
  foldRepeated();
  openRepeated();
  narrow.addEventListener("change", foldRepeated);
  keepCaptionsInSight();
}
