import { erf } from "../../../mygpt/explorers/kit/numbers.mjs";
import { assert, near, test } from "../common.mjs";

test("the error function from zero to one", () => {
  const known = [
    [0, 0],
    [1e-9, 1.128379167095513e-9],
    [0.5, 0.5204998778130465],
    [1, 0.8427007929497149],
    [2, 0.9953222650189527],
    [3.5, 0.9999992569016276],
    [5.9, 1],
    [7, 1],
    [Infinity, 1],
  ];
  for (const [x, y] of known) {
    near(erf(x), y, 1e-15);
    assert.equal(erf(-x), -erf(x));
  }
  assert.ok(Number.isNaN(erf(NaN)));
});
