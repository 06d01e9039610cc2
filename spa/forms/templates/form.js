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

// A slider beside each number box. It has no name, so only the box is sent, and it stands
// nowhere until it is touched: an untouched slider is no answer.
function addSlider(question) {
  const box = question.querySelector(".whole-number");
  const [low, high] = [Number(box.dataset.low), Number(box.dataset.high)];
  const slider = document.createElement("input");
  slider.type = "range";
  Object.assign(slider, { min: low, max: high, step: 1 });
  slider.setAttribute("aria-labelledby", `${box.id}-asked`);
  slider.setAttribute("aria-describedby", `${box.id}-ends`);
  slider.setAttribute("data-chrome", "");
  slider.className = "slider";
  slider.autocomplete = "off";

  const show = () => {
    const number = numberIn(box);
    const answered = number !== null;
    slider.classList.toggle("untouched", !answered);
    slider.value = String(answered ? number : (low + high) / 2);
    const share = (Number(slider.value) - low) / (high - low);
    slider.style.setProperty("--share", answered ? `${share * 100}%` : "0%");
    if (answered) slider.removeAttribute("aria-valuetext");
    else slider.setAttribute("aria-valuetext", question.dataset.untouched);
  };
  const take = () => {
    box.value = slider.value;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };
  slider.addEventListener("input", take);
  let before = "";
  slider.addEventListener("pointerdown", () => (before = box.value));
  slider.addEventListener("pointercancel", () => { // the finger scrolls the page: the browser keeps what it touched
    box.value = before;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });
  slider.addEventListener("click", take); // a click on the very middle moves nothing, and is an answer all the same
  slider.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      event.preventDefault();
      take();
    }
  });
  box.addEventListener("input", show);
  window.addEventListener("pageshow", show);
  question.querySelector(".controls").prepend(slider);
  question.classList.add("with-slider");
  show();
}

// A list that can be sorted, above numbers that are then hidden: they are what is sent, and stay empty until the list
// is touched. Whether an entry shares the place of the one above it is a box on the entry.
function addSorting(question) {
  const texts = JSON.parse(question.dataset.texts);
  const list = question.querySelector(".ranks");
  const entries = () => [...list.querySelectorAll(".rank")];
  const make = (name, properties) => Object.assign(document.createElement(name), properties);
  const status = make("p", { className: "unseen" });
  status.setAttribute("role", "status");
  const confirm = make("button", { type: "button", className: "confirm-order", textContent: texts.confirm });
  const box = (entry) => entry.querySelector(".whole-number");
  const tie = (entry) => entry.querySelector(".tie input");
  const name = (entry) => entry.querySelector("label").textContent;
  let answered = false;

  const show = () => {
    entries().forEach((entry, place, all) => {
      tie(entry).parentElement.hidden = place === 0;
      entry.classList.toggle("tied", place > 0 && tie(entry).checked);
      entry.querySelector(".place").textContent = answered ? texts.place.replace("{number}", box(entry).value) : texts.unranked;
      entry.querySelector(".up").setAttribute("aria-disabled", place === 0);
      entry.querySelector(".down").setAttribute("aria-disabled", place === all.length - 1);
    });
    const held = question.matches(".unranked:has(.dragged)"); // nothing grows under a finger
    question.classList.toggle("unranked", !answered || held);
    confirm.hidden = answered;
  };
  const take = (moved) => {
    let rank = 1;
    entries().forEach((entry, place) => {
      if (place > 0 && !tie(entry).checked) rank = place + 1;
      box(entry).value = rank;
    });
    answered = true;
    show();
    if (moved) status.textContent = texts.moved.replace("{name}", name(moved)).replace("{number}", box(moved).value);
    list.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const move = (entry, step) => {
    const other = step < 0 ? entry.previousElementSibling : entry.nextElementSibling;
    if (!other) return;
    if (step < 0) entry.after(other); // the other one moves, so that this one keeps focus and pointer
    else entry.before(other);
    tie(entry).checked = false;
    tie(other).checked = false;
    take(entry);
  };
  const drag = (entry, handle) => {
    handle.addEventListener("touchstart", (event) => event.preventDefault()); // Chromium loses the tap after a fling
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      entry.classList.add("dragged");
    });
    handle.addEventListener("pointermove", ({ clientY, pointerId }) => {
      if (!handle.hasPointerCapture(pointerId)) return;
      const middle = (other) => other.getBoundingClientRect().top + other.offsetHeight / 2;
      // a quick finger passes several entries between two events
      while (entry.previousElementSibling && clientY < middle(entry.previousElementSibling)) move(entry, -1);
      while (entry.nextElementSibling && clientY > middle(entry.nextElementSibling)) move(entry, 1);
    });
    handle.addEventListener("lostpointercapture", () => {
      entry.classList.remove("dragged");
      show();
    });
  };
  // What the numbers say already: answers of before, or restored ones.
  const read = () => {
    const rank = (entry) => numberIn(box(entry));
    answered = entries().every((entry) => numberIn(box(entry)) !== null);
    if (answered) {
      list.append(...entries().sort((one, other) => rank(one) - rank(other)));
      entries().forEach((entry, place, all) => { tie(entry).checked = place > 0 && rank(entry) === rank(all[place - 1]); });
    }
    show();
  };

  for (const entry of entries()) {
    const handle = make("span", { className: "handle", textContent: "\u2807" });
    handle.setAttribute("aria-hidden", "true");
    const label = make("label", { className: "tie" });
    label.append(make("input", { type: "checkbox", autocomplete: "off" }), texts.tie);
    label.firstChild.addEventListener("change", (event) => {
      event.stopPropagation();
      take(entry);
    });
    const buttons = ["up", "down"].map((way) => {
      const button = make("button", { type: "button", className: way, textContent: way === "up" ? "\u2191" : "\u2193" });
      button.setAttribute("aria-label", texts[way].replace("{name}", name(entry)));
      button.addEventListener("click", () => move(entry, way === "up" ? -1 : 1));
      return button;
    });
    entry.prepend(handle);
    entry.append(make("span", { className: "place" }), ...buttons, label);
    box(entry).hidden = true;
    drag(entry, handle);
  }
  confirm.addEventListener("click", () => {
    take();
    list.focus();
  });
  list.before(make("p", { className: "order-help", textContent: texts.help }));
  list.after(confirm, status);
  question.classList.add("sortable");
  window.addEventListener("pageshow", read);
  read();
}

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

// Captions of columns stay below the heading that stays, whose height only the browser knows.
function keepCaptionsInSight() {
  const measure = () => {
    for (const item of document.querySelectorAll(".item")) {
      const heading = item.querySelector(":scope > .heading");
      item.style.setProperty("--heading-height", `${heading ? heading.offsetHeight : 0}px`);
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
    isUnseen({ dataset }) {
      const exposure = exposures.get(dataset.exhibit);
      return !exposure || rounded(exposure[1]) < Number(dataset.seconds);
    },
    evidence() {
      tick();
      const measured = [...exposures].map(([exhibit, values]) => [exhibit, values.map(rounded)]);
      return JSON.stringify({ seconds: rounded(seconds), outputs: Object.fromEntries(measured) });
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
  const unseen = () => required.filter(exposure.isUnseen);
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
  narrow.addEventListener("change", foldRepeated);
  keepCaptionsInSight();
}
