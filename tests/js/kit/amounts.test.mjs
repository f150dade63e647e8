import * as amounts from "../../../mygpt/explorers/kit/amounts.mjs";
import { nearestStop } from "../../../mygpt/explorers/kit/geometry.mjs";
import { assert, gives, test } from "../common.mjs";

test("numbers have separators, and words from a million on", () => {
  assert.equal(amounts.exact(124439808), "124,439,808");
  const known = [
    [0, "0"],
    [999_999, "999,999"],
    [1e6, "1.00 million"],
    [1_557_611_200, "1.56 billion"],
    [12_345_678, "12.3 million"],
    [999_499_999, "999 million"],
    [999_500_000, "1.00 billion"],
    [1_040_400_000_000_000, "1.04 quadrillion"],
  ];
  for (const [number, text] of known) assert.equal(amounts.inWords(number), text);
  gives(amounts.inBytes, [999, 1000, 6_230_444_800], ["999 B", "1.00 kB", "6.23 GB"]);
  assert.deepEqual([0, 0.0003, 0.0005, 0.455, 1].map(amounts.percent), [
    "0.0 %",
    "< 0.1 %",
    "0.1 %",
    "45.5 %",
    "100.0 %",
  ]);
});

test("the parts of a bar follow each other and fill their share", () => {
  assert.deepEqual(amounts.stacked([1, 3, 0, 4], 16, 800), [
    { start: 0, size: 50 },
    { start: 50, size: 150 },
    { start: 200, size: 0 },
    { start: 200, size: 200 },
  ]);
});

test("stops double in two steps, up to the longest", () => {
  gives(amounts.doublings, [1, 2, 20], [[1], [1, 2], [1, 2, 3, 4, 6, 8, 12, 16, 20]]);
  assert.deepEqual(amounts.doublings(1024).slice(-4), [384, 512, 768, 1024]);
  for (const longest of [3, 7, 768, 2_000_000]) {
    const stops = amounts.doublings(longest);
    assert.ok(stops.every((stop, i) => Number.isInteger(stop) && (i === 0 || stop > stops[i - 1])));
    assert.equal(stops.at(-1), longest);
  }
  assert.equal(nearestStop(amounts.doublings(1024), 900), amounts.doublings(1024).length - 1);
  assert.equal(nearestStop([1, 2, 4], 100), 2);
});
