import { arrowPaths, blockLayout, placesOf, thickness, widthsFor } from "../../../mygpt/explorers/kit/block_layout.mjs";
import { assert, gives, near, test } from "../common.mjs";

const EVERY = ["input", "norm1", "attention", "middle", "norm2", "hidden", "activation", "network", "output"];
const named = (places, name = "activation") => places.map((place) => ({ place, name }));

/** The box of a stage: that of its words, where it stands on the stream. */
function boxOf({ left, top, width, height, align }) {
  const shift = { middle: width / 2, end: width }[align] ?? 0;
  return { left: left - shift, right: left - shift + width, top, bottom: top + height };
}

const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;

test("a block has its seven places, and those of the hidden layer where they are stages", () => {
  assert.deepEqual(placesOf(EVERY), EVERY);
  assert.deepEqual(placesOf(["norm1"]).length, 7);
  assert.deepEqual(placesOf(["activation", "x"]).slice(4), ["norm2", "activation", "network", "output"]);
});

for (const width of [272, 341, 519, 520, 652, 740]) {
  test(`at ${width} pixels no two stages overlap, and all lie within the frame`, () => {
    for (const places of [EVERY, placesOf([])]) {
      const { spots, height } = blockLayout(named(places), width);
      const found = spots.map(({ place }) => place);
      assert.deepEqual(found, places);
      const boxes = spots.map(boxOf);
      for (const [i, box] of boxes.entries()) {
        assert.ok(box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height, found[i]);
        for (const other of boxes.slice(i + 1)) assert.ok(apart(box, other), found[i]);
      }
    }
  });

  test(`at ${width} pixels each part of the block is joined to the next`, () => {
    const { wires, spots } = blockLayout(named(EVERY), width);
    const at = Object.fromEntries(spots.map((spot) => [spot.place, spot]));
    const touches = ([x, y], { left, top, width: wide, height, dot }) =>
      dot
        ? Math.abs(Math.hypot(x - dot[0], y - dot[1]) - 11) < 0.01
        : x >= left - 0.01 && x <= left + wide + 0.01 && y >= top && y <= top + height;
    const goals = { norm1: "attention", attention: "middle", norm2: "hidden" };
    Object.assign(goals, { hidden: "activation", activation: "network", network: "output" });
    for (const [from, to] of Object.entries(goals)) {
      const [wire] = wires.filter(({ place }) => place === from);
      assert.ok(touches(wire.points[0], at[from]), from);
      assert.ok(touches(wire.points.at(-1), at[to]), to);
    }
    for (const [from, copy, sum] of [
      ["input", "norm1", "middle"],
      ["middle", "norm2", "output"],
    ]) {
      const ends = wires.filter(({ place, plain }) => place === from && !plain).map(({ points }) => points.at(-1));
      for (const to of [copy, sum]) {
        const joined = ends.some((end) => touches(end, at[to]));
        assert.ok(joined, `${from} to ${to}`);
      }
    }
  });
}

test("stages without a place stand in rows, each joined to the next", () => {
  for (const [count, width, rows] of [
    [1, 652, 1],
    [3, 652, 1],
    [16, 652, 3],
    [16, 341, 4],
    [5, 60, 5],
  ]) {
    const { spots, wires } = blockLayout(named(Array(count).fill("")), width);
    assert.equal(spots.length, count);
    assert.equal(new Set(spots.map(({ dot }) => dot[1])).size, rows);
    for (const [i, { points }] of wires.entries()) {
      assert.deepEqual(points[0], spots[i].dot);
      if (i + 1 < count) assert.deepEqual(points.at(-1), [spots[i + 1].dot[0] - 8, spots[i + 1].dot[1]]);
      assert.ok(points.every(([x]) => x >= 0 && x <= width));
    }
  }
});

test("a wire is as thick as its amount says, and never lost", () => {
  gives((amount) => thickness(amount, 6), [3, 0], [4, 1.2]);
  assert.equal(thickness(0, 0), 1.2);
  assert.ok(Number.isFinite(thickness(0, -Infinity)));
});

test("the head of an arrow ends where its wire does", () => {
  const start = [0, 0];
  const corner = [20, 0];
  assert.deepEqual(arrowPaths([start, [0, 50]], 3), { line: "M0 0L0 43", head: "M0 50L-5 43L5 43Z" });
  assert.equal(arrowPaths([start, corner, [20, 4]], 3).line, "M0 0L20 0L20 0"); // no room for more
});

test("the longer its name, the wider a box, up to what it needs", () => {
  const widths = widthsFor(["ln2", "fc1", "activation", "fc2"], 252);
  near(
    widths.reduce((sum, width) => sum + width),
    252,
    1e-9,
  );
  assert.ok(widths[2] > widths[0] && widths[0] === widths[1]);
  assert.deepEqual(widthsFor(["ln1", "attention"], 1000), [99, 121]);
});
