// Runs the page's explorers without a kernel: each is an anywidget whose whole state is here.
// A module registers itself in `bookExplorers` under the hash that the state names.
"use strict";
(() => {
  if (window.bookHost) return; // one host, however often it is included
  const models = new Map();
  window.bookHost = { models };

  const bytes = (base64) => new DataView(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);

  function makeModel({ state, buffers }) {
    for (const { path, data } of buffers) {
      const parent = path.slice(0, -1).reduce((value, key) => value[key], state);
      parent[path.at(-1)] = bytes(data);
    }
    const listeners = new Map();
    const emit = (event, ...args) => [...(listeners.get(event) ?? [])].forEach((call) => call(...args));
    const model = {
      get: (name) => state[name],
      set(name, value) {
        const changes = typeof name === "string" ? { [name]: value } : name;
        const changed = Object.keys(changes).filter((key) => state[key] !== changes[key]);
        for (const key of changed) state[key] = changes[key];
        for (const key of changed) emit(`change:${key}`, model, state[key]);
        if (changed.length) emit("change", model);
      },
      on: (event, call) => event.split(/\s+/).forEach((e) => listeners.set(e, [...(listeners.get(e) ?? []), call])),
      off: (event, call) => (event ? [event] : [...listeners.keys()]).forEach((e) =>
        listeners.set(e, call ? (listeners.get(e) ?? []).filter((one) => one !== call) : [])),
      save_changes() {}, // nobody else holds this state
      send() {},
    };
    return model;
  }

  function link({ ends: [[source, from], [target, to]], both }) {
    const [a, b] = [models.get(source), models.get(target)];
    const copy = (x, name, y, other) => x.on(`change:${name}`, () => y.set(other, x.get(name)));
    copy(a, from, b, to);
    if (both) copy(b, to, a, from);
  }

  function showStill(place, cause) {
    const still = Object.assign(new Image(), { src: place.dataset.still, alt: place.dataset.alt });
    const note = Object.assign(document.createElement("p"), { className: "output-note" });
    note.textContent = `A still: the explorer did not start (${cause}).`;
    place.replaceChildren(still, note);
    place.classList.add("explorer-failed");
    console.warn("explorer:", cause);
  }

  async function start(place) {
    const { module: name, ...saved } = JSON.parse(place.querySelector("script").textContent);
    const explorer = window.bookExplorers?.[name];
    if (!explorer) throw new Error("its script did not load");
    if (!models.has(place.dataset.model)) {
      models.set(place.dataset.model, makeModel(saved));
      await explorer.initialize?.({ model: models.get(place.dataset.model) });
    }
    const el = document.createElement("div");
    await explorer.render({ model: models.get(place.dataset.model), el });
    place.replaceChildren(el);
    place.classList.add("explorer-ready");
  }

  async function startAll() {
    const places = [...document.querySelectorAll(".explorer[data-model]")];
    await Promise.all(places.map((place) => start(place).catch((error) => showStill(place, error.message))));
    for (const script of document.querySelectorAll(".explorer-links")) JSON.parse(script.textContent).forEach(link);
    performance.mark("explorers-ready");
  }
  startAll(); // deferred: the page is parsed, and the modules, deferred before it, have run
})();
