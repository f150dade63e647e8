// The state of an explorer in the page's address.

import { html } from "./elements.mjs";

/** Puts a hash into the page's address and copies the whole of it; returns what became of it.
 * @type {(hash: string) => Promise<string>} */
export async function copyLink(hash) {
  const address = `${location.href.split("#")[0]}${hash}`;
  try {
    history.replaceState(history.state, "", hash);
  } catch {
    // a page that may not change its address: the link is copied all the same
  }
  try {
    await navigator.clipboard.writeText(address);
    return "The link is copied.";
  } catch {
    return "The link is in the address bar.";
  }
}

/**
 * Follows the state in the page's address: `take(hash)` returns whether the hash is meant for this explorer, and
 * throws why it cannot be used, which is said at the explorer's top; it then comes into view. Returns an undo function.
 * @type {(root: Element, take: (hash: string) => boolean) => () => void}
 */
export function followLinks(root, take) {
  const refusal = html("p.refusal", { role: "alert", hidden: true });
  root.prepend(refusal);
  const show = () => root.scrollIntoView({ behavior: "instant" });
  const follow = () => {
    refusal.hidden = true;
    try {
      if (!take(location.hash)) return;
    } catch (error) {
      refusal.textContent = `The link was not used: ${/** @type {Error} */ (error).message}.`;
      refusal.hidden = false;
    }
    show();
    if (document.readyState !== "complete") addEventListener("load", show, { once: true });
  };
  addEventListener("hashchange", follow);
  requestAnimationFrame(follow); // once it is in the page
  return () => removeEventListener("hashchange", follow);
}
