import {
  axisHandle, choice, clamp, control, dragging, extent, fixed, floats, html, linearTicks, mount,
  speaker, tooltip,
} from "./drawing.mjs";
import { heatmap, roomFor, textWidth, themed } from "./heat.mjs";
import { pairTable, ranking, unpackPairs } from "./neurons.mjs";
import {
  cholesky, compileEdits, contributions, forward, largestFirst, loadModel, probabilities, promoted,
} from "./gpt.mjs";

const STOP = ".";
const LIKELIEST = 6;
const PROMOTED = 6;
const STRONGEST = 5;
const COMPLETIONS = 8;
const LEAST_MARK = 0.01; // a smaller share's outline would be a line
const MAX_PROMPT = 31;
const MAX_EDITS = 64;
const LINK = "#live=";
const DONE = { 0: "switched off", 1: "back at its own strength", 2: "doubled" };

/** The words of a prompt, in lower case; a full stop is a word of its own. */
export function splitPrompt(text) {
  return text.toLowerCase().replaceAll(STOP, ` ${STOP} `).split(/\s+/).filter(Boolean);
}

/** The words as the model reads them: after a full stop. */
export function withStop(words) {
  return words[0] === STOP ? words : [STOP, ...words];
}

/** The last words of a text, of `most` letters together, after an ellipsis where some are left out. */
export function tailOf(text, most) {
  if (text.length <= most) return text;
  const from = text.length - most;
  const blank = text.indexOf(" ", from);
  return `… ${text.slice(blank < 0 ? from : blank + 1)}`;
}

/** Where the word under the caret starts and ends in a text. */
export function spanAt(text, caret) {
  const start = text.slice(0, caret).search(/[^\s.]*$/);
  return { start, end: caret + text.slice(caret).search(/[\s.]|$/) };
}

/** The words, other than the prefix itself, that begin with it; the first `most`. */
export function completions(words, prefix, most = COMPLETIONS) {
  const start = prefix.toLowerCase();
  return words.filter((word) => word.startsWith(start) && word !== start).slice(0, most);
}

/** A number with its sign, plus included. */
export function signed(value, decimals) {
  const text = fixed(value, decimals);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** All of a symmetric matrix, of which only the lower triangle was sent, row by row. */
export function symmetric(lower, size) {
  const matrix = new Float64Array(size * size);
  for (let i = 0, at = 0; i < size; i += 1) {
    for (let j = 0; j <= i; j += 1, at += 1) {
      matrix[i * size + j] = lower[at];
      matrix[j * size + i] = lower[at];
    }
  }
  return matrix;
}

/** An edit as the start of a sentence. */
export function editInWords(edit) {
  if (edit.kind === "rewrite") return `“${edit.prompt}” rewritten to “${edit.word}”`;
  const neurons = [edit.neuron].flat();
  const who = `${neurons.length > 1 ? "Neurons" : "Neuron"} ${neurons.join(", ")} of layer ${edit.layer}`;
  if (edit.kind === "value") return `${who} pointed at “${edit.word}”`;
  return `${who} ${neurons.length > 1 ? DONE[edit.factor].replace("its", "their") : DONE[edit.factor]}`;
}

/** JSON in letters that an address may hold. */
export function toLink(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return LINK + letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** What `toLink` put into an address's hash; undefined for another hash. Throws for a damaged one. */
export function fromLink(hash) {
  if (!hash.startsWith(LINK)) return undefined;
  const letters = hash.slice(LINK.length).replaceAll("-", "+").replaceAll("_", "/");
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/**
 * The prompt, layer, neuron, token and edits of `given`, checked as Python checks them; throws
 * where it does. `known` has words (a Set), longest, layers, neurons and rewrites.
 */
export function checkedState(given, known) {
  const must = (right, what) => {
    if (!right) throw new Error(`its ${what} does not fit this model`);
  };
  const index = (value, length) => Number.isInteger(value) && value >= 0 && value < length;
  const text = (prompt, what) => {
    must(typeof prompt === "string", what);
    const words = splitPrompt(prompt);
    must(words.length <= known.longest && words.every((word) => known.words.has(word)), what);
    return words.join(" ");
  };
  const one = (edit) => {
    const { kind, layer, neuron, factor, word } = edit ?? {};
    if (kind === "rewrite") {
      must(known.rewrites && known.words.has(word), "edit");
      return { kind, prompt: text(edit.prompt, "edit"), word };
    }
    must(kind === "scale" || kind === "value", "edit");
    must(known.layers.includes(layer), "edit");
    const several = kind === "scale" && Array.isArray(neuron);
    must((several ? neuron : [neuron]).every((each) => index(each, known.neurons)), "edit");
    if (kind === "value") {
      must(known.words.has(word), "edit");
      return { kind, layer, neuron, word };
    }
    must([0, 1, 2].includes(factor), "edit");
    return { kind, layer, neuron, factor };
  };
  const { layer, neuron, token, edits } = given ?? {};
  const prompt = text(given?.prompt, "prompt");
  must(known.layers.includes(layer), "layer");
  must(index(neuron, known.neurons), "neuron");
  must(index(token, withStop(splitPrompt(prompt)).length), "token");
  must(Array.isArray(edits) && edits.length <= MAX_EDITS, "list of edits");
  return { prompt, layer, neuron, token, edits: edits.map(one) };
}

/** A number that changes with the bytes, to tell one model's links from another's. */
export function checksum(bytes) {
  let sum = 0x811c9dc5;
  for (let i = 0; i < bytes.byteLength; i += 1) sum = Math.imul(sum ^ bytes.getUint8(i), 0x01000193);
  return sum >>> 0;
}

/**
 * A text field that completes words from a list. `span()` says which part of the text is completed,
 * `suggest(prefix)` gives the words for it, `typed()` is called at every change of the text and
 * `enter()` at Enter where there is nothing to complete.
 */
function combobox(label, { id, span, suggest, typed, enter, after = "" }) {
  const input = control("input", {
    type: "text", role: "combobox", "aria-label": label, "aria-autocomplete": "list",
    "aria-expanded": "false", "aria-controls": id, autocomplete: "off", autocapitalize: "none",
    autocorrect: "off", spellcheck: "false", enterkeyhint: "done",
  });
  const list = html("ul", { id, role: "listbox", "aria-label": "Completions", hidden: true });
  const node = html("span", { class: "mygpt-complete" }, input, list);
  let options = [];
  let active = -1;

  function mark(index) {
    active = index;
    [...list.children].forEach((option, i) => {
      option.setAttribute("aria-selected", i === index);
      if (i === index) option.scrollIntoView({ block: "nearest" });
    });
    if (index < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `${id}-${index}`);
  }
  function close() {
    options = [];
    list.replaceChildren();
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    mark(-1);
  }
  const prefix = () => {
    const { start } = span(input);
    return input.value.slice(start, input.selectionStart);
  };
  function open(choose) {
    options = suggest(prefix());
    if (!options.length) {
      close();
      return;
    }
    list.replaceChildren(...options.map((word, i) => {
      const option = html("li", { id: `${id}-${i}`, role: "option" }, html("bdi", {}, word));
      option.addEventListener("click", () => complete(i));
      return option;
    }));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(choose);
  }
  function complete(index) {
    const { start, end } = span(input);
    const rest = input.value.slice(end);
    const word = options[index] + (rest === "" ? after : "");
    input.value = input.value.slice(0, start) + word + rest;
    input.setSelectionRange(start + word.length, start + word.length);
    close();
    typed();
  }
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps its focus
  list.addEventListener("mousedown", (event) => event.preventDefault());
  input.addEventListener("input", (event) => {
    typed();
    const begun = prefix();
    if (begun && !event.isComposing) open(suggest(begun).length && !typed.whole?.(begun) ? 0 : -1);
    else close();
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (!options.length) open(step > 0 ? 0 : suggest(prefix()).length - 1);
      else mark((active + step + options.length) % options.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (active >= 0) complete(active);
      else {
        close();
        enter?.();
      }
    } else if (event.key === "Escape" && options.length) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  });
  return { node, input, close };
}

function actButton(label, press, attributes = {}) {
  const node = control("button", { type: "button", class: "mygpt-act", ...attributes }, label);
  node.addEventListener("click", () => {
    if (node.getAttribute("aria-disabled") !== "true") press();
  });
  return node;
}

const quoted = (text) => html("bdi", { class: "mygpt-quoted" }, text);

function render({ model, el }) {
  const words = model.get("words");
  const places = new Map(words.map((word, place) => [word, place]));
  const gpt = loadModel({
    layout: model.get("shapes"), bytes: model.get("weights"), heads: model.get("heads"),
    activation: model.get("activation"), rewriting: model.get("rewriting"),
  });
  const { neurons } = gpt;
  const layers = gpt.layers.map((_, layer) => layer).filter((layer) => gpt.layers[layer].mlp);
  const lower = floats(model.get("moment_data"));
  const factor = lower.length ? cholesky(symmetric(lower, neurons), neurons) : null;
  const longest = Math.min(MAX_PROMPT, gpt.positions - 1);
  const known = { words: new Set(words), longest, layers, neurons, rewrites: factor !== null };
  const triggerLayers = model.get("trigger_layers");
  const triggers = unpackPairs(
    floats(model.get("trigger_data")), neurons * triggerLayers.length, model.get("texts"));
  const facts = model.get("facts");
  const of = checksum(model.get("weights"));
  const linked = Boolean(window.bookHost);
  const name = `mygpt-live-${Math.random().toString(36).slice(2)}`;
  const several = layers.length > 1;
  const write = (changes) => {
    for (const [trait, value] of Object.entries(changes)) {
      if (model.get(trait) !== value) model.set(trait, value);
    }
    model.save_changes();
  };
  const ids = (prompt) => withStop(splitPrompt(prompt)).map((word) => places.get(word));

  // The model's answers. Compiled edits and answers are kept, as Undo comes back to them.
  let compiledKeys = new Map();
  function compiled(edits) {
    if (!edits.length) return null;
    const key = JSON.stringify(edits);
    if (!compiledKeys.has(key)) {
      if (compiledKeys.size > 64) compiledKeys = new Map();
      compiledKeys.set(key, compileEdits(gpt, edits.map((edit) => ({
        ...edit,
        word: places.get(edit.word),
        ids: edit.kind === "rewrite" ? ids(edit.prompt) : null,
      })), factor));
    }
    return compiledKeys.get(key);
  }
  function answer(prompt, edits) {
    const pass = forward(gpt, ids(prompt), { edits: compiled(edits) });
    const shares = probabilities(pass.logits);
    const order = largestFirst(shares, LIKELIEST);
    return { pass, shares, order, best: order[0], share: shares[order[0]] };
  }
  const answers = (edits) => facts.map(([prompt]) => {
    const { best, share } = answer(prompt, edits);
    return { word: words[best], share };
  });
  const trained = answers([]);

  // 1. The prompt.
  const message = html("p", { class: "mygpt-message" });
  const next = () => (now ? now.order.map((place) => words[place]) : []);
  const typed = () => readPrompt();
  typed.whole = (word) => places.has(word.toLowerCase());
  const prompt = combobox("Prompt", {
    id: `${name}-prompt`,
    span: (input) => spanAt(input.value, input.selectionStart),
    suggest: (prefix) => (prefix ? completions(words, prefix) : next()),
    typed,
    after: " ",
  });
  const promptPart = html("div", { class: "mygpt-prompt" },
    html("label", {}, html("span", {}, "Prompt"), prompt.node), message);

  // 2. What comes next.
  const promptOut = quoted("");
  const staleOut = html("span", { class: "mygpt-old", hidden: true }, ", the last whole prompt");
  const bars = Array.from({ length: Math.min(LIKELIEST, words.length) }, () => {
    const word = html("bdi");
    const bar = html("span", { class: "mygpt-now" });
    const was = html("span", { class: "mygpt-was" });
    const share = html("span", { class: "mygpt-number" });
    const track = html("span", { class: "mygpt-track", "aria-hidden": "true" }, bar, was);
    return { word, bar, was, share, node: html("li", {}, word, track, share) };
  });
  const before = html("p", { class: "mygpt-before" });
  const nextPart = html("div", { class: "mygpt-next" },
    html("p", { class: "mygpt-title" }, "Next word after ", promptOut, staleOut),
    html("ol", { class: "mygpt-likeliest" }, ...bars.map(({ node }) => node)), before);

  // 3. The memories.
  const heat = heatmap();
  const column = html("span", { class: "mygpt-neuron-frame" });
  heat.node.append(column);
  const rows = html("div", { class: "mygpt-rows", "aria-hidden": "true" });
  const scale = html("div", { class: "mygpt-scale", "aria-hidden": "true" });
  const handle = axisHandle("Neuron", (neuron) => write({ neuron }));
  const hint = tooltip();
  const map = html("div", { class: "mygpt-map" },
    rows, heat.node, scale, ...(neurons > 1 ? [handle.node] : []), hint.node);
  const switcher = choice(
    "Layer", layers.map((layer) => [layer, `Layer ${layer}`]), (layer) => write({ layer }));
  const mapTitle = html("p", { class: "mygpt-title" });
  const mapHead = html("div", { class: "mygpt-head" },
    mapTitle, ...(several ? [switcher.node] : []), heat.legend);
  const select = control("select", { "aria-label": "Token" });
  select.addEventListener("change", () => write({ token: Number(select.value) }));
  const step = (label, by) => actButton(label, () => {
    const to = ranked[ranked.indexOf(model.get("neuron")) + by];
    if (to !== undefined) write({ neuron: to });
  });
  const steps = [step("Previous strongest", -1), step("Next strongest", 1)];
  const mapFoot = html("div", { class: "mygpt-row mygpt-foot" },
    html("label", { class: "mygpt-token" }, html("span", {}, "Token"), select), ...steps);

  // 4. The chosen neuron, and what can be done to it and to the fact.
  const neuronTitle = html("p", { class: "mygpt-title mygpt-number" });
  const coefficient = html("p", { class: "mygpt-number" });
  const added = html("p", { class: "mygpt-number" });
  const triggerTable = pairTable("Texts that trigger the neuron, and its coefficient there",
    "Triggers", "coefficient", Math.max(1, ...triggers.map((pairs) => pairs.length)), 3);
  const promotedTable = pairTable("Words that the neuron promotes, and their scores",
    "Promoted words", "score", Math.min(PROMOTED, words.length), 3);
  const toggle = actButton("Switch off", () => scaleTo(scaleNow() === 0 ? 1 : 0));
  const double = actButton("Double", () => scaleTo(scaleNow() === 2 ? 1 : 2));
  const asking = (label, verb, act) => {
    const field = combobox(label, {
      id: `${name}-${verb}`.replaceAll(" ", "-"),
      span: (input) => ({ start: 0, end: input.value.length }),
      suggest: (prefix) => (prefix ? completions(words, prefix) : next()),
      typed: Object.assign(() => refresh(), { whole: typed.whole }),
      enter: () => go.click(),
    });
    const go = actButton(verb, () => {
      const word = field.input.value.trim().toLowerCase();
      if (places.has(word)) act(word);
      else field.input.focus();
    });
    const refresh = () => {
      const word = field.input.value.trim().toLowerCase();
      go.setAttribute("aria-disabled", !places.has(word));
    };
    refresh();
    const node = html("div", { class: "mygpt-ask" },
      html("label", {}, html("span", {}, label), field.node), go);
    return { node, field };
  };
  const point = asking("Point its value at", "Point", (word) =>
    edit({ kind: "value", layer: model.get("layer"), neuron: model.get("neuron"), word }));
  const neuronPart = html("div", { class: "mygpt-part" }, neuronTitle, coefficient, added,
    html("div", { class: "mygpt-row" }, toggle, double), point.node);

  const adders = Array.from({ length: Math.min(STRONGEST, neurons) }, (_, i) => {
    const parts = ["neuron", "activation", "added"].map((part) =>
      html("span", { class: `mygpt-number mygpt-${part}` }));
    const node = control("button", { type: "button", class: "mygpt-strong-one" }, ...parts);
    node.addEventListener("click", () => write({ neuron: adding[i] }));
    return { node, parts };
  });
  const addersTitle = html("span");
  const silence = actButton("", () => edit({
    kind: "scale", layer: model.get("layer"), neuron: strongest(), factor: 0,
  }));
  const rewriteTo = asking("Rewrite this fact to", "Rewrite", (word) =>
    edit({ kind: "rewrite", prompt: model.get("prompt"), word }));
  const wordPart = html("div", { class: "mygpt-part mygpt-adders" },
    html("p", { class: "mygpt-strong-head" },
      addersTitle, html("span", {}, "coefficient"), html("span", {}, "adds")),
    html("ol", { class: "mygpt-strongest" }, ...adders.map(({ node }) => html("li", {}, node))),
    html("div", { class: "mygpt-row" }, silence),
    ...(factor ? [rewriteTo.node] : []));

  // 5. The facts. 6. The edits.
  const effect = html("p", { class: "mygpt-effect" });
  const undo = actButton("Undo", () => write({ edits: model.get("edits").slice(0, -1) }));
  const reset = actButton("Reset", () => write({ edits: [] }));
  const copy = actButton("Copy link", () => copyLink());
  const editList = html("ol", { class: "mygpt-edits" });
  const note = html("p", { class: "mygpt-note" });
  const editPart = html("div", { class: "mygpt-changes" },
    html("div", { class: "mygpt-head" }, html("p", { class: "mygpt-title" }, "Edits"),
      html("div", { class: "mygpt-row" }, undo, reset, ...(linked ? [copy] : []))),
    editList, effect, note);
  const factRows = facts.map(([text, right]) => {
    const [word, share, sign] = [html("bdi"), html("span", { class: "mygpt-number" }), html("span")];
    const node = control("button", { type: "button", class: "mygpt-fact" },
      html("bdi", { class: "mygpt-asked" }, text),
      html("span", { class: "mygpt-right" }, html("span", { class: "mygpt-aside" }, "right: "), html("bdi", {}, right)),
      html("span", { class: "mygpt-said" },
        html("span", { class: "mygpt-unseen" }, "the model says: "), word, share),
      html("span", { class: "mygpt-sign" }, sign));
    node.addEventListener("click", () => setPrompt(text));
    return { node, word, share, sign };
  });
  const factSum = html("p", { class: "mygpt-number mygpt-sum" });
  const factPart = html("div", { class: "mygpt-facts" },
    html("div", { class: "mygpt-head" }, html("p", { class: "mygpt-title" }, "Facts"), factSum),
    html("p", { class: "mygpt-fact-head", "aria-hidden": "true" },
      ...["Prompt", "Right", "The model says", ""].map((text) => html("span", {}, text))),
    html("ul", { class: "mygpt-fact-list" }, ...factRows.map(({ node }) => html("li", {}, node))));
  const setting = html("p", { class: "mygpt-setting" });
  const voice = speaker();
  const root = html(
    "div", { class: "mygpt-explorer mygpt-live-model", role: "group", "aria-label": "Live model" },
    promptPart, nextPart, mapHead, map, mapFoot,
    html("div", { class: "mygpt-four" }, neuronPart,
      ...(triggers.length ? [triggerTable.node] : []), promotedTable.node, wordPart),
    editPart, ...(facts.length ? [factPart] : []), setting, voice.node);

  // Drawing.
  let width = 640;
  let height = 120;
  let gutter = 60;
  let room = 500;
  let now = null; // the answer to the prompt, with the edits
  let untouched = null;
  let tokens = [];
  let labels = [];
  let ranked = [];
  let amounts = [];
  let adding = [];
  let hovered = null;
  let effectText = "";
  let typing = false; // the prompt changes from the field itself

  const token = () => Math.min(model.get("token"), tokens.length - 1);
  const hiddenAt = (row, neuron, kept = now.pass.hidden) =>
    kept[model.get("layer")][row * neurons + neuron];
  const scaleNow = () => compiled(model.get("edits"))?.[model.get("layer")]?.scale?.[model.get("neuron")] ?? 1;
  const scaleTo = (to) => edit({
    kind: "scale", layer: model.get("layer"), neuron: model.get("neuron"), factor: to,
  });
  const strongest = () => adding.slice(0, STRONGEST).filter((neuron) => amounts[neuron] > 0);
  const full = () => model.get("edits").length >= MAX_EDITS;
  function edit(one) {
    if (full()) {
      say(`At most ${MAX_EDITS} edits.`);
      return;
    }
    write({ edits: [...model.get("edits"), one] });
  }
  function say(text) {
    note.textContent = text;
    voice.say(text);
  }

  /** Takes a prompt whose words are all known, and chooses its last token. */
  function takePrompt(text) {
    if (text === model.get("prompt")) return;
    write({ prompt: text, token: withStop(splitPrompt(text)).length - 1 });
    voice.say(describe().prediction);
  }

  function setPrompt(text) {
    prompt.input.value = text;
    takePrompt(text);
    readPrompt();
  }

  /** Reads the field: a good prompt is the trait's, of another it is said what is wrong. */
  function readPrompt() {
    const text = prompt.input.value;
    const given = splitPrompt(text);
    const strange = given.filter((word) => !places.has(word));
    const { start, end } = spanAt(text, prompt.input.selectionStart ?? text.length);
    const begun = text.slice(start, end).toLowerCase();
    const still = "The prediction is that of the last whole prompt.";
    const unfinished = strange.length === 1 && strange[0] === begun && completions(words, begun).length;
    const wrong = strange.length && !unfinished;
    promptPart.classList.toggle("mygpt-wrong", Boolean(wrong) || given.length > longest);
    nextPart.classList.toggle("mygpt-stale", strange.length > 0 || given.length > longest);
    staleOut.hidden = !wrong && given.length <= longest;
    if (unfinished) message.textContent = `“${strange[0]}…” is not a whole word yet.`;
    else if (wrong) {
      const list = strange.map((word) => `“${word}”`).join(", ");
      message.textContent =
        `${list} ${strange.length > 1 ? "are" : "is"} not among the ${words.length} words. ${still}`;
    } else if (given.length > longest) {
      message.textContent = `A prompt has at most ${longest} words. ${still}`;
    } else {
      message.textContent =
        `${words.length} words are known; ↓ lists the likeliest next.`;
      typing = true;
      takePrompt(given.join(" "));
      typing = false;
    }
    if (wrong) voice.say(message.textContent);
  }

  function compute() {
    const [text, edits] = [model.get("prompt"), model.get("edits")];
    if (!typing && splitPrompt(prompt.input.value).join(" ") !== text) {
      prompt.input.value = text;
      readPrompt();
    }
    now = answer(text, edits);
    untouched = edits.length ? answer(text, []) : now;
    const read = withStop(splitPrompt(text));
    if (read.join(" ") !== tokens.join(" ")) {
      tokens = read;
      labels = tokens.map((word) => html("span", {}, html("bdi", { title: word }, word)));
      rows.replaceChildren(...labels);
      select.replaceChildren(...tokens.map((word, place) =>
        html("option", { value: place }, `${place}  \u2068${word}\u2069`)));
      hovered = null;
    }
  }

  function drawNext() {
    const edited = model.get("edits").length > 0;
    promptOut.textContent = tailOf(model.get("prompt") || STOP, width < 420 ? 30 : 44);
    promptOut.title = model.get("prompt");
    factRows.forEach(({ node }, i) => {
      node.setAttribute("aria-current", facts[i][0] === model.get("prompt"));
    });
    bars.forEach(({ word, bar, was, share }, i) => {
      const place = now.order[i];
      word.textContent = words[place];
      word.title = words[place];
      bar.style.width = `${100 * now.shares[place]}%`;
      was.style.width = `${100 * untouched.shares[place]}%`;
      was.hidden = !edited || untouched.shares[place] < LEAST_MARK;
      share.textContent = fixed(now.shares[place], 3);
    });
    before.replaceChildren(...(edited ? [
      html("span", { class: "mygpt-was", "aria-hidden": "true" }),
      "Without the edits: ", html("bdi", {}, words[untouched.best]), ` ${fixed(untouched.share, 3)}.`,
    ] : []));
  }

  function drawMap() {
    const narrow = width < 420;
    const count = tokens.length;
    gutter = clamp(Math.max(...tokens.map(textWidth)) + 12, 36, narrow ? 72 : 110);
    room = width - gutter;
    height = Math.round(clamp(22 * count, 44, 420));
    map.style.setProperty("--gutter", `${gutter}px`);
    map.style.setProperty("--tall", `${height}px`);
    labels.forEach((node, place) => {
      node.style.top = `${(100 * (place + 0.5)) / count}%`;
    });
    const cell = room / neurons;
    handle.place({ left: gutter + cell / 2, right: width - cell / 2, bottom: height + 12 });
    const ticks = neurons > 1 ? linearTicks(0, neurons - 1, room / 52, 1) : [{ at: 0, label: "0" }];
    scale.replaceChildren(...ticks.map(({ at, label }) => {
      const node = html("span", { class: "mygpt-number" }, label);
      node.style.left = `${(100 * (at + 0.5)) / neurons}%`;
      return node;
    }), html("b", {}, "neuron"));
    heat.canvas.classList.toggle("mygpt-dense", neurons > room);
    paint();
  }

  function paint() {
    if (!root.isConnected) return; // the colours are known on a page alone
    const numbers = now.pass.hidden[model.get("layer")];
    const [low, high] = extent([numbers]);
    heat.draw({
      numbers, rows: tokens.length, columns: neurons, height, limit: Math.max(-low, high) || 1,
      signed: true,
    });
  }

  function drawToken() {
    const [layer, row] = [model.get("layer"), token()];
    switcher.show(layer);
    mapTitle.textContent = several ? "Memory coefficients" : `Memory coefficients of layer ${layer}`;
    ranked = ranking(now.pass.hidden[layer].subarray(row * neurons, (row + 1) * neurons));
    heat.mark(row, null);
    select.value = row;
    const free = roomFor(tokens.length, height, 15.5, row);
    labels.forEach((node, place) => {
      node.hidden = !free[place];
      node.classList.toggle("mygpt-chosen", place === row);
    });
  }

  function drawAdders() {
    const [layer, best] = [model.get("layer"), words[now.best]];
    amounts = contributions(gpt, now.pass, layer, now.best, compiled(model.get("edits")));
    adding = largestFirst(amounts);
    addersTitle.replaceChildren("Adds most to ", quoted(best));
    adders.forEach(({ parts }, i) => {
      const neuron = adding[i];
      parts[0].textContent = `Neuron ${neuron}`;
      parts[1].textContent = fixed(hiddenAt(tokens.length - 1, neuron), 3);
      parts[2].textContent = signed(amounts[neuron], 2);
    });
    silence.textContent = `Switch off the ${strongest().length} that add most to “${best}”`;
    silence.hidden = strongest().length < 2;
  }

  function drawNeuron() {
    const [layer, neuron, row] = [model.get("layer"), model.get("neuron"), token()];
    const edits = compiled(model.get("edits"));
    const [here, own] = [now.pass.hidden, now.pass.own].map((kept) => hiddenAt(row, neuron, kept));
    const best = words[now.best];
    column.style.left = `calc(${(100 * neuron) / neurons}% - 2px)`;
    column.style.width = `calc(${100 / neurons}% + 4px)`;
    handle.show(neuron, neurons - 1, `neuron ${neuron}, ${fixed(here, 3)}`);
    neuronTitle.textContent = `Neuron ${neuron}${several ? ` of layer ${layer}` : ""}`;
    coefficient.replaceChildren(
      "Coefficient at ", quoted(tokens[row]), ` ${fixed(here, 3)}`,
      here === own ? "" : `, ${fixed(own, 3)} before the edit`);
    const direct = layer < gpt.layers.length - 1 ? "directly " : "";
    added.replaceChildren(
      `At the last token it ${direct}adds ${signed(amounts[neuron], 2)} to the score of `, quoted(best),
      `: rank ${adding.indexOf(neuron) + 1} of ${neurons}`);
    const block = triggerLayers.indexOf(layer);
    triggerTable.node.hidden = block < 0;
    if (block >= 0) triggerTable.show(triggers[block * neurons + neuron]);
    const scores = promoted(gpt, layer, neuron, edits);
    promotedTable.show(largestFirst(scores, PROMOTED).map((place) => (
      { text: words[place], number: scores[place] })));
    const rank = ranked.indexOf(neuron);
    steps[0].setAttribute("aria-disabled", rank === 0);
    steps[1].setAttribute("aria-disabled", rank === neurons - 1);
    adders.forEach(({ node }, i) => node.setAttribute("aria-pressed", adding[i] === neuron));
    toggle.textContent = scaleNow() === 0 ? "Switch on" : "Switch off";
    double.textContent = scaleNow() === 2 ? "Undo doubling" : "Double";
    describe();
  }

  function drawEdits() {
    const edits = model.get("edits");
    editList.replaceChildren(...edits.map((one) => html("li", {}, editInWords(one), ".")));
    undo.setAttribute("aria-disabled", edits.length === 0);
    reset.setAttribute("aria-disabled", edits.length === 0);
    editList.hidden = edits.length === 0;
    note.textContent = "";
    drawFacts();
    drawEffect();
  }

  function drawFacts() {
    const said = model.get("edits").length ? answers(model.get("edits")) : trained;
    let [right, changed] = [0, 0];
    factRows.forEach(({ node, word, share, sign }, i) => {
      const good = said[i].word === facts[i][1];
      const other = said[i].word !== trained[i].word;
      right += good;
      changed += other;
      word.textContent = said[i].word;
      share.textContent = fixed(said[i].share, 3);
      sign.textContent = `${good ? "✓" : "✗"} ${other ? "changed" : good ? "right" : "wrong"}`;
      node.classList.toggle("mygpt-changed", other);
      node.classList.toggle("mygpt-good", good);
    });
    factSum.textContent = `${right} of ${facts.length} right${
      model.get("edits").length ? `, ${changed} changed by the edits` : ""}`;
    return changed;
  }

  /** What the last edit did to the prompt's likeliest word and to the facts, in a sentence. */
  function drawEffect() {
    const edits = model.get("edits");
    effectText = "No edits: this is the model as it was trained.";
    if (edits.length) {
      const earlier = answer(model.get("prompt"), edits.slice(0, -1));
      const [was, is] = [words[earlier.best], words[now.best]];
      const share = fixed(now.shares[earlier.best], 3);
      const moved = was === is
        ? `“${was}” goes from ${fixed(earlier.share, 3)} to ${share}`
        : `“${is}” ${fixed(now.share, 3)} takes the place of “${was}”, now ${share}`;
      const changed = facts.length
        ? `; ${factRows.filter(({ node }) => node.classList.contains("mygpt-changed")).length} of ${
          facts.length} facts now answered otherwise` : "";
      effectText = `${editInWords(edits.at(-1))}: ${moved}${changed}.`;
    }
    effect.textContent = edits.length ? `Last edit. ${effectText}` : effectText;
  }

  function describe() {
    const [neuron, row] = [model.get("neuron"), token()];
    const prediction = `After “${model.get("prompt") || STOP}” the likeliest word is “${
      words[now.best]}”, ${fixed(now.share, 3)}.`;
    const chosen = `Neuron ${neuron} of layer ${model.get("layer")} at token ${row}, “${tokens[row]}”: `
      + `coefficient ${fixed(hiddenAt(row, neuron), 3)}; it adds ${signed(amounts[neuron], 2)} to the score of “${
        words[now.best]}”, rank ${adding.indexOf(neuron) + 1} of ${neurons}.`;
    setting.textContent = `${prediction} ${chosen} ${effectText}`;
    heat.canvas.setAttribute("aria-label", `${model.get("description")} ${setting.textContent}`);
    return { prediction, chosen };
  }

  function drawHint() {
    if (!hovered) {
      hint.hide();
      return;
    }
    const { row, column: neuron } = hovered;
    const y = ((row + 1) * height) / tokens.length + 8;
    const frame = { left: gutter, right: gutter + room, top: y, bottom: y };
    hint.show(gutter + ((neuron + 0.5) * room) / neurons, frame, width, [], [
      html("strong", {}, `Neuron ${neuron}`),
      html("span", {}, html("bdi", {}, tokens[row]), html("b", {}, fixed(hiddenAt(row, neuron), 3))),
    ]);
  }
  const show = (cell) => {
    if (cell?.row === hovered?.row && cell?.column === hovered?.column) return;
    hovered = cell;
    drawHint();
  };
  heat.node.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") show(heat.under(event));
  });
  heat.node.addEventListener("pointerleave", () => show(null));

  const drawAnswer = () => {
    compute();
    drawNext();
    drawMap();
    drawToken();
    drawAdders();
  };
  const drawAll = () => {
    drawAnswer();
    drawEdits();
    drawNeuron();
    drawHint();
  };

  prompt.input.value = model.get("prompt");
  readPrompt();

  // Links.
  const stateNow = () => ({
    of, prompt: model.get("prompt"), layer: model.get("layer"), neuron: model.get("neuron"),
    token: token(), edits: model.get("edits"),
  });
  async function copyLink() {
    const hash = toLink(stateNow());
    const address = `${location.href.split("#")[0]}${hash}`;
    try {
      history.replaceState(history.state, "", hash);
    } catch {
      // a page that may not change its address: the link is copied all the same
    }
    try {
      await navigator.clipboard.writeText(address);
      say("The link is copied.");
    } catch {
      say("The link is in the address bar.");
    }
  }
  function applyLink() {
    try {
      const given = fromLink(location.hash);
      if (given === undefined) return;
      const other = given?.of !== undefined && given.of !== of;
      if (other && document.querySelectorAll(".mygpt-live-model").length > 1) return;
      if (other) throw new Error("it is for another model");
      const { prompt: text, token: place, ...rest } = checkedState(given, known);
      setPrompt(text);
      write({ token: place, ...rest });
      note.textContent = "";
    } catch (error) {
      const cause = error instanceof SyntaxError || error.name === "InvalidCharacterError"
        || error instanceof TypeError ? "it is damaged" : error.message;
      say(`The link was not used: ${cause}.`);
    }
  }

  const choose = (event) => {
    const { row, column: neuron } = heat.under(event);
    write({ token: row, neuron });
  };
  const spoken = { prompt: "prediction", layer: "chosen", neuron: "chosen", token: "chosen" };
  const speaking = (trait, update) => () => {
    update();
    voice.say(spoken[trait] ? describe()[spoken[trait]] : effectText);
  };
  const takeDown = mount({
    model, el, root,
    undo: [
      dragging(heat.node, choose, neurons > 1 ? handle.node : select), themed(paint), voice.stop,
      () => removeEventListener("hashchange", applyLink),
    ],
    listeners: {
      prompt: speaking("prompt", () => {
        drawAnswer();
        drawEffect();
        drawNeuron();
        drawHint();
      }),
      edits: speaking("edits", drawAll),
      layer: speaking("layer", () => {
        paint();
        drawToken();
        drawAdders();
        drawNeuron();
      }),
      token: speaking("token", () => {
        drawToken();
        drawNeuron();
      }),
      neuron: speaking("neuron", drawNeuron),
    },
    layout: (to) => {
      width = to;
      root.classList.toggle("mygpt-wide", width >= 600);
      if (now) {
        drawNext();
        drawMap();
        drawToken();
        drawNeuron();
        drawHint();
      } else drawAll();
    },
  });
  if (linked) {
    addEventListener("hashchange", applyLink);
    applyLink();
  }
  return takeDown;
}

export default { render };
