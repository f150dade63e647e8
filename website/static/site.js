// The book's own few lines on every page.
"use strict";

// A box that scrolls is reached with the keyboard and has a name; one that does not is neither.
function nameScrollers() {
  const boxes = ".scrolls, .pst-scrollable-table-container, div.highlight > pre";
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(boxes))) {
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
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement?.closest("details")) {
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

// A term of the glossary says what it means when it is pointed at or reached with the keyboard.
/** @type {{ link: HTMLElement; box: HTMLElement } | undefined} */
let tip;
let closing = 0;

function hideMeaning() {
  clearTimeout(closing);
  tip?.link.removeAttribute("aria-describedby");
  tip?.box.remove();
  tip = undefined;
}

/** @type {(link: HTMLElement) => void} */
function showMeaning(link) {
  if (tip?.link === link) {
    clearTimeout(closing);
    return;
  }
  hideMeaning();
  const box = document.createElement("div");
  box.className = "meaning";
  box.id = "meaning";
  box.setAttribute("role", "tooltip");
  box.textContent = link.dataset.meaning ?? "";
  document.body.append(box);
  const line = link.getClientRects()[0];
  const left = Math.min(Math.max(8, line.left), document.documentElement.clientWidth - box.offsetWidth - 8);
  const above = line.top - box.offsetHeight - 6;
  box.style.left = `${left + scrollX}px`;
  box.style.top = `${(above > 60 ? above : line.bottom + 6) + scrollY}px`;
  box.addEventListener("pointerenter", () => clearTimeout(closing));
  box.addEventListener("pointerleave", hideSoon);
  link.setAttribute("aria-describedby", box.id);
  tip = { link, box };
}

function hideSoon() {
  clearTimeout(closing);
  closing = setTimeout(hideMeaning, 200);
}

addEventListener("DOMContentLoaded", () => {
  const terms = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("a.term[data-meaning]"));
  for (const link of terms) {
    link.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && showMeaning(link));
    link.addEventListener("pointerleave", hideSoon);
    link.addEventListener("focus", () => link.matches(":focus-visible") && showMeaning(link));
    link.addEventListener("blur", hideMeaning);
  }
});
addEventListener("keydown", (event) => event.key === "Escape" && hideMeaning());
