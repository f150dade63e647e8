import { button, folded, traitSlider } from "../kit/controls.mjs";
import { drawAll, explorerRoot, flag, html, paragraph, setAll, svg, trace } from "../kit/elements.mjs";
import { bandScale, barBox, clamp, linearTicks, momentsOf, times } from "../kit/geometry.mjs";
import { mount, store, allViews } from "../kit/mounting.mjs";
import { dragging, keeping } from "../kit/pointers.mjs";
import { picture, powerOfTen, valueSlider } from "../kit/parts/picture.mjs";
import { MOVED, four, signed, tableView } from "./table.mjs";
import { actOf, answerText, axisText, whyText } from "./words.mjs";

const GAP = 0.3;
const HEIGHT = 220; // px
const GRIP = 5; // px, of the handle at a bar's end: it lies outside, so that a small bar is seen
const FARTHEST = 1000; // that a number may be, as widget.py has it

/** Mean, variance, normalised vector and result, added up channel by channel.
 * @param {number[]} x
 * @param {{ gamma: number; beta: number; eps: number }} parameters */
export function layerNorm(x, { gamma, beta, eps }) {
  const { mean, variance } = momentsOf(x);
  const normalised = x.map((number) => (number - mean) / Math.sqrt(variance + eps));
  return { mean, variance, normalised, result: normalised.map((n) => gamma * n + beta) };
}

/** The smallest of a few round limits that holds every number, so that an axis seldom jumps.
 * @type {(numbers: number[]) => number} */
export function roundLimit(numbers) {
  const largest = Math.max(...numbers.map(Math.abs));
  return [2, 4, 6, 10, 16].find((limit) => limit >= largest) ?? 2 * Math.ceil(largest / 2);
}

/** Where an axis ends that holds every number: at `limit`, or at a round multiple of it.
 * @type {(numbers: number[], limit: number) => number} */
export function axisFor(numbers, limit) {
  const largest = Math.max(...numbers.map(Math.abs));
  const factor = [1, 2, 5, 10, 20, 50, 100].find((one) => one * limit >= largest) ?? Infinity;
  return Math.min(FARTHEST, factor * limit);
}

/** What moves the whole vector at once, or null where a number would leave the limits.
 * @type {(x: number[], change: (number: number) => number, limit: number) => number[] | null} */
export function moved(x, change, limit) {
  const numbers = x.map((number) => Number(change(number).toFixed(MOVED)) || 0);
  return numbers.every((number) => Math.abs(number) <= limit) ? numbers : null;
}

/** @type {(power: number) => string} */
const epsilonText = (power) => (power ? powerOfTen(power) : "1");

/** What the note says of a variance and of ε, a power of ten.
 * @type {(variance: number, power: number) => string} */
export function noteText(variance, power) {
  const root = Math.sqrt(variance + 10 ** power);
  if (variance < 1e-20) {
    return "All channels are equal: every deviation is 0, ε alone is under the root, and the result is β.";
  }
  const share = Math.sqrt(variance) / root;
  return (
    `Variance ${four(variance)}; the deviations are divided by √(variance + ε) = ${four(root)}. `
    + `Before γ and β the result has the standard deviation ${four(share)}.`
  );
}

/** What has moved between two vectors, if anything.
 * @type {(old: number[], now: number[]) => string} */
export function changeText(old, now) {
  const changed = [...now.keys()].filter((i) => now[i] !== old[i]);
  if (changed.length > 1) return `${changed.length} channels moved.`;
  return changed.map((i) => `Channel ${i} is ${signed(now[i])}.`).join("");
}

/** The traits are values, gamma, beta and log10_eps; what follows from them is in `norm`.
 * @param {Kit.Model<LayerNorm.Traits & Kit.Described>} model */
export function normState(model) {
  const normOfNow = () => {
    const eps = 10 ** model.get("log10_eps");
    return layerNorm(model.get("values"), { gamma: model.get("gamma"), beta: model.get("beta"), eps });
  };
  const settings = () => ["gamma", "beta", "log10_eps"].map((name) => model.get(/** @type {"gamma"} */ (name)));
  const actNow = () => ({ values: model.get("values"), settings: settings(), result: normOfNow().result });
  const state = store(model, {
    channels: model.get("start").length,
    axis: axisFor(model.get("values"), model.get("limit")),
    norm: normOfNow(),
    said: model.get("values"),
    from: actNow(), // what was there before the last act
    last: actNow(),
    act: "", // which channel or setting it moved
    size: 640, // the width of a panel
  });
  /** Takes in what has moved; a channel or a setting that is moved on and on makes one act. */
  const normalise = () => {
    state.norm = normOfNow();
    const now = actNow();
    const act = actOf(state.last, now);
    if (!act) return;
    if (act !== state.act || act === "all") state.from = state.last;
    const needed = axisFor(now.values, model.get("limit"));
    state.axis = act === "all" ? needed : Math.max(state.axis, needed); // it does not shrink under the hand
    Object.assign(state, { act, last: now });
  };
  return Object.assign(state, { normalise });
}

/** @type {(state: LayerNorm.State) => string} */
function settingText({ gamma, beta, log10_eps }) {
  return `γ = ${signed(gamma)}, β = ${signed(beta)}, ε = ${epsilonText(log10_eps)}.`;
}

/** @type {(moments: { mean: number; std: number }) => string} */
const momentsText = ({ mean, std }) => `mean ${four(mean)}, std ${four(std)}`;

/** @type {(state: LayerNorm.State) => string} */
function sentenceOf({ norm, log10_eps }) {
  return `Mean ${four(norm.mean)}. ${noteText(norm.variance, log10_eps)} Result: ${momentsText(
    momentsOf(norm.result),
  )}.`;
}

/** @type {(state: LayerNorm.State) => Kit.View} */
function settingsView(state) {
  const tenths = times(61, (i) => (i - 30) / 10);
  const powers = times(9, (i) => i - 8);
  const parts = [
    traitSlider(state, "gamma", "γ scales all", tenths, signed),
    traitSlider(state, "beta", "β shifts all", tenths, signed),
    traitSlider(state, "log10_eps", "ε keeps the divisor from 0", powers, epsilonText),
  ];
  const node = html("div.controls", parts);
  return { node, draw: () => drawAll(parts) };
}

/** What moves the whole vector; a button rests where a number would leave the limits.
 * @type {(state: LayerNorm.State) => Kit.View} */
function actionsView({ get, write }) {
  const limit = FARTHEST;
  /** @type {[string, (x: number[]) => number[] | null][]} */
  const changes = [
    ["All equal", (x) => moved(x, () => momentsOf(x).mean, limit)],
    ["Add 1", (x) => moved(x, (number) => number + 1, limit)],
    ["Double", (x) => moved(x, (number) => 2 * number, limit)],
    ["Flip the signs", (x) => moved(x, (number) => -number, limit)],
    ["Start again", () => get("start")],
  ];
  const actions = changes.map(([text, change]) => ({
    text,
    change,
    ...button(text, () => write({ values: change(get("values")) ?? get("values") })),
  }));
  const node = html("div.actions", actions);
  const draw = () => {
    const off = actions.filter(({ change }) => !change(get("values")));
    for (const action of actions) {
      action.able(!off.includes(action));
      action.node.title = off.includes(action) ? whyText(action.text, limit) : "";
    }
  };
  return { node, draw };
}

/** Bars, mean and spread of `channels` numbers on axes to ±limit; `show(numbers, moments)` moves them.
 * @param {Kit.Picture} plot
 * @param {{ channels: number; limit: number; size: number; knobbed: boolean }} bars */
export function barMarks(plot, { channels, limit, size, knobbed }) {
  const ticks = times(channels, (i) => ({ at: i + 0.5, label: String(i) }));
  const frame = plot.frame({
    width: size,
    height: HEIGHT,
    margin: { left: 34, right: 4, top: 14, bottom: 44 },
    x: { domain: [0, channels], ticks, label: "channel" },
    y: { domain: [-limit, limit], ticks: linearTicks(-limit, limit, 6), strong: 0 },
  });
  const band = bandScale(channels, frame.left, frame.right, GAP);
  const bars = times(channels, (i) => svg("rect.bar", { x: band.start(i), width: band.width, rx: 2 }));
  const knobs = knobbed
    ? bars.map((_, i) =>
        svg("rect.knob", {
          x: band.middle(i) - Math.min(11, band.width / 2),
          width: Math.min(22, band.width),
          height: GRIP,
          rx: GRIP / 2,
        }),
      )
    : [];
  const spread = svg("rect.spread", { x: frame.left, width: frame.right - frame.left });
  const middle = svg("path.mean.hollow");
  plot.curves.replaceChildren(spread, ...bars);
  plot.cursor.replaceChildren(middle, ...knobs);
  /** @type {(numbers: number[], moments: { mean: number; std: number }) => void} */
  const show = (numbers, { mean, std }) => {
    numbers.forEach((number, i) => {
      const { start, size: height } = barBox(number, frame.scaleY);
      setAll(bars[i], { y: start, height });
      flag(bars[i], "negative", number < 0);
      knobs[i]?.setAttribute("y", frame.scaleY(number) - (number > 0 ? GRIP : number < 0 ? 0 : GRIP / 2)); // at the bar's end
    });
    const [top, bottom] = [mean + std, mean - std].map((value) => clamp(frame.scaleY(value), frame.top, frame.bottom));
    setAll(spread, { y: top, height: bottom - top });
    trace(middle, `M${frame.left} ${frame.scaleY(mean)}H${frame.right}`);
  };
  return { limit, size, frame, band, show };
}

/** A vector, `numbersOf()`, as bars on axes that change when `limitOf(numbers)` does.
 * @param {LayerNorm.State} state
 * @param {{ name: string; numbersOf(): number[]; limitOf(numbers: number[]): number; label(numbers: number[]): string; ends(limit: number): Node[]; knobbed?: boolean }} panel */
export function panelView(state, { name, numbersOf, limitOf, label, ends, knobbed = false }) {
  const plot = picture();
  const [says, aside] = [1, 2].map(() => html("span.number"));
  const node = html("div", html("p.panel-name.muted", html("span", html("b", name), " ", aside), says), plot);
  const marks = /** @type {LayerNorm.Marks | null} */ (null);
  const panel = { node, plot, marks, draw };
  function draw() {
    const { channels, size } = state;
    const numbers = numbersOf();
    const limit = limitOf(numbers);
    if (!panel.marks || limit !== panel.marks.limit || size !== panel.marks.size) {
      panel.marks = barMarks(plot, { channels, limit, size, knobbed });
    }
    aside.replaceChildren(...ends(limit));
    const moments = momentsOf(numbers);
    const text = momentsText(moments);
    panel.marks.show(numbers, moments);
    says.textContent = text;
    plot.root.ariaLabel = `${label(numbers)}; ${text}.`;
  }
  return panel;
}

/** @type {(numbers: number[], format: (number: number) => string) => string} */
const listText = (numbers, format) => numbers.map(format).join(", ");

/** @type {(state: LayerNorm.State) => LayerNorm.Panel} */
const beforeView = (state) =>
  panelView(state, {
    name: "Before",
    numbersOf: () => state.values,
    limitOf: () => state.axis,
    ends: () => [html("span.by-mouse", "drag a bar"), html("span.by-touch", "tap a bar, then drag it")],
    label: (numbers) => `${state.description} Before: ${listText(numbers, signed)}`,
    knobbed: true,
  });

/** @type {(state: LayerNorm.State) => LayerNorm.Panel} */
const afterView = (state) =>
  panelView(state, {
    name: "After",
    numbersOf: () => state.norm.result,
    limitOf: roundLimit,
    ends: (limit) => [new Text(axisText(limit, state.axis))],
    label: (numbers) => `After, with ${settingText(state)} ${listText(numbers, four)}`,
  });

/** What the reader holds on the bars of a panel: one slider for each channel.
 * @type {(state: LayerNorm.State, panel: LayerNorm.Panel) => { lay(): void; draw(): void; stop: (() => void)[] }} */
function gripsView(state, panel) {
  const { get, write } = state;
  const grips = get("values").map((_, i) => {
    /** @type {(value: number) => void} */
    const choose = (value) => {
      const values = [...get("values")];
      const most = Math.abs(value) < FARTHEST ? FARTHEST : state.axis; // Home and End go to the ends of the axis
      const rounded = Number(clamp(value, -most, most).toFixed(MOVED)) || 0;
      if (values[i] === rounded) return;
      values[i] = rounded;
      write({ values });
    };
    const hold = html("span.hold");
    const node = html("div.grip", hold);
    const part = valueSlider(node, { label: `Channel ${i}`, low: -FARTHEST, high: FARTHEST, step: 0.1, choose });
    const stop = dragging(
      node,
      (event) => {
        if (!panel.marks) return;
        const at = panel.marks.frame.scaleY.invert(panel.plot.pointerY(event));
        choose(clamp(at, -state.axis, state.axis));
      },
      keeping(state, "values"),
      node,
    );
    return { ...part, hold, stop };
  });
  panel.plot.node.append(...grips.map(({ node }) => node));
  const lay = () => {
    if (!panel.marks) return;
    const { frame, band } = panel.marks;
    grips.forEach(({ node }, i) =>
      Object.assign(node.style, {
        left: `${frame.left + band.step * i}px`,
        width: `${band.step}px`,
        top: `${frame.top}px`,
        height: `${frame.bottom - frame.top}px`,
      }),
    );
  };
  const draw = () =>
    get("values").forEach((number, i) => {
      const { node, show, hold } = grips[i];
      show(number, `${signed(number)}, normalised ${four(state.norm.normalised[i])}`);
      setAll(node, { "aria-valuemin": -state.axis, "aria-valuemax": state.axis });
      hold.style.top = `${50 - (50 * number) / state.axis}%`;
    });
  return { lay, draw, stop: grips.map(({ stop }) => stop) };
}

/** @type {(given: Kit.Given<LayerNorm.Traits>) => () => void} */
function render({ model, el }) {
  const state = normState(model);
  const [settings, actions, before, after, table] = allViews(
    state,
    settingsView,
    actionsView,
    beforeView,
    afterView,
    tableView,
  );
  const grips = gripsView(state, before);
  const answer = paragraph("mygpt-answer", () => answerText(state.from, state.last));
  const note = paragraph("mygpt-note", () => noteText(state.norm.variance, state.log10_eps));
  const setting = paragraph("mygpt-setting", () => settingText(state));
  const { root, voice } = explorerRoot(
    "layer-norm",
    "Explorer of layer norm",
    html("div.panels", before, after),
    answer,
    actions,
    settings,
    folded("Channel by channel", note, table),
    setting,
  );

  const draw = () => {
    state.normalise();
    drawAll([settings, actions, before, after, grips, answer, note, table, setting]);
  };
  const speaking = () => {
    draw();
    const { values } = state;
    const change = changeText(state.said, values) || settingText(state);
    voice.say(`${change} ${answerText(state.from, state.last)} ${sentenceOf(state)}`);
    state.said = values;
  };
  return mount({ model, el }, { root, voice }, state, {
    undo: grips.stop,
    listeners: { "values gamma beta log10_eps": speaking },
    layout: (width) => {
      state.size = Math.floor(width < 542 ? width : (width - 22) / 2);
      draw();
      grips.lay();
    },
  });
}

export default { render };
