// A widget's model where there is no kernel: on a page of its own, and on the book's pages. All of its
// state is here, and nobody else holds it.

/** @type {(base64: string) => DataView} */
const dataView = (base64) => new DataView(Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0)).buffer);

/** Puts what is sent as base64 where its `path` in the state says.
 * @type {(state: Record<string, unknown>, buffers: Kit.Saved["buffers"]) => void} */
function placeBuffers(state, buffers) {
  for (const { path, data } of buffers) {
    const holder = path.slice(0, -1).reduce((value, key) => value[key], /** @type {any} */ (state));
    holder[path[path.length - 1]] = dataView(data);
  }
}

/** The model of a saved state, with what anywidget's model has of an explorer's use.
 * @type {(saved: Kit.Saved) => Kit.AnyModel} */
export function makeModel({ state, buffers }) {
  placeBuffers(state, buffers);
  /** @type {Map<string, Kit.Listener[]>} */
  const listeners = new Map();
  /** @type {(event: string, ...args: unknown[]) => void} */
  const emit = (event, ...args) => [...(listeners.get(event) ?? [])].forEach((call) => call(...args));
  /** @type {Kit.AnyModel} */
  const model = {
    get: (name) => state[name],
    set(name, value) {
      const changes = typeof name === "string" ? { [name]: value } : name;
      const changed = Object.keys(changes).filter((key) => state[key] !== changes[key]);
      for (const key of changed) state[key] = changes[key];
      for (const key of changed) emit(`change:${key}`, model, state[key]);
      if (changed.length) emit("change", model);
    },
    on(events, call) {
      for (const event of events.split(/\s+/)) listeners.set(event, [...(listeners.get(event) ?? []), call]);
    },
    off(event, call) {
      for (const one of event ? [event] : [...listeners.keys()]) {
        listeners.set(one, call ? (listeners.get(one) ?? []).filter((other) => other !== call) : []);
      }
    },
    save_changes() {},
    send() {},
  };
  return model;
}
