// What the explorer says of its buttons and axes.

/** Why some buttons rest, whose texts are given.
 * @type {(texts: string[], limit: number) => string} */
export function whyText(texts, limit) {
  if (!texts.length) return "";
  const last = texts[texts.length - 1];
  const all = texts.length > 1 ? `${texts.slice(0, -1).join(", ")} or ${last}` : last;
  return `${all} would pass ±${limit}, where the axis ends.`;
}

/** How an axis to ±limit is drawn beside one to ±other.
 * @type {(limit: number, other: number) => string} */
export function axisText(limit, other) {
  const times = other / limit;
  const by = Number((times > 1 ? times : 1 / times).toPrecision(2));
  const scale = times === 1 ? "" : `, ${by} × as ${times > 1 ? "tall" : "small"}`;
  return `(to ±${limit}${scale})`;
}
