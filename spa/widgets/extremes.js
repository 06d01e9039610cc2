// Nothing is both the best and the worst: what is tapped last holds, and the other button of the same output is let go.
for (const entry of document.querySelectorAll(".of-output")) {
  entry.addEventListener("change", (event) => {
    for (const other of entry.querySelectorAll(":checked")) other.checked = other === event.target;
  });
}
