// Checkpoints as Python hands them over and gets them back: bytes in base64.

import { checkpointFiles, readCheckpoint } from "../../../mygpt/explorers/train_gpt/checkpoint.mjs";
import { tokenizerOf } from "../../../mygpt/explorers/train_gpt/tokenizers.mjs";

export const bytesOf = (text) => new Uint8Array(Buffer.from(text, "base64"));

export const base64Of = ({ buffer, byteOffset, byteLength }) =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");

export const inBase64 = (files) => Object.fromEntries(files.map(({ name, bytes }) => [name, base64Of(bytes)]));

export const named = (files) => Object.entries(files).map(([name, text]) => ({ name, bytes: bytesOf(text) }));

/** What is read from some files. */
export async function read(files) {
  const { config, tokenizer, tensors, step } = await readCheckpoint(named(files));
  const weights = Object.fromEntries([...tensors].map(([name, one]) => [name, base64Of(one)]));
  return { config, kind: tokenizer.kind, tokens: tokenizer.tokens, step, weights };
}

/** What is said of some files, or "" where they can be read. */
export const tried = (files) =>
  read(files).then(
    () => "",
    (error) => error.message,
  );

/** The files of such a model. */
export function saved({ config, kind, tokens, weights, step }) {
  const numbers = Object.entries(weights).map(([name, one]) => [name, new Float32Array(bytesOf(one).buffer)]);
  return checkpointFiles({ config, tokenizer: tokenizerOf(kind, tokens), tensors: new Map(numbers), step });
}
