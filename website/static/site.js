// The book's own few lines on every page.
"use strict";

const BOXES = ".scrolls, .pst-scrollable-table-container, div.highlight > pre";

/** The edge at which a box goes on looks cut.
 * @type {(box: HTMLElement) => void} */
function fadeEdge(box) {
  box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
}

// A box that scrolls is reached with the keyboard and has a name; one that does not is neither.
function nameScrollers() {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(BOXES))) {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    fadeEdge(box);
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
// A line of code that is too long goes on below, behind where it begins.
function hangLines() {
  for (const pre of document.querySelectorAll(
    ":is(.cell_input, .highlight-python, .highlight-console) .highlight > pre",
  )) {
    const lines = pre.innerHTML.replace(/\n$/, "").split("\n"); // no element goes over the end of a line
    const hung = lines.flatMap((line, i) => {
      const one = Object.assign(document.createElement("span"), { className: "line", innerHTML: line });
      const indent = /^ */.exec(one.textContent ?? "")?.[0].length ?? 0;
      one.style.setProperty("--indent", `${indent}ch`);
      return i ? ["\n", one] : [one];
    });
    pre.replaceChildren(...hung, "\n");
  }
}

if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

/** @type {(hash: string) => HTMLElement | null} */
function targetOf(hash) {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    return null; // a hash that is no text, such as #%%%
  }
}

// A link into a folded solution opens it.
function openTarget() {
  const target = targetOf(location.hash);
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement?.closest("details")) {
    fold.open = true;
  }
}

addEventListener("hashchange", openTarget);
addEventListener("DOMContentLoaded", () => {
  hangLines();
  openTarget();
  nameScrollers();
  new ResizeObserver(nameScrollers).observe(document.body);
  document.fonts.ready.then(nameScrollers);
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", nameScrollers);
  document.addEventListener("scroll", ({ target }) => target instanceof HTMLElement && fadeEdge(target), true);
});

// A chapter is printed as it is unfolded; the button prints all of it.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".launch-line button")?.addEventListener("click", () => {
    const folds = [...document.querySelectorAll("details")].filter((fold) => !fold.open);
    for (const fold of folds) fold.open = true;
    addEventListener("afterprint", () => folds.forEach((fold) => void (fold.open = false)), { once: true });
    print();
  });
});

// The contents of a narrow page close when a section is chosen.
document.addEventListener("click", ({ target }) => {
  const link = /** @type {Element} */ (target).closest("dialog a[href^='#']");
  link?.closest("dialog")?.close();
});

// Copying takes the focus away from the button: it comes back.
document.addEventListener("click", ({ target }) => {
  const button = /** @type {Element} */ (target).closest(".copybtn");
  if (button instanceof HTMLElement) setTimeout(() => button.focus({ preventScroll: true }));
});

// A term of the glossary says what it means when it is pointed at, tapped or reached with the keyboard.
/** @type {{ link: HTMLElement; box: HTMLElement } | undefined} */
let tip;
let closing = 0;
let touched = false; // whether the last pointer was a finger

function hideMeaning() {
  clearTimeout(closing);
  tip?.link.removeAttribute("aria-describedby");
  tip?.box.remove();
  tip = undefined;
}

/** @type {(link: HTMLAnchorElement) => void} */
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
  if (touched) {
    const more = Object.assign(document.createElement("a"), { href: link.href, textContent: "Glossary" });
    box.append(" ", more);
  }
  document.body.append(box);
  const line = link.getClientRects()[0];
  const left = Math.min(Math.max(8, line.left), document.documentElement.clientWidth - box.offsetWidth - 8);
  const above = line.top - box.offsetHeight - 6;
  box.style.left = `${left + scrollX}px`;
  const top = above > 60 && !touched ? above : line.bottom + 6; // under a finger the lines before it stay in sight
  box.style.top = `${top + scrollY}px`;
  box.addEventListener("pointerenter", () => clearTimeout(closing));
  box.addEventListener("pointerleave", hideSoon);
  link.setAttribute("aria-describedby", box.id);
  tip = { link, box };
}

function hideSoon() {
  clearTimeout(closing);
  closing = setTimeout(hideMeaning, 200);
}

/** @type {(event: PointerEvent) => void} */
function tapped(event) {
  const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  if (!touched || tip?.link === link) return; // a second tap follows the link
  event.preventDefault();
  showMeaning(link);
}

function blurred() {
  if (!touched) hideMeaning();
}

addEventListener("DOMContentLoaded", () => {
  const terms = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a.term[data-meaning]"));
  for (const link of terms) {
    link.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && showMeaning(link));
    link.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hideSoon());
    link.addEventListener("focus", () => link.matches(":focus-visible") && showMeaning(link));
    link.addEventListener("blur", blurred);
    link.addEventListener("click", tapped);
  }
});

/** @type {(event: PointerEvent) => void} */
function touchedElsewhere(event) {
  touched = event.pointerType === "touch";
  const target = /** @type {Element} */ (event.target);
  if (tip && !tip.box.contains(target) && !tip.link.contains(target)) hideMeaning();
}

addEventListener("pointerdown", touchedElsewhere, true);
addEventListener("keydown", (event) => event.key === "Escape" && hideMeaning());
