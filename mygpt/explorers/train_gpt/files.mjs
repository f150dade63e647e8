// What was trained as the files of a checkpoint, and a checkpoint as what is trained.

import { button, control } from "../kit/controls.mjs";
import { html } from "../kit/elements.mjs";
import { checkpointFiles, readCheckpoint } from "./checkpoint.mjs";
import { goes, refusalText, trainedOf } from "./state.mjs";
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
    const trained = trainedOf(state);
    if (!trained) return;
    const { config, tokenizer, kept } = trained;
    const { step, weights: tensors } = kept;
    const files = checkpointFiles({ config, tokenizer, tensors, step });
    const name = `mygpt-step-${step}.zip`;
    download(name, zipped(files));
    state.saved = kept;
    const [folder] = files[0].name.split("/");
    state.filed = `Saved as ${name}. Unpack it; \`mygpt generate ${folder} --prompt TEXT\` runs it.`;
    draw();
  });
  /** @type {(list: Iterable<File>) => Promise<void>} */
  const take = async (list) => {
    try {
      open(await readCheckpoint(await filesIn(list)));
    } catch (error) {
      state.filed = refusalText(error);
    }
    draw();
  };
  const field = control("input", {
    type: "file",
    multiple: true,
    hidden: true,
    "aria-label": "The files of a checkpoint",
    onchange: async () => {
      if (field.files?.length) await take([...field.files]);
      field.value = "";
    },
  });
  const choose = button("Open a checkpoint", () => field.click());
  const said = html("p.filed.bold.muted", { role: "status" });
  const node = html("div.files.flow", save, choose, field, said);
  return {
    node,
    draw: () => {
      save.able(Boolean(state.kept));
      choose.able(!goes(state));
      const none = state.kept ? "" : "After a training, the model can be taken apart and saved.";
      const needs = state.opened && !state.prepared ? "To train on, give it its text: Your own text." : "";
      const parts = [state.filed || none, needs].filter(Boolean).join(" ").split("`");
      said.replaceChildren(...parts.map((one, i) => (i % 2 ? html("code", one) : one)));
    },
  };
}
