import { clamp, control, html, mount, speaker } from "./drawing.mjs";

const MAX_TEXT = 500;
const LONGEST = 32; // bytes of a piece whose merges are still shown one by one
const MOST_CHIPS = 60; // of one piece; more than these are counted
const CACHED = 5000;
const SIGNS = { " ": "·", "\n": "↵", "\r": "␍", "\t": "⇥" };
// JavaScript's \s has U+FEFF and lacks U+0085; Python's is Unicode's White_Space.
const SPLIT = new RegExp(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+"
  + "|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+", "gu");

/** The text as GPT-2's pattern cuts it. */
export function split(text) {
  return text.match(SPLIT) ?? [];
}

/** The text with U+FFFD for each half of a character, and no longer than the limit. */
export function tidy(text, most = MAX_TEXT) {
  const whole = text.replace(/\p{Cs}/gu, "\ufffd");
  return whole.length <= most ? whole : Array.from(whole).slice(0, most).join("");
}

/** The ids of the 256 bytes, and of each pair the rank of its merge and the id of both. */
export function makeEncoder(view) {
  const numbers = new Uint16Array(
    view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  const joined = new Map();
  for (let i = 256, rank = 0; i < numbers.length; i += 3, rank += 1) {
    const pair = numbers[i] * 65536 + numbers[i + 1];
    if (!joined.has(pair)) joined.set(pair, { rank, id: numbers[i + 2] });
  }
  return { byteIds: numbers.subarray(0, 256), joined };
}

/**
 * Merges the bytes of one piece, always the pair of the lowest rank, leftmost first. Gives the ids
 * and where their tokens end, and each merge as its rank and the place of its left part.
 */
export function merge(bytes, { byteIds, joined }) {
  const ids = Array.from(bytes, (byte) => byteIds[byte]);
  const ends = Array.from(bytes, (_, i) => i + 1);
  const rankAt = (i) => joined.get(ids[i] * 65536 + ids[i + 1])?.rank ?? Infinity;
  const ranks = ids.map((_, i) => (i + 1 < ids.length ? rankAt(i) : Infinity));
  const steps = [];
  for (;;) {
    let at = 0;
    for (let i = 1; i < ranks.length; i += 1) if (ranks[i] < ranks[at]) at = i;
    if (!(ranks[at] < Infinity)) return { bytes, ids, ends, steps };
    steps.push({ rank: ranks[at], at });
    ids.splice(at, 2, joined.get(ids[at] * 65536 + ids[at + 1]).id);
    ends.splice(at, 1);
    ranks.splice(at, 1);
    ranks[at] = at + 1 < ids.length ? rankAt(at) : Infinity;
    if (at > 0) ranks[at - 1] = rankAt(at - 1);
  }
}

/** A function that gives a piece's merges, and remembers them. */
export function remembering(encoder) {
  const cache = new Map();
  const utf8 = new TextEncoder();
  return (piece) => {
    let found = cache.get(piece);
    if (!found) {
      if (cache.size >= CACHED) cache.clear();
      found = merge(utf8.encode(piece), encoder);
      cache.set(piece, found);
    }
    return found;
  };
}

/** The ids of a text. */
export function encode(text, encoder) {
  return split(text).flatMap(((read) => (piece) => read(piece).ids)(remembering(encoder)));
}

/** Where the parts of a piece end, at first and after each of its merges. */
export function rowsOf({ bytes, steps }) {
  let ends = Array.from(bytes, (_, i) => i + 1);
  const rows = [ends];
  for (const { at } of steps) {
    ends = ends.filter((_, i) => i !== at);
    rows.push(ends);
  }
  return rows;
}

/**
 * Some bytes of a text as readable parts, { text } or, of a character that is not whole,
 * { hex }. Spaces and controls get a sign or their code, a lone accent a circle to stand on.
 */
export function spell(bytes) {
  const parts = [];
  const put = (kind, text) => {
    if (kind === "text" && parts.at(-1)?.text !== undefined) parts.at(-1).text += text;
    else parts.push({ [kind]: text });
  };
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  for (let i = 0; i < bytes.length;) {
    const lead = bytes[i];
    const size = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size === 0 || i + size > bytes.length) {
      put("hex", lead.toString(16).toUpperCase().padStart(2, "0"));
      i += 1;
    } else {
      const sign = utf8.decode(bytes.subarray(i, i + size));
      if (SIGNS[sign]) put("text", SIGNS[sign]);
      else if (/[\p{Z}\p{C}]/u.test(sign)) put("code", codeOf(sign));
      else put("text", /\p{M}/u.test(sign) && parts.at(-1)?.text === undefined ? `◌${sign}` : sign);
      i += size;
    }
  }
  return parts;
}

const codeOf = (sign) => `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The readable parts as one line of text. */
export function plain(parts) {
  return parts.map(({ text, hex, code }) => text ?? code ?? `byte ${hex}`).join(" ");
}

/** Which of the old items stay when a list becomes another: so many at the start and at the end. */
export function common(before, after) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return { start, end };
}

const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function spelled(bytes, className) {
  const parts = spell(bytes);
  return html("bdi", { class: className }, ...parts.map(({ text, hex, code }) =>
    (text === undefined ? html("span", { class: "mygpt-code" }, hex ?? code) : text)));
}

/** A labelled slider from 0 to a last value that may change; `show(index, last, text)` moves it. */
function stepper(label, choose) {
  const input = control("input", { type: "range", min: 0, step: 1 });
  const output = html("span", { class: "mygpt-number", "aria-hidden": "true" });
  const head = html("span", { class: "mygpt-slider-head" }, html("span", {}, label), output);
  const node = html("label", { class: "mygpt-slider" }, head, input);
  input.addEventListener("input", () => choose(input.valueAsNumber));
  const show = (index, last, text) => {
    input.max = last;
    input.value = index;
    input.disabled = last === 0;
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--filled", `${(100 * index) / (last || 1)}%`);
    output.textContent = text;
  };
  return { node, show };
}

function render({ model, el }) {
  const encoder = makeEncoder(model.get("data"));
  const read = remembering(encoder);
  // Not counted: Jupyter runs this module anew for every widget.
  const group = `mygpt-tokens-${Math.random().toString(36).slice(2)}`;
  const write = (changes) => {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    model.save_changes();
  };

  // The parts, from the top.
  const field = control("textarea", {
    rows: 3, spellcheck: "false", autocomplete: "off", autocapitalize: "off", dir: "auto",
  });
  const typed = html("label", { class: "mygpt-typed" },
    html("span", {}, `Text, up to ${MAX_TEXT} characters`), field);
  const counts = html("p", { class: "mygpt-counts mygpt-number" });
  const words = html("div", { class: "mygpt-words", role: "radiogroup" });
  const stepsDone = stepper("Merges done", (index) => write({ merges_done: index }));
  const chosenOut = html("span");
  const chosenAs = html("p", { class: "mygpt-chosen" }, chosenOut);
  const body = html("tbody");
  const heads = ["Merges", "Parts", "Merged, rank"].map((text) => html("th", { scope: "col" }, text));
  const ladder = html("table", { class: "mygpt-ladder" },
    html("caption", { class: "mygpt-unseen" },
      "The parts of the chosen piece after each merge; the rank is the place in the list of merges, from 0"),
    html("thead", {}, html("tr", {}, ...heads)), body);
  const tooLong = html("p", { class: "mygpt-chosen" },
    `The merges are shown for pieces of up to ${LONGEST} bytes.`);
  const below = html("div", { class: "mygpt-merges" }, chosenAs, stepsDone.node, ladder, tooLong);
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-tokens", role: "group", "aria-label": "Explorer of tokens" },
    typed, counts, words, below, setting, voice.node);

  field.addEventListener("input", () => {
    const text = tidy(field.value);
    if (text !== field.value) {
      const caret = field.selectionStart;
      field.value = text;
      field.setSelectionRange(caret, caret);
    }
    write({ text });
  });
  // JupyterLab listens here after every key, and forbids line breaks.
  field.addEventListener("beforeinput", (event) => {
    if (event.inputType === "insertLineBreak") event.stopImmediatePropagation();
  });

  // Drawing: the words that have changed, and the merges of the chosen one.
  let shownWords = [];
  let found = [];
  let chosen = null;
  let rows = [];
  let sentence = "";

  function chip(bytes, id) {
    const name = plain(spell(bytes));
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return html("span", { class: "mygpt-chip", title: `${name}, id ${id}, bytes ${hex}` },
      spelled(bytes, "mygpt-chip-text"), html("span", { class: "mygpt-chip-id" }, id));
  }

  function wordNode(piece) {
    const { bytes, ids, ends } = read(piece);
    const few = ids.slice(0, MOST_CHIPS);
    const more = ids.length > few.length ? `and ${ids.length - few.length} more` : "";
    const name = plain(spell(bytes.subarray(0, ends[few.length - 1])));
    const radio = control("input", {
      type: "radio", name: group,
      "aria-label": `${name}: ${ids.length === 1 ? "id" : "ids"} ${few.join(", ")} ${more}`.trim(),
    });
    const chips = few.map((id, i) => chip(bytes.subarray(ends[i - 1] ?? 0, ends[i]), id));
    if (more) chips.push(html("span", { class: "mygpt-more" }, more));
    const node = html("label", { class: "mygpt-word" }, radio,
      html("span", { class: "mygpt-chips" }, ...chips));
    radio.addEventListener("change", () => {
      write({ piece: Array.prototype.indexOf.call(words.children, node), merges_done: null });
    });
    return node;
  }

  function drawWords() {
    const text = tidy(model.get("text"));
    if (field.value !== text) field.value = text;
    const pieces = split(text);
    const { start, end } = common(shownWords, pieces);
    const old = Array.from(words.children);
    for (const node of old.slice(start, old.length - end)) node.remove();
    const fresh = pieces.slice(start, pieces.length - end).map(wordNode);
    const next = words.children[start] ?? null;
    for (const node of fresh) words.insertBefore(node, next);
    shownWords = pieces;
    found = pieces.map(read);
    let total = 0;
    found.forEach(({ ids }, i) => {
      words.children[i].classList.toggle("mygpt-odd", total % 2 === 1);
      total += ids.length;
    });
    const bytes = found.reduce((sum, one) => sum + one.bytes.length, 0);
    const characters = Array.from(text).length;
    counts.textContent = [[characters, "character"], [bytes, "byte"], [total, "token"]]
      .map((pair) => plural(...pair)).join(", ");
  }

  function ladderRow(one, ends, number) {
    const { bytes, steps } = one;
    const before = number ? rows[number - 1].ends : null;
    const step = number ? steps[number - 1] : null;
    const part = (list, i) => bytes.subarray(list[i - 1] ?? 0, list[i]);
    const parts = ends.map((_, i) => html(
      "span", { class: step?.at === i ? "mygpt-part mygpt-joined" : "mygpt-part" },
      spelled(part(ends, i), "")));
    const pair = step
      ? [html("span", { class: "mygpt-pair" }, spelled(part(before, step.at), ""), " + ",
        spelled(part(before, step.at + 1), "")), " ", html("span", { class: "mygpt-rank" }, `rank ${step.rank}`)]
      : [html("span", { class: "mygpt-rank" }, "bytes")];
    const node = html("tr", {}, html("th", { scope: "row" }, number),
      html("td", {}, html("span", { class: "mygpt-parts" }, ...parts)),
      html("td", {}, html("span", { class: "mygpt-how" }, ...pair)));
    const spoken = ends.map((_, i) => plain(spell(part(ends, i)))).join(" | ");
    const how = step ? `, ${plain(spell(part(before, step.at)))} and `
      + `${plain(spell(part(before, step.at + 1)))} merged, rank ${step.rank}` : "";
    return { node, ends, sentence: `${how}: ${spoken}` };
  }

  function drawLadder(one) {
    rows = [];
    if (one.bytes.length <= LONGEST) {
      rowsOf(one).forEach((ends, number) => rows.push(ladderRow(one, ends, number)));
    }
    body.replaceChildren(...rows.map(({ node }) => node));
    ladder.hidden = stepsDone.node.hidden = !rows.length;
    tooLong.hidden = rows.length > 0;
    chosenOut.replaceChildren("Chosen: ", html("b", {}, spelled(one.bytes, "mygpt-chosen-text")),
      ` – ${plural(one.bytes.length, "byte")}, ${plural(one.steps.length, "merge")}, `
      + plural(one.ids.length, "token"));
  }

  function drawMerges() {
    const at = Math.min(model.get("piece"), found.length - 1);
    below.hidden = at < 0;
    if (at < 0) {
      chosen = null;
      sentence = "The text is empty.";
      setting.textContent = "";
    } else {
      words.children[at].firstChild.checked = true;
      if (found[at] !== chosen) drawLadder(found[at]);
      chosen = found[at];
      const last = chosen.steps.length;
      const done = clamp(model.get("merges_done") ?? last, 0, last);
      stepsDone.show(done, last, `${done} of ${last}`);
      rows.forEach(({ node }, number) => node.classList.toggle("mygpt-to-come", number > done));
      setting.textContent = `${done} of ${plural(last, "merge")} shown.`;
      const row = rows[done]?.sentence ?? "";
      sentence = `Piece ${at + 1} of ${found.length}, ${plain(spell(chosen.bytes))}. `
        + `${done} of ${plural(last, "merge")} done${row}.`;
    }
    words.setAttribute("aria-label",
      `${model.get("description")} ${counts.textContent}. Pieces of the text; choose one to see its merges`);
  }

  const draw = () => {
    drawWords();
    drawMerges();
  };
  const speaking = (update, text = () => sentence) => () => {
    update();
    voice.say(text());
  };
  return mount({
    model, el, root,
    undo: [voice.stop],
    listeners: {
      text: speaking(draw, () => counts.textContent),
      piece: speaking(drawMerges),
      merges_done: speaking(drawMerges),
    },
    layout: draw,
  });
}

export default { render };
