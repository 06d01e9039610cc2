// Hands a form in: the frame's address says for which assignment, and where to.
"use strict";

(() => {
  const form = document.querySelector("form[data-origins]");
  const button = form.querySelector("button[type=submit]");
  const given = new URLSearchParams(window.location.search);
  const assignment = given.get("assignmentId") ?? "";

  // Nothing is preselected and nothing may be left out, except a text that may stay empty.
  for (const input of form.querySelectorAll("input:not([type=hidden]):not([form]), textarea[data-required]")) {
    input.required = true;
  }

  // The address to post to is whatever stands in the frame's address: only places known to the page are believed.
  const target = () => {
    let site;
    try {
      site = new URL(given.get("turkSubmitTo") ?? "");
    } catch {
      return null;
    }
    if (!form.dataset.origins.split(" ").includes(site.origin)) return null;
    const path = site.pathname.replace(/\/+$/, "");
    return site.origin + (path.endsWith("/mturk/externalSubmit") ? path : `${path}/mturk/externalSubmit`);
  };

  if (assignment === "" || assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    document.getElementById("only-preview").hidden = false;
    for (const input of form.querySelectorAll("input:not([form]), textarea")) input.disabled = true;
    return;
  }
  const action = target();
  if (action === null) {
    document.getElementById("elsewhere").hidden = false;
    return;
  }
  form.action = action;
  form.elements.namedItem("assignmentId").value = assignment;
  button.disabled = false;
  form.addEventListener("submit", () => { button.disabled = true; });
  window.addEventListener("pageshow", () => { button.disabled = false; });
})();
