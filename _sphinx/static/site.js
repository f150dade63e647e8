// The book's own few lines on every page.
"use strict";

// A box that scrolls is reached with the keyboard and has a name; one that does not is neither.
function nameScrollers() {
  const boxes = ".scrolls, .pst-scrollable-table-container, div.highlight > pre";
  for (const box of document.querySelectorAll(boxes)) {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    if (!scrolls) {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      continue;
    }
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${box.dataset.name ?? (box.matches("pre") ? "Code" : "Table")}, scrolls sideways`);
  }
}

// From a file no page may be fetched, so search shows titles without excerpts.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// A link into a folded solution opens it.
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
}

addEventListener("hashchange", openTarget);
addEventListener("DOMContentLoaded", () => {
  openTarget();
  nameScrollers();
  new ResizeObserver(nameScrollers).observe(document.body);
  document.fonts.ready.then(nameScrollers);
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", nameScrollers);
});
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});
