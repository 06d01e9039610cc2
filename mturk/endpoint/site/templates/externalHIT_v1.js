// Helpers under the names that pages of HITs have long called. They read the page's address and fill its form.
"use strict";

function turkGetParam(name, otherwise) {
  const given = new URLSearchParams(window.location.search).get(name);
  return given === null ? otherwise : given;
}

function turkGetSubmitToHost() {
  return turkGetParam("turkSubmitTo", "").replace(/\/+$/, "");
}

function turkSetAssignmentID(id) {
  const assignment = id || turkGetParam("assignmentId", "");
  const field = document.getElementById("assignmentId");
  if (field !== null) field.value = assignment;
  const form = document.getElementById("mturk_form");
  if (form !== null) form.action = turkGetSubmitToHost() + "/mturk/externalSubmit";
  const button = document.getElementById("submitButton");
  if (button !== null && assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") button.disabled = true;
}
