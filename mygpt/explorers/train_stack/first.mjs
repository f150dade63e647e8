// The first run: the explorer trains by itself once, when it comes into view for the first time.

const HALF = 0.5; // of the explorer
const LEFT_ALONE = ".mygpt-run, .mygpt-head, .mygpt-stacks";

/**
 * Calls `begin` whenever half of the explorer comes into view, until the reader does something with it or the
 * page goes on paper: then it calls `stop`, and neither begins nor stops again. Leaves the settings alone, which train on, and the button that stops a run. `undo()`
 * says that something has been done from elsewhere.
 * @type {(root: HTMLElement, calls: { begin(): void; stop(): void }) => { undo(): void }}
 */
export function firstRun(root, { begin, stop }) {
  const paper = matchMedia("print");
  const signs = ["pointerdown", "click", "input", "keydown"];
  let near = false;
  const look = () => {
    if (near && !document.hidden && !paper.matches) begin();
  };
  const observer = new IntersectionObserver(
    (entries) => {
      near = entries[entries.length - 1].intersectionRatio >= HALF;
      look();
    },
    { threshold: HALF },
  );
  const undo = () => {
    observer.disconnect();
    document.removeEventListener("visibilitychange", look);
    paper.removeEventListener("change", over);
    for (const sign of signs) root.removeEventListener(sign, touched, true);
  };
  const over = () => {
    undo();
    stop();
  };
  /** A finger may only scroll, and the tab key only pass.
   * @type {(event: Event) => void} */
  function touched(event) {
    const passes = event instanceof PointerEvent && event.type === "pointerdown" && event.pointerType === "touch";
    const { target, key } = /** @type {KeyboardEvent} */ (event);
    if (passes || key === "Tab" || key === "Shift") return;
    if (target instanceof Element && target.closest(LEFT_ALONE)) undo();
    else over();
  }
  observer.observe(root);
  document.addEventListener("visibilitychange", look);
  paper.addEventListener("change", over);
  for (const sign of signs) root.addEventListener(sign, touched, true);
  return { undo };
}
