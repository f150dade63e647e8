// What was trained as the files of a checkpoint, and a checkpoint as what is trained.

import { button, control } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { checkpointFiles, readCheckpoint } from "./checkpoint.mjs";
import { refusalText, shapeOf } from "./state.mjs";
import { grouped } from "./words.mjs";
import { zipped } from "./zip.mjs";

/** Has the browser save some bytes.
 * @type {(name: string, bytes: Uint8Array<ArrayBuffer>) => void} */
function download(name, bytes) {
  const address = URL.createObjectURL(new Blob([bytes]));
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The files that were chosen or dropped, with their paths.
 * @type {(list: Iterable<File>) => Promise<TrainGPT.NamedFile[]>} */
const filesIn = (list) =>
  Promise.all(
    Array.from(list, async (one) => ({
      name: one.webkitRelativePath || one.name,
      bytes: new Uint8Array(await one.arrayBuffer()),
    })),
  );

/** Save, and Open a checkpoint.
 * @type {(state: TrainGPT.State, open: (checkpoint: TrainGPT.Checkpoint) => void, draw: () => void) => Kit.View} */
export function filesView(state, open, draw) {
  const save = button("Save", () => {
    const [config, { prepared, opened, kept }] = [shapeOf(state), state];
    const tokenizer = opened?.tokenizer ?? prepared?.tokenizer;
    if (!config || !tokenizer || !kept) return;
    const { step, weights: tensors } = kept;
    const files = checkpointFiles({ config, tokenizer, tensors, step });
    download(`mygpt-step-${step}.zip`, zipped(files));
    state.note = `Saved the model of step ${grouped(step)}. Unpack it, and run: mygpt generate FOLDER`;
    draw();
  });
  const take = async (/** @type {Iterable<File>} */ list) => {
    try {
      open(await readCheckpoint(await filesIn(list)));
    } catch (error) {
      state.note = refusalText(error);
    }
    draw();
  };
  const field = control("input", {
    type: "file",
    multiple: true,
    hidden: true,
    "aria-label": "The files of a checkpoint",
  });
  field.addEventListener("change", async () => {
    if (field.files?.length) await take([...field.files]);
    field.value = "";
  });
  const choose = button("Open a checkpoint", () => field.click());
  const node = html("div", { class: "mygpt-files" }, save.node, choose.node, field);
  return {
    node,
    draw: () => {
      save.able(Boolean(state.kept));
      choose.able(state.phase !== "running");
    },
  };
}
