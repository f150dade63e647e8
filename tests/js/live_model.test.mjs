import { completed } from "../../mygpt/explorers/kit/parts/combobox.mjs";
import { switchedOff } from "../../mygpt/explorers/live_model/cover.mjs";
import { happenedTo, movedInWords, testedInWords } from "../../mygpt/explorers/live_model/happened.mjs";
import { fillers, otherAnswer, refused } from "../../mygpt/explorers/live_model/known.mjs";
import { checkedState, checksum, fromLink, toLink } from "../../mygpt/explorers/live_model/links.mjs";
import { barPlaces, begunAt, likeliest } from "../../mygpt/explorers/live_model/prompt.mjs";
import * as states from "../../mygpt/explorers/live_model/state.mjs";
import * as wording from "../../mygpt/explorers/live_model/words.mjs";
import { readLines, writtenInWords } from "../../mygpt/explorers/live_model/written.mjs";
import { assert, gives, says, stateOf, test } from "./common.mjs";

test("a prompt is split at blanks and around full stops", () => {
  gives(wording.splitPrompt, ["  The cat.sat \n", ""], [["the", "cat", ".", "sat"], []]);
  gives(wording.withStop, [[], ["a"], [".", "a"]], [["."], [".", "a"], [".", "a"]]);
});

test("the word under the caret, at its start, inside, at its end and between two blanks", () => {
  const text = "the capital of.in";
  assert.deepEqual(wording.spanAt(text, 4), { start: 4, end: 11 });
  assert.deepEqual(wording.spanAt(text, 7), { start: 4, end: 11 });
  assert.deepEqual(wording.spanAt(text, 11), { start: 4, end: 11 });
  assert.deepEqual(wording.spanAt(text, 14), { start: 12, end: 14 });
  assert.deepEqual(wording.spanAt(text, 17), { start: 15, end: 17 });
  assert.deepEqual(wording.spanAt("a  b", 2), { start: 2, end: 2 });
  assert.deepEqual(wording.spanAt("", 0), { start: 0, end: 0 });
});

test("a long prompt is named by its end", () => {
  gives((most) => wording.tailOf("a bb ccc", most), [8, 7, 5], ["a bb ccc", "… bb ccc", "… ccc"]);
  assert.equal(wording.tailOf("a bbbbbb", 3), "… bbb");
});

test("completions begin with what is typed, and are longer", () => {
  const words = ["in", "india", "indian", "iraq", "is"];
  assert.deepEqual(wording.completions(words, "In"), ["india", "indian"]);
  assert.deepEqual(wording.completions(words, "i", 3), ["in", "india", "indian"]);
  assert.deepEqual(wording.completions(words, "x"), []);
});

test("a number shows its sign, but zero has none", () => {
  const texts = [2.305, -2.305, 0.004, -0.004].map((one) => wording.signed(one, 2));
  assert.deepEqual(texts, ["+2.31", "−2.31", "0.00", "0.00"]);
});

test("a lower triangle becomes a whole matrix", () => {
  assert.deepEqual([...states.symmetric([1, 2, 3, 4, 5, 6], 3)], [1, 2, 4, 2, 3, 5, 4, 5, 6]);
});

test("edits in words", () => {
  const { editInWords } = wording;
  const scale = { kind: "scale", layer: 1, neuron: 17, factor: 0 };
  const heads = { kind: "part", layer: 0, part: "heads", factor: 0 };
  says(editInWords(scale), "Neuron 17 of layer 1 switched off");
  says(editInWords({ ...scale, factor: 2 }), "Neuron 17 of layer 1 doubled");
  says(editInWords({ ...scale, neuron: [3, 5], factor: 1 }), "Neurons 3, 5 of layer 1 back at their own strength");
  says(editInWords({ kind: "value", layer: 0, neuron: 2, word: "rome" }), "Neuron 2 of layer 0 pointed at “rome”");
  says(editInWords(heads), "Heads of layer 0 switched off");
  says(editInWords({ ...heads, part: "network", factor: 1 }), "Network 0 switched on");
  says(editInWords({ kind: "rewrite", prompt: "a b", word: "rome" }), "“a b” rewritten to “rome”");
});

/** A state of two layers, the second with a network, that keeps its edits and its notes. */
function switchable(edits = []) {
  const said = [];
  const fields = { blocks: [0, 1], layers: [1], redraw: { note() {} }, note: "", said, say: (text) => said.push(text) };
  return stateOf({ edits }, fields);
}
const HEADS = { layer: 1, part: "heads" };
const NETWORK = { layer: 1, part: "network" };
const off = (part) => ({ kind: "part", ...part, factor: 0 });
const REWRITE = { kind: "rewrite", prompt: "of", word: "of" };

test("a part that is switched on again leaves no edit", () => {
  const state = switchable();
  states.switchPart(state, HEADS, false);
  states.switchPart(state, NETWORK, false);
  assert.deepEqual(state.get("edits"), [off(HEADS), off(NETWORK)]);
  assert.ok(!wording.isOn(state.get("edits"), 1, "heads") && wording.isOn(state.get("edits"), 0, "heads"));
  states.switchPart(state, HEADS, true);
  assert.deepEqual(state.get("edits"), [off(NETWORK)]);
});

test("what a fact was rewritten under stays among the edits", () => {
  const state = switchable([off(HEADS), REWRITE]);
  states.switchPart(state, HEADS, true);
  assert.deepEqual(state.get("edits"), [off(HEADS), REWRITE, { ...off(HEADS), factor: 1 }]);
  assert.ok(wording.isOn(state.get("edits"), 1, "heads"));
});

test("no fact is rewritten in a network that is off, and no edit is one too many", () => {
  const state = switchable([off(NETWORK)]);
  states.addEdit(state, REWRITE);
  assert.deepEqual(state.get("edits"), [off(NETWORK)]);
  assert.deepEqual(state.said, ["Network 1 is off: switch it on to rewrite a fact in it."]);
  const full = switchable(Array(64).fill(REWRITE));
  states.switchPart(full, HEADS, false);
  assert.equal(full.get("edits").length, 64);
  assert.deepEqual(full.said, ["At most 64 edits."]);
});

const STATE = {
  prompt: "größe of",
  layer: 1,
  neuron: 12,
  token: 2,
  edits: [
    { kind: "scale", layer: 1, neuron: [0, 12], factor: 0 },
    { kind: "value", layer: 2, neuron: 3, word: "of" },
    { kind: "rewrite", prompt: "of", word: "größe" },
    { kind: "part", layer: 0, part: "heads", factor: 0 },
    { kind: "write", facts: [["of", "has", "größe"]] },
    { kind: "part", layer: 2, part: "network", factor: 0 },
  ],
};
const KNOWN = {
  words: new Set([".", "größe", "of"]),
  longest: 3,
  blocks: [0, 1, 2],
  layers: [1, 2],
  neurons: 13,
  templates: { has: ["{}", "größe {}"] },
  rewrites: true,
};

test("a link brings the state back, in letters that need no escape", () => {
  const link = toLink({ of: 4294967295, ...STATE });
  assert.match(link, /^#live=[\w-]+$/);
  assert.deepEqual(fromLink(link), { of: 4294967295, ...STATE });
  for (let length = 0; length < 9; length += 1) {
    // with every padding, and all 64 letters
    const text = "~?>ÿ".repeat(length).slice(length % 3);
    assert.equal(fromLink(toLink({ text })).text, text);
  }
  assert.equal(fromLink("#section"), undefined);
  assert.throws(() => fromLink(`${link}!`));
  assert.throws(() => fromLink("#live=e30x"));
});

test("a state that Python would accept is accepted, and unknown fields are ignored", () => {
  assert.deepEqual(checkedState({ of: 1, extra: "x", ...STATE }, KNOWN), STATE);
});

const BAD = {
  "no object": null,
  "no prompt": { prompt: undefined },
  "unknown word": { prompt: "of them" },
  "long prompt": { prompt: "of of of of" },
  "layer without a network": { layer: 0 },
  neuron: { neuron: 13 },
  "half a neuron": { neuron: 0.5 },
  token: { token: 3 },
  "no edits": { edits: {} },
  "many edits": { edits: Array(65).fill(STATE.edits[0]) },
  "no edit": { edits: [null] },
  kind: { edits: [{ ...STATE.edits[0], kind: "other" }] },
  factor: { edits: [{ ...STATE.edits[0], factor: 3 }] },
  "factor as text": { edits: [{ ...STATE.edits[0], factor: "0" }] },
  "no neuron": { edits: [{ ...STATE.edits[0], neuron: [] }] },
  "neuron as Boolean": { edits: [{ ...STATE.edits[0], neuron: true }] },
  "Boolean among several": { edits: [{ ...STATE.edits[0], neuron: [1, true] }] },
  "one of several": { edits: [{ ...STATE.edits[0], neuron: [1, 13] }] },
  "several values": { edits: [{ ...STATE.edits[1], neuron: [1, 2] }] },
  word: { edits: [{ ...STATE.edits[1], word: "rome" }] },
  part: { edits: [{ ...off(HEADS), part: "toString" }] },
  "part of no layer": { edits: [{ ...off(HEADS), layer: 3 }] },
  "network of a layer without": { edits: [{ ...off(NETWORK), layer: 0 }] },
  "half a part": { edits: [{ ...off(HEADS), factor: 0.5 }] },
  "rewriting a network that is off": { edits: [{ ...off(NETWORK), layer: 2 }, STATE.edits[2]] },
  "writing into a network that is off": { edits: [{ ...off(NETWORK), layer: 2 }, STATE.edits[4]] },
  "no facts": { edits: [{ kind: "write", facts: "of has of" }] },
  "facts of another relation": { edits: [{ kind: "write", facts: [["of", "toString", "of"]] }] },
  "many facts": { edits: [{ kind: "write", facts: [["of", "has", "of", "of"]] }] },
  "rewritten prompt": { edits: [{ ...STATE.edits[2], prompt: "rome" }] },
};

test("a state that Python would refuse is refused", () => {
  for (const [name, changes] of Object.entries(BAD)) {
    const given = changes && { ...STATE, ...changes };
    assert.throws(() => checkedState(given, KNOWN), /does not fit this model/, name);
  }
  assert.throws(() => checkedState(STATE, { ...KNOWN, rewrites: false }), /its edit does not fit/);
});

test("facts are read from lines, and the first that cannot be written is named", () => {
  const read = (text) => {
    const { facts, wrong } = readLines(text, { places: KNOWN.words, templates: KNOWN.templates });
    return wrong || facts.join(";");
  };
  gives(
    read,
    [
      "of has größe\n\n OF, has: of",
      "of has",
      "of had of",
      "of has them",
      "of has of\nof has größe",
      " \n",
      "a b c\n".repeat(3),
    ],
    [
      "“of has” is there twice.",
      "“of has”: expected two words and a new answer.",
      "“of had of”: the second word must be “has”.",
      "“them” is not one of the model’s words.",
      "“of has” is there twice.",
      "There is no fact to write.",
      "“a b c”: the second word must be “has”.",
    ],
  );
  assert.equal(read("of has größe\n\n Größe -> HAS: of."), "of,has,größe;größe,has,of");
  says(
    writtenInWords(1, 0, 13),
    "1 written, from neuron 13 on, beside 13 that were trained. The model gives 0 of 1 new answers.",
  );
});

test("the checksum is FNV-1a, and depends on the order of the bytes", () => {
  const sum = (text) => checksum(new DataView(new TextEncoder().encode(text).buffer));
  gives(sum, ["", "foobar"], [0x811c9dc5, 0xbf9cf968]);
  assert.notEqual(sum("ab"), sum("ba"));
});

test("a draft is a prompt, or else the message says what is wrong with it", () => {
  const words = [".", "in", "india", "rome"];
  const state = { words, places: new Map(words.map((word, i) => [word, i])), longest: 3, get: () => "in rome" };
  const read = (text, caret = text.length) => states.readDraft(text, caret, state);
  assert.deepEqual(read(" In.rome "), {
    prompt: "in . rome",
    good: true,
    wrong: false,
    long: false,
    message: "It knows 4 words; ↓ lists the likeliest.",
  });
  assert.match(read("in ro").message, /^“ro…” is not a whole word yet/);
  assert.ok(!read("in ro").good && !read("in ro").wrong);
  assert.ok(read("in ro", 1).wrong); // the caret is elsewhere
  assert.match(read("paris oslo").message, /^“paris” and “oslo” are not among the 4 words\. .*“in rome”\.$/);
  assert.match(read("in paris").message, /^“paris” is not among/);
  const long = read("in in in in");
  assert.ok(long.long && !long.good && !long.wrong);
  assert.match(long.message, /at most 3 words/);
});

test("words in a list", () => {
  const lists = ["a", "ab", "abc"].map((letters) => wording.listed([...letters]));
  assert.deepEqual(lists, ["“a”", "“a” or “b”", "“a”, “b” or “c”"]);
});

test("the untouched model's word has a bar, though it is no longer among the likeliest", () => {
  const places = (now, untouched) => barPlaces({ now: { order: now }, untouched: { order: untouched } }, 3);
  assert.deepEqual(places([7, 5, 4, 9], [4, 5, 7]), [7, 5, 4]);
  assert.deepEqual(places([7, 5, 4, 9], [9, 5, 7]), [7, 5, 9]);
});

test("an answer falls, goes or stays", () => {
  const moved = (share, now) => movedInWords("it", { best: "paris", share: 0.9994 }, share, now);
  assert.equal(moved(0.1, "rome"), "it falls from 0.999 to 0.100, and the model says “rome”.");
  assert.equal(moved(0.99, "paris"), "it goes from 0.999 to 0.990.");
  assert.equal(moved(0.9993, "paris"), "it stays at 0.999.");
});

test("one count is said of the answers that are tested: how many changed, and up to three by name", () => {
  const told = (names, settings = {}) => testedInWords({ names, count: 8, besides: false, less: 0, ...settings });
  assert.equal(told([], { less: 1 }), "None of the 8 tested is changed; 1 is less sure.");
  assert.equal(told(["this one", "“b”"]), "2 of the 8 tested are changed: this one and “b”.");
  assert.equal(told(["“b”"], { besides: true }), "Besides this one, 1 of the 8 tested is changed: “b”.");
  const many = ["this one", "“b”", "“c”", "“d”", "“e”"];
  assert.equal(told(many), "5 of the 8 tested are changed: this one, “b”, “c” and 2 more.");
});

test("an edit is told for its prompt, and said to stay on at another", () => {
  const silent = { kind: "scale", layer: 1, neuron: [3, 5], factor: 0 };
  const traits = { prompt: "a", edits: [silent] };
  const before = { best: "rome", share: 1, order: [0] };
  const now = { best: "oslo", shares: [0.25], order: [1] };
  const state = {
    facts: [["c", "rome"]],
    said: [{ word: "rome", share: 1, changed: false }],
    trained: [{ word: "rome", share: 1 }],
    now,
    untouched: before,
    neurons: 9,
    answer: () => before,
    get: (trait) => traits[trait],
    sought: new Map([[JSON.stringify([silent]), { prompt: "a", stays: 20 }]]),
  };
  const [silenced, tested] = happenedTo(state);
  says(silenced, /^The 2 of 9 neurons .* to “rome” are off: it falls from 1\.000 to 0\.250, .* 20 of 20/);
  says(tested, "Besides this one, none of the 1 tested is changed.");
  traits.prompt = "b";
  const here = "on. Here “rome” falls from 1.000 to 0.250, and the model says “oslo”.";
  assert.equal(happenedTo(state)[0], `The edit for “a” stays ${here}`);
  state.said[0].changed = true;
  assert.equal(happenedTo(state)[1], "Besides this one, 1 of the 1 tested is changed: “c”.");
  state.facts = [["b", "rome"]];
  assert.equal(happenedTo(state)[1], "1 of the 1 tested is changed: this one.");
  traits.edits = [silent, silent];
  const told = "Neurons 3, 5 of layer 1 switched off: “rome” falls from 1.000 to 0.250, and the model says “oslo”.";
  assert.equal(happenedTo(state)[0], told); // for no prompt in particular
  state.sought.set(JSON.stringify(traits.edits), { prompt: "a", stays: 20 });
  assert.equal(happenedTo(state)[0], `The 2 edits stay ${here}`);
});

test("of a word that it does not have the model offers longer ones, kindred answers, then others", () => {
  const capitals = { france: "paris", italy: "rome", japan: "tokyo", a: ".", of: "oslo" };
  const words = [...Object.keys(capitals), ...Object.values(capitals)];
  const ask = (prompt) => ({
    words,
    places: new Map(words.map((word, i) => [word, i])),
    now: { best: "paris" },
    facts: [
      ["capital of france", "paris"],
      ["capital of italy", "rome"],
      ["speech of france", "arabic"],
    ],
    answer: (text) => {
      const word = text.split(" ").at(-1);
      return { best: capitals[word] ?? "you", share: word === "of" ? 0.5 : 1 };
    },
    get: () => prompt,
  });
  assert.deepEqual([...fillers(["of a", "of b", "a", "of"])], ["a", "b", "of"]);
  const refusal = (prompt, word) => refused(ask(prompt), word).split(". ")[1];
  assert.equal(refusal("capital of france", "london"), "Try “rome”, “tokyo” or “you”.");
  assert.equal(refusal("capital of france", "jap"), "Try “japan”, “rome” or “tokyo”.");
  assert.equal(refusal("you speak", "london"), "Try “rome” or “arabic”.");
  assert.equal(refused(ask("speak"), ""), "Type one of the model’s 10 words.");
});

test("five neurons that add most are named, as long as they add something", () => {
  const adding = [6, 5, 4, 3, 2, 1, 0];
  assert.deepEqual(states.strongest({ adding, amounts: [0, 1, 2, 3, 4, 5, 6] }), [6, 5, 4, 3, 2]);
  assert.deepEqual(states.strongest({ adding, amounts: [-7, -6, -5, -4, 0, 1, 2] }), [6, 5]);
});

test("a word of the prompt's list takes the place of one that is begun, or else comes at the end", () => {
  const known = new Set(["the", "capital", "is", "islamabad"]);
  const written = (text, caret, word) => {
    const part = begunAt(text, caret, known);
    return completed(text, part, text.slice(part.start, caret), word, " ");
  };
  assert.deepEqual(written("the capital is", 14, "dinar"), { text: "the capital is dinar ", caret: 21 });
  assert.equal(written("the capital is ", 15, "dinar").text, "the capital is dinar ");
  assert.equal(written("The capital", 3, "is").text, "The capital is "); // the caret is in a whole word
  assert.equal(written("the capital isl", 15, "islamabad").text, "the capital islamabad ");
  assert.deepEqual(written("the cap is", 7, "capital"), { text: "the capital is", caret: 11 });
  assert.equal(written("", 0, "the").text, "the ");
});

test("no likeliest words are listed for a prompt that is not the one in the field", () => {
  const state = { words: ["is", "rome"], now: { order: [1, 0] } };
  assert.deepEqual(likeliest({ ...state, reading: { good: true } }), ["rome", "is"]);
  assert.deepEqual(likeliest({ ...state, reading: { good: false } }), []);
});

test("a new answer of the same kind is proposed, which the model does not give", () => {
  const facts = [
    ["the capital of france is", "paris"],
    ["people in france speak", "french"],
    ["the currency of france is", "euro"],
    ["the capital of italy is", "rome"],
    ["the capital of japan is", "tokyo"],
    ["people in egypt speak", "arabic"],
  ];
  const proposed = (prompt, untouched, now = untouched) =>
    otherAnswer({ facts, now: { best: now }, untouched: { best: untouched }, get: () => prompt });
  assert.equal(proposed("the capital of france is", "paris"), "rome");
  assert.equal(proposed("the capital of france is", "paris", "rome"), "tokyo");
  assert.equal(proposed("people in france speak", "french"), "arabic");
  assert.equal(proposed("the capital of spain is", "madrid"), "paris");
  assert.equal(proposed("mia", "paris"), "french"); // of no kind
  assert.equal(otherAnswer({ facts: [], now: {}, untouched: { best: "paris" }, get: () => "mia" }), "paris");
});

test("what was switched off is known at any prompt, and after later edits, as long as it is off", () => {
  const cut = { kind: "scale", layer: 0, neuron: [1], factor: 0 };
  const sought = new Map([[JSON.stringify([cut]), { prompt: "a", word: "rome" }]]);
  const held = (scale, ...edits) =>
    switchedOff({ sought, compiled: () => [{ scale }], get: (trait) => ({ prompt: "b", edits })[trait] });
  assert.deepEqual(held([1, 0], cut), { word: "rome", at: 0 });
  assert.deepEqual(held([1, 0], cut, REWRITE), { word: "rome", at: 0 });
  assert.equal(held([1, 1], cut, { ...cut, factor: 1 }), undefined);
  assert.equal(held([1, 0], { ...cut, neuron: [0] }), undefined); // the reader did that elsewhere
  sought.set(JSON.stringify([off(HEADS)]), { word: "lamp" });
  assert.equal(held(null, off(HEADS))?.word, "lamp");
});

test("the neurons of the layer that are off", () => {
  const state = (compiled) => ({ get: (trait) => (trait === "layer" ? 1 : []), compiled: () => compiled });
  const lists = [[null, { scale: [1, 0, 2, 0] }], [null, { scale: null }], null].map(state);
  gives(states.offNeurons, lists, [[1, 3], [], []]);
});
