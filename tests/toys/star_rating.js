for (const one of document.querySelectorAll(".stars")) one.classList.add("bright");
