// Comfort only: every page works without this file.
"use strict";

const form = document.querySelector("form[data-page]");
const narrow = window.matchMedia("(max-width: 999px)");

// A slider beside each number box. It has no name, so only the box is sent, and it stands
// nowhere until it is touched: an untouched slider is no answer.
function addSlider(question) {
  const box = question.querySelector("input[type=number]");
  const slider = document.createElement("input");
  slider.type = "range";
  for (const name of ["min", "max", "step"]) slider[name] = box[name];
  slider.setAttribute("aria-labelledby", `${box.id}-asked`);
  slider.setAttribute("aria-describedby", `${box.id}-ends`);
  slider.setAttribute("data-chrome", "");
  slider.className = "slider";
  slider.autocomplete = "off";

  const show = () => {
    const answered = box.value !== "" && box.validity.valid;
    slider.classList.toggle("untouched", !answered);
    slider.value = answered ? box.value : String((Number(box.min) + Number(box.max)) / 2);
    const share = (Number(slider.value) - Number(box.min)) / (Number(box.max) - Number(box.min));
    slider.style.setProperty("--share", answered ? `${share * 100}%` : "0%");
    if (answered) slider.removeAttribute("aria-valuetext");
    else slider.setAttribute("aria-valuetext", question.dataset.untouched);
  };
  const take = () => {
    box.value = slider.value;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };
  slider.addEventListener("input", take);
  slider.addEventListener("click", take); // a click on the very middle moves nothing, and is an answer all the same
  slider.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      event.preventDefault();
      take();
    }
  });
  box.addEventListener("input", show);
  box.addEventListener("wheel", () => box.blur(), { passive: true }); // scrolling must not change a number
  window.addEventListener("pageshow", show);
  question.querySelector(".controls").prepend(slider);
  question.classList.add("with-slider");
  show();
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

// Answers given on a page that is left without its button (a reload, a closed tab, another app) are kept too.
function keepDrafts() {
  let changed = false;
  const send = () => {
    if (!changed) return;
    changed = false;
    navigator.sendBeacon(`${form.action}?go=stay`, new URLSearchParams(new FormData(form)));
  };
  form.addEventListener("change", () => { changed = true; });
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("submit", () => { changed = false; });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") send(); });
  window.addEventListener("pagehide", send);
}

if (form) {
  form.querySelectorAll(".question.number").forEach(addSlider);
  form.addEventListener("input", clearGap);
  foldRepeated();
  narrow.addEventListener("change", foldRepeated);
  keepCaptionsInSight();
  if (!("preview" in form.dataset)) keepDrafts();
}
