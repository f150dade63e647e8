import { forward, loadModel } from "../../mygpt/explorers/live_model/gpt.mjs";
import { liveModelOf } from "../../mygpt/explorers/live_model/from_page.mjs";
import { promptPieces } from "../../mygpt/explorers/live_model/pieces.mjs";
import { begunAt } from "../../mygpt/explorers/live_model/prompt.mjs";
import { liveState, readDraft, typePrompt } from "../../mygpt/explorers/live_model/state.mjs";
import { samplesOf, strongestSamples, studyText } from "../../mygpt/explorers/live_model/study.mjs";
import { completions } from "../../mygpt/explorers/live_model/words.mjs";
import { mulberry32 } from "../../mygpt/explorers/kit/numbers.mjs";
import { assert, near, test } from "./common.mjs";

const TOKENS = ["\n", " ", "a", "B", "é", "😀", "\u0301", "\u00a0", "\ufe0f"];
const characters = promptPieces("characters", TOKENS);
const words = promptPieces("words", ["The", "harbour,", "the", "Then"]);

test("each character is a piece, and blanks, marks and what is not seen have names", () => {
  const names = ["⏎", "␣", "a", "B", "é", "😀", "◌\u0301", "U+00A0", "U+FE0F"];
  assert.deepEqual(characters.names(TOKENS), names);
  const text = "a B\n😀é\u0301\u00a0";
  const found = characters.split(text);
  assert.deepEqual(found, ["a", "␣", "B", "⏎", "😀", "é", "◌\u0301", "U+00A0"]);
  assert.equal(characters.join(found), "a B⏎😀é\u0301\u00a0");
  assert.deepEqual(characters.split(characters.join(found)), found); // a line break stays one
  assert.deepEqual(characters.begun(found), found);
  assert.equal(characters.note, "␣ is a space, ⏎ a line break (Enter).");
  assert.equal(characters.spoken("“␣”, then “⏎”"), "“space”, then “line break”");
  assert.equal(characters.suggests, false);
});

test("a sign that is a token itself stands for no other", () => {
  const pieces = promptPieces("characters", ["␣", "␠", " ", "⏎", "\n"]);
  const names = pieces.names(["␣", "␠", " ", "⏎", "\n"]);
  assert.deepEqual(names, ["␣", "␠", "U+0020", "⏎", "␊"]);
  assert.equal(new Set(names).size, 5);
  assert.equal(pieces.join(pieces.split("␣ ⏎\n")), "␣ ⏎␊");
});

test("words keep their case and their signs, and are split as Python splits them", () => {
  assert.deepEqual(words.split(" The\u00a0harbour,\u001cthe\n"), ["The", "harbour,", "the"]);
  assert.deepEqual(words.split("a\ufeffb"), ["a\ufeffb"]); // no white space for Python
  assert.equal(words.join(["The", "harbour,"]), "The harbour,");
  assert.deepEqual(words.begun(["The"]), ["The"]); // no full stop before it
  assert.deepEqual(words.span("The harbour, th", 7), { start: 4, end: 12 });
  assert.deepEqual(words.span("", 0), { start: 0, end: 0 });
  assert.deepEqual(begunAt("The harb", 8, new Set(["The"]), words), { start: 4, end: 8 });
  assert.deepEqual(completions(["The", "Then", "the", "there"], "the"), ["there", "The", "Then"]);
  assert.deepEqual(completions(["The", "Then", "the", "there"], "Th"), ["The", "Then", "the", "there"]);
});

test("the world's pieces stay as they were, and there are no others", () => {
  const world = promptPieces("world", [".", "in"]);
  assert.deepEqual(world.begun(world.split("In")), [".", "in"]);
  assert.deepEqual([world.longest(64), world.longest(12)], [31, 11]);
  assert.deepEqual([characters.longest(64), words.longest(12)], [64, 12]);
  assert.throws(() => promptPieces("bytes", []), /among world, words and characters, got bytes/);
});

test("a draft of characters is a prompt, too long, empty, or has unknown ones", () => {
  const names = characters.names(TOKENS);
  const state = { pieces: characters, words: names, places: new Map(names.map((one, i) => [one, i])), longest: 4 };
  const read = (text) => readDraft(text, text.length, { ...state, get: () => "a" });
  const message = "It knows 9 characters; ␣ is a space, ⏎ a line break (Enter).";
  assert.deepEqual(read("a B "), { prompt: "a B ", good: true, wrong: false, long: false, message });
  assert.equal(read("a⏎").prompt, read("a\n").prompt);
  assert.ok(read("aaaaa").long);
  assert.match(read("aaaaa").message, /at most 4 characters\. The prediction is for “a”/);
  assert.ok(!read("").good && !read("").wrong);
  assert.match(read("").message, /at least one character/);
  assert.match(read("xxé").message, /^“x” is not among the 9 characters/); // named once
  assert.match(read("uvwxyz").message, /^“u”, “v”, “w”, “x” and 2 more are not among/);
});

/** The tensors of a model, of random numbers that depend on the seed. */
function random(config, seed = 1) {
  const { vocab, positions, width, layers, hidden } = config;
  const next = mulberry32(seed);
  const numbers = (count, scale = 1) => Float32Array.from({ length: count }, () => scale * (2 * next() - 1));
  const tensors = new Map([
    ["token.embedding.weight", numbers(vocab * width)],
    ["position.weight", numbers(positions * width)],
  ]);
  const norm = (name) => {
    tensors.set(`${name}.weight`, new Float32Array(width).fill(1));
    tensors.set(`${name}.bias`, numbers(width, 0.1));
  };
  for (let i = 0; i < layers; i += 1) {
    for (const one of ["ln1", "ln2"]) norm(`blocks.${i}.${one}`);
    const linear = ["Q", "K", "V", "O"].map((one) => [`mha.W_${one}`, width, width]);
    for (const [name, outs, ins] of [...linear, ["mlp.fc1", hidden, width], ["mlp.fc2", width, hidden]]) {
      tensors.set(`blocks.${i}.${name}.weight`, numbers(outs * ins, 1 / Math.sqrt(ins)));
      if (config.bias) tensors.set(`blocks.${i}.${name}.bias`, numbers(outs, 0.1));
    }
  }
  norm("ln_f");
  return tensors;
}
const CONFIG = {
  ...{ vocab: TOKENS.length, positions: 12, width: 16, heads: 2, layers: 2, hidden: 64 },
  ...{ activation: "gelu_tanh", bias: true, attentionOnly: [] },
};
const TRAINED = { config: CONFIG, tensors: random(CONFIG), tokenizer: { kind: "characters", tokens: TOKENS } };

test("a model of the page is a live model, with its own float32 weights", () => {
  const model = liveModelOf({ ...TRAINED, prompt: "a\nB" });
  const state = liveState(model, () => {});
  assert.equal(model.get("prompt"), "a⏎B");
  assert.deepEqual([model.get("layer"), model.get("token")], [1, 2]);
  assert.deepEqual(state.gpt.embedding, Float64Array.from(TRAINED.tensors.get("token.embedding.weight")));
  const { logits } = forward(state.gpt, [2, 0, 3]);
  assert.deepEqual(state.answer("a⏎B", []).pass.logits, logits);
  assert.equal(state.answer("a⏎B", []), state.answer("a⏎B", []));
  typePrompt(state, "B 😀");
  assert.equal(model.get("prompt"), "B 😀");
  assert.equal(model.get("token"), 2);
});

test("a model of the page that does not fit together is refused", () => {
  assert.throws(() => liveModelOf({ ...TRAINED, prompt: "ax" }), /characters that the model knows, got “x”/);
  assert.throws(() => liveModelOf({ ...TRAINED, prompt: "" }), /a prompt of 1 to 12 characters, got 0/);
  assert.throws(() => liveModelOf({ ...TRAINED, prompt: "a".repeat(13) }), /1 to 12 characters, got 13/);
  const config = { ...CONFIG, vocab: 8 };
  assert.throws(() => liveModelOf({ ...TRAINED, config, prompt: "a" }), /expected 8 tokens, got 9/);
  const alone = { ...CONFIG, attentionOnly: [0, 1] };
  assert.throws(() => liveModelOf({ ...TRAINED, config: alone, prompt: "a" }), /got attention alone/);
});

test("a pass that goes on from another is the same as one of its own, with edits or without", () => {
  const shapes = liveModelOf({ ...TRAINED, prompt: "a" });
  const gpt = loadModel({
    layout: shapes.get("shapes"),
    bytes: shapes.get("weights"),
    dtype: "float32",
    heads: 2,
    activation: "gelu_tanh",
    rewriting: {},
  });
  const scale = Float64Array.from({ length: 64 }, (_, i) => i % 3);
  const edit = {
    scale,
    values: new Map([[3, new Float64Array(16).fill(1)]]),
    additions: [],
    cards: [],
    heads: 1,
    network: 1,
  };
  for (const edits of [null, [edit, null], [{ ...edit, heads: 0 }, edit]]) {
    for (const pair of ["123 12345", "1234 12", "1234 1254", "42 12", "12 12"]) {
      const [before, ids] = pair.split(" ").map((text) => [...text].map(Number));
      const own = forward(gpt, ids, { edits });
      const on = forward(gpt, ids, { edits, after: forward(gpt, before, { edits }) });
      for (const part of Object.keys(own)) near(on[part], own[part]);
    }
  }
  const edits = [null, edit];
  const ids = [1, 2, 3, 4];
  const own = forward(gpt, ids, { edits });
  const on = forward(gpt, ids, { edits, after: forward(gpt, ids), from: 1 });
  for (const part of Object.keys(own)) near(on[part], own[part]);
});

const PLACES = new Map(Object.entries({ the: 0, cat: 1, sat: 2 }));
test("samples are whole words and whole characters, and strange ones are left out", () => {
  const text = "the cat sat ".repeat(200);
  for (const { names } of samplesOf(text, words, PLACES, 9, 4)) {
    assert.ok(names.length <= 4 && names.every((one) => PLACES.has(one)));
  }
  const faces = "😀".repeat(300);
  const found = samplesOf(faces, characters, new Map([["😀", 5]]), 20, 6);
  assert.equal(found.length, 20);
  assert.ok(found.every(({ ids }) => ids.length === 6 && ids.every((id) => id === 5)));
  assert.deepEqual(samplesOf("xyz", characters, new Map(), 20, 6), []);
  assert.equal(samplesOf("a", characters, new Map([["a", 2]]), 20, 6).length, 1);
});

test("of each neuron the strongest samples stay, in order", () => {
  const kept = strongestSamples(2);
  for (let sample = 0; sample < 12; sample += 1) {
    kept.add(Float32Array.from([sample % 7, -1, 0.5, -2]), 2, 2, 0, sample);
  }
  assert.deepEqual([...kept.numbers.slice(0, 5)], [6, 5, 4, 4, 3]);
  assert.equal(kept.numbers[0], 6);
  assert.equal(kept.places[0], 6 * 64);
  assert.deepEqual([...kept.places.slice(8)], Array(8).fill(-1)); // one that never fires
});

test("the triggers of a neuron are texts at whose end it fires, and the moment is that of the engine's pass", async () => {
  const text = "aB a\nBB 😀 é".repeat(60);
  const { triggers, moment } = await studyText({ ...TRAINED, text, rewriting: true });
  assert.deepEqual(triggers.layers, [0, 1]);
  assert.equal(triggers.data.length, 2 * 64 * 5 * 2);
  const model = liveModelOf({ ...TRAINED, prompt: "a", triggers, moment });
  const state = liveState(model, () => {});
  assert.ok(state.factor);
  const firing = state.triggers.findIndex((pairs) => pairs.length > 1);
  const [first, second] = state.triggers[firing];
  assert.ok(first.number >= second.number && first.text !== second.text);
  for (let i = 0; i < 64; i += 1) {
    assert.ok(moment[65 * i] > 0);
    assert.equal(moment[i], moment[64 * i]);
  }
  const stopped = await studyText({ ...TRAINED, text, signal: AbortSignal.abort() });
  assert.equal(stopped, null);
  const short = await studyText({ ...TRAINED, text: "aB" });
  const whole = short.triggers.texts.filter((one) => !one.startsWith("…"));
  assert.ok(whole.length > 0 && whole.every((one) => "aB".startsWith(one)));
  const rows = forward(state.gpt, [2, 3]).own[0];
  const [place, thousandths] = short.triggers.data;
  const here = short.triggers.texts[place] === "a" ? 0 : 64;
  if (place >= 0) near(rows[here], thousandths / 1000, 2e-3);
});
