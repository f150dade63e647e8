import { makeModel } from "../../../mygpt/explorers/kit/model.mjs";
import { assert, test } from "../common.mjs";

const made = () => makeModel({ state: { row: 1, name: "a", held: { list: [{}] } }, buffers: [] });

test("bytes come where their path says", () => {
  const buffers = [
    { path: ["data"], data: "AQID" },
    { path: ["held", "list", 0, "view"], data: "/w==" },
  ];
  const model = makeModel({ state: { held: { list: [{}] } }, buffers });
  assert.deepEqual([...new Uint8Array(model.get("data").buffer)], [1, 2, 3]);
  assert.equal(model.get("held").list[0].view.getUint8(0), 255);
});

test("a change is told to its listeners and then to those of every change", () => {
  const [model, told] = [made(), []];
  model.on("change:row", (_, value) => told.push(`row ${value}`));
  model.on("change", () => told.push("change"));
  model.set("row", 2);
  model.set("row", 2);
  model.set("name", "b");
  assert.deepEqual(told, ["row 2", "change", "change"]);
});

test("several changes are all made before any is told", () => {
  const [model, told] = [made(), []];
  model.on("change:row change:name", () => told.push(`${model.get("row")} ${model.get("name")}`));
  model.set({ row: 2, name: "b" });
  assert.deepEqual(told, ["2 b", "2 b"]);
});

test("a listener can be taken away, all of an event's, and all", () => {
  const [model, told] = [made(), []];
  const calls = ["a", "b"].map((name) => () => told.push(name));
  for (const call of calls) model.on("change:row", call);
  model.off("change:row", calls[0]);
  model.set("row", 2);
  assert.deepEqual(told, ["b"]);
  model.off("change:row");
  model.on("change:name", calls[0]);
  model.off();
  model.set({ row: 3, name: "c" });
  assert.deepEqual(told, ["b"]);
});
