import * as geometry from "../../../mygpt/explorers/kit/geometry.mjs";
import { store } from "../../../mygpt/explorers/kit/mounting.mjs";
import * as picture from "../../../mygpt/explorers/kit/parts/picture.mjs";
import { channels, heatColours, roomFor, textWidth, visibleText } from "../../../mygpt/explorers/kit/parts/heat.mjs";
import { assert, gives, near, test } from "../common.mjs";

const labels = (ticks) => ticks.map(({ label }) => label);
const places = (ticks) => ticks.map(({ at }) => at);

test("a fixed number has a true minus sign, and zero has none", () => {
  gives((one) => geometry.fixed(one, 4), [-0.13784, 2, -0.00001], ["−0.1378", "2.0000", "0.0000"]);
});

test("three significant digits, and powers of ten outside a thousandth and ten thousand", () => {
  const cases = [
    [0.218545, "0.219"],
    [1, "1.00"],
    [32.94, "32.9"],
    [215.4, "215"],
    [9994, "9990"],
    [0.00123, "0.00123"],
    [0.000123, "1.23 × 10⁻⁴"],
    [12345, "1.23 × 10⁴"],
    [8.799e-22, "8.80 × 10⁻²²"],
    [-0.5, "−0.500"],
    [0, "0"],
    [NaN, "–"],
    [Infinity, "–"],
    [0.9996, "1.00"],
    [9996, "1.00 × 10⁴"],
    [3.11e135, "3.11 × 10¹³⁵"],
  ];
  for (const [value, text] of cases) assert.equal(picture.significant(value), text);
  assert.equal(picture.powerOfTen(-10), "10⁻¹⁰");
});

test("a linear scale maps its ends, goes back, and survives an empty domain", () => {
  const scale = geometry.linearScale([-5, 2], [310, 17]);
  gives(scale, [-5, 2], [310, 17]);
  near(scale.invert(scale(0.37)), 0.37);
  assert.ok(Number.isFinite(geometry.linearScale([3, 3], [0, 100])(3)));
});

test("steps are 1, 2 or 5 times a power of ten and never more than asked for", () => {
  assert.deepEqual([geometry.niceStep(10, 11), geometry.niceStep(10, 7)], [1, 2]);
  assert.deepEqual([geometry.niceStep(7, 3), geometry.niceStep(0.13, 13)], [5, 0.01]);
  for (const span of [0.0031, 0.7, 13, 1700]) {
    for (const count of [2, 3, 5, 11]) assert.ok(span / geometry.niceStep(span, count) <= count + 1e-9);
  }
});

test("linear ticks lie inside the domain and are labelled with equal decimals", () => {
  assert.deepEqual(labels(geometry.linearTicks(-0.13, 0.59, 4)), ["0.0", "0.2", "0.4"]);
  assert.deepEqual(labels(geometry.linearTicks(-5, 5, 5)), ["−4", "−2", "0", "2", "4"]);
  assert.deepEqual(places(geometry.linearTicks(0, 7, 13, 1)), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.ok(!places(geometry.linearTicks(-3, 3, 7)).some((at) => Object.is(at, -0)));
});

test("a log axis ticks at 1, 2 and 5 in a narrow domain and at powers in a wide one", () => {
  assert.deepEqual(labels(picture.logTicks(-1.31, 0.37, 7)), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
  assert.deepEqual(labels(picture.logTicks(-21.7, 2.1, 7)), ["10⁻²⁰", "10⁻¹⁵", "10⁻¹⁰", "10⁻⁵", "1"]);
  assert.deepEqual(labels(picture.logTicks(-1.2, 2.9, 11)), ["0.1", "1", "10", "100"]);
  assert.deepEqual(labels(picture.logTicks(6.9, 8.3, 7)), ["10⁷", "2 × 10⁷", "5 × 10⁷", "10⁸"]);
});

test("every domain of half a decade or more has a tick", () => {
  for (let low = -140; low < 40; low += 0.37) {
    for (const span of [0.5, 1.9, 2.1, 11, 170]) {
      assert.ok(picture.logTicks(low, low + span, 7).length >= 1, `${low} ${span}`);
    }
  }
});

test("the extent skips NaN and says when there is nothing", () => {
  assert.deepEqual(geometry.extent([[3, NaN, -7], [11]]), [-7, 11]);
  assert.equal(geometry.extent([[NaN], []]), undefined);
  const [low, high] = picture.padded([2, 2]);
  assert.ok(low < 2 && high > 2);
  assert.deepEqual(picture.padded([0, 100], 0.25), [-25, 125]);
});

test("a path breaks at gaps and at jumps", () => {
  const same = (value) => value;
  assert.equal(picture.linePath([1, 2, 3], [5, 7, 11], same, same), "M1.0 5.0L2.0 7.0L3.0 11.0");
  assert.equal(picture.linePath([1, 2, 3], [NaN, 7, 11], same, same), "M2.0 7.0L3.0 11.0");
  assert.equal(picture.linePath([1, 2, 3, 4], [5, NaN, 11, 13], same, same), "M1.0 5.0M3.0 11.0L4.0 13.0");
  assert.equal(picture.linePath([1, 2, 3], [0, 0, 1], same, same, 0.5), "M1.0 0.0L2.0 0.0M3.0 1.0");
});

test("the nearest index stays on the grid", () => {
  gives((at) => picture.nearestIndex(at, -5, 0.01, 1001), [-0.404, -99, 99], [460, 0, 1000]);
  assert.equal(geometry.clamp(7, 2, 5), 5);
});

test("labels are spread without changing their order or leaving their room", () => {
  assert.deepEqual(picture.spread([40, 10, 90], 17, 0, 100), [40, 10, 90]);
  const placed = picture.spread([50, 51, 52, 99], 17, 0, 100);
  const sorted = [...placed].sort((a, b) => a - b);
  for (let i = 1; i < sorted.length; i += 1) assert.ok(sorted[i] - sorted[i - 1] >= 17 - 1e-9);
  assert.ok(sorted[0] >= 0 && sorted.at(-1) <= 100);
  assert.deepEqual(placed, sorted);
});

test("markers differ from curve to curve and stand on their point", () => {
  const paths = [0, 1, 2, 3, 4, 5].map((index) => picture.markerPath(index, 13, 7, 5));
  assert.equal(new Set(paths).size, 6);
  assert.equal(picture.markerPath(6, 13, 7, 5), paths[0]);
  assert.ok(paths[1].startsWith("M8 2L18 2L18 12L8 12"));
  const large = ["M0 -135L135 0L0 135L-135 0Z", "M0 -130L125 95L-125 95Z"];
  gives((index) => picture.markerPath(index, 0, 0, 100), [2, 3], large);
});

test("a tooltip stands on the side with more room, where it hides the fewest points", () => {
  const axes = { left: 50, right: 650, top: 10, bottom: 310 };
  const size = { width: 200, height: 110 };
  assert.equal(geometry.tooltipPlaces(100, axes, size)[0].left, 114);
  assert.equal(geometry.tooltipPlaces(600, axes, size)[0].right, 586);
  const boxes = geometry.tooltipPlaces(100, axes, size);
  for (const { top, bottom } of boxes) assert.ok(top >= 10 && bottom <= 310);
  assert.equal(geometry.emptiest(boxes, []), 0);
  const high = [150, 20];
  const low = [160, 40];
  assert.equal(geometry.emptiest(boxes, [high, low]), 1);
});

test("binary traits may start at any byte", () => {
  const bytes = new Uint8Array(3 + 8);
  new DataView(bytes.buffer).setFloat32(3, 1.5, true);
  new DataView(bytes.buffer).setFloat32(7, -0.25, true);
  assert.deepEqual([...geometry.floats(new DataView(bytes.buffer, 3))], [1.5, -0.25]);
});

test("a bar stands on zero, in either direction, and is never invisible unless it is zero", () => {
  const scale = geometry.linearScale([-2, 3], [100, 0]);
  assert.deepEqual(geometry.barBox(3, scale), { start: 0, size: 60 });
  assert.deepEqual(geometry.barBox(-2, scale), { start: 60, size: 40 });
  assert.deepEqual(geometry.barBox(1e-9, scale), { start: 59, size: 1 });
  assert.deepEqual(geometry.barBox(0, scale), { start: 60, size: 0 });
});

test("bands share a width, and every place belongs to one", () => {
  const band = geometry.bandScale(7, 10, 80, 0.2);
  assert.equal(band.start(2), 31);
  assert.equal(band.width, 8);
  assert.equal(band.middle(6), 75);
  assert.deepEqual([-5, 10, 19.9, 20, 79, 99].map(band.invert), [0, 0, 0, 1, 6, 6]);
});

test("softmax sums to one, knows what is cut, and does not overflow", () => {
  const shares = geometry.softmax([1000, 1000 + Math.log(3), -Infinity]);
  near(shares[0], 0.25);
  near(shares[1], 0.75);
  assert.equal(shares[2], 0);
});

test("cells are coloured by sign and size, and full at the limit", () => {
  const colours = { zero: [240, 242, 244], high: [0, 80, 140], low: [160, 66, 0] };
  const bytes = heatColours([0, 5, -5, 2.5, 99], 5, colours);
  const cell = (i) => [...bytes.subarray(4 * i, 4 * i + 4)];
  assert.deepEqual(cell(0), [240, 242, 244, 255]);
  assert.deepEqual(cell(1), [0, 80, 140, 255]);
  assert.deepEqual(cell(2), [160, 66, 0, 255]);
  assert.deepEqual(cell(3), [120, 161, 192, 255]);
  assert.deepEqual(cell(4), cell(1));
  assert.deepEqual([...heatColours([0], 0, colours)], [240, 242, 244, 255]);
});

test("a colour is read as a stylesheet or a browser writes it", () => {
  assert.deepEqual(channels(" #00508c"), [0, 80, 140]);
  assert.deepEqual(channels("rgb(1, 22, 255)"), [1, 22, 255]);
});

test("labels keep their distance and the chosen one is always shown", () => {
  assert.deepEqual(roomFor(3, 90, 30), [true, true, true]);
  assert.deepEqual(roomFor(7, 70, 15), [true, false, true, false, true, false, true]);
  assert.deepEqual(roomFor(7, 70, 15, 3), [true, false, false, true, false, false, true]);
  assert.deepEqual(roomFor(1, 5, 100), [true]);
});

test("blanks at the ends, line breaks and an empty text are shown", () => {
  gives(visibleText, [" the", "a b  ", "\n\t", "", "<b>"], ["␣the", "a b␣␣", "↵⇥", "(empty)", "<b>"]);
});

test("a wide script takes more room than a narrow one", () => {
  assert.ok(textWidth("日本") > textWidth("ab"));
  near(textWidth("abc"), 24.6, 1e-9);
  assert.equal(textWidth(""), 0);
});

test("decimals are rounded as Python rounds them, ties to the even digit", () => {
  const cases = [
    [0.0625, "0.062"],
    [0.1875, "0.188"],
    [0.3125, "0.312"],
    [0.9375, "0.938"],
    [0.125, "0.125"],
    [1, "1.000"],
    [0, "0.000"],
    [0.12349, "0.123"],
    [0.0005, "0.001"],
  ];
  for (const [value, text] of cases) assert.equal(geometry.fixed(value, 3), text);
  const texts = (decimals, ...values) => values.map((value) => geometry.fixed(value, decimals));
  assert.deepEqual(texts(0, 0.5, 1.5, 2.5, -3.5), ["0", "2", "2", "−4"]);
  assert.deepEqual(texts(2, 1.005, 2.675, 0.15), ["1.00", "2.67", "0.15"]);
});

test("a state writes only the traits that differ, and saves them at once", () => {
  const traits = { a: 1, b: 2, list: [1] };
  const calls = [];
  const model = {
    get: (trait) => traits[trait],
    set: (trait, value) => calls.push([trait, value]),
    save_changes: () => calls.push("saved"),
  };
  const state = store(model, {
    width: 640,
    get double() {
      return 2 * this.width;
    },
  });
  state.write({ a: 1, b: 3, list: [1] });
  assert.deepEqual(calls, [["b", 3], ["list", [1]], "saved"]);
  state.write({ a: 1 });
  assert.equal(calls.length, 3);
  state.width = 100;
  assert.deepEqual([state.double, state.b, state.get("b")], [200, 2, 2]);
});
