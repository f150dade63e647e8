import { loadModel } from "../../mygpt/explorers/live_model/gpt.mjs";
import { compileEdits } from "../../mygpt/explorers/live_model/writing.mjs";
import { DRAWS, holders, silenced, survivals } from "../../mygpt/explorers/live_model/holders.mjs";
import { assert, test, times } from "./common.mjs";

const BITS = { 0: 0, 1: 0x3c00, 2: 0x4000, 4: 0x4400, "-1": 0xbc00 };

/**
 * Four words in four channels. After word 0 every neuron fires with 1; the first pushes word 1 by 4,
 * the second word 2 by 2, the others nothing. With `copying` the heads push word 3 above all.
 */
function model({ copying = false, held = true } = {}) {
  const diagonal = (size, on = 1) => times(size * size, (i) => (i % (size + 1) ? 0 : on));
  const fc2 = Array(4 * 6).fill(0);
  fc2[1 * 6] = held ? 4 : 0;
  fc2[2 * 6 + 1] = 2;
  const values = Array(16).fill(0);
  if (copying) values[3 * 4] = 4;
  const parts = {
    "token.embedding.weight": [[4, 4], diagonal(4)],
    "position.weight": [[2, 4], Array(8).fill(0)],
    "blocks.0.ln1.weight": [[4], Array(4).fill(1)],
    "blocks.0.ln1.bias": [[4], Array(4).fill(0)],
    "blocks.0.mha.W_Q.weight": [[4, 4], Array(16).fill(0)],
    "blocks.0.mha.W_K.weight": [[4, 4], Array(16).fill(0)],
    "blocks.0.mha.W_V.weight": [[4, 4], values],
    "blocks.0.mha.W_O.weight": [[4, 4], diagonal(4, 2)],
    "blocks.0.ln2.weight": [[4], Array(4).fill(0)],
    "blocks.0.ln2.bias": [[4], [1, 0, 0, 0]],
    "blocks.0.mlp.fc1.weight": [[6, 4], times(24, (i) => (i % 4 ? 0 : 1))],
    "blocks.0.mlp.fc2.weight": [[4, 6], fc2],
    "ln_f.weight": [[4], Array(4).fill(1)],
    "ln_f.bias": [[4], Array(4).fill(0)],
  };
  const numbers = Object.values(parts).flatMap(([, data]) => data);
  const bytes = new DataView(new ArrayBuffer(2 * numbers.length));
  numbers.forEach((one, i) => bytes.setUint16(2 * i, BITS[one], true));
  const layout = Object.entries(parts).map(([name, [shape]]) => [name, shape]);
  return loadModel({ layout, bytes, heads: 1, activation: "relu", rewriting: {} });
}

test("the fewest neurons that hold an answer are found, and as many others do not hold it", () => {
  assert.deepEqual(holders(model(), [0], 0), { neurons: [0] });
  assert.equal(survivals(model(), [0], 0, [0]), DRAWS);
});

test("draws that hit what holds the answer do not all survive", () => {
  const some = survivals(model(), [0], 0, [5]); // one of the five others is the one that holds it
  assert.ok(some > 0 && some < DRAWS, some);
});

test("what no neuron holds is looked for in the heads", () => {
  assert.deepEqual(holders(model({ copying: true, held: false }), [0], 0), { heads: 0 });
});

test("the search goes on from the edits that are there", () => {
  const gpt = model();
  const once = compileEdits(gpt, [{ kind: "scale", layer: 0, neuron: [0], factor: 0 }]);
  assert.deepEqual(holders(gpt, [0], 0, once), { neurons: [1] });
  assert.deepEqual([...silenced(gpt, once, 0, [1])[0].scale], [0, 0, 1, 1, 1, 1]);
  assert.deepEqual([...once[0].scale], [0, 1, 1, 1, 1, 1]);
});
