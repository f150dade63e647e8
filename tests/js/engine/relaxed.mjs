// Relaxed SIMD, which not every browser has: Node 20 has it behind a flag.

import { setFlagsFromString } from "node:v8";

import { FUSED } from "../../../mygpt/explorers/engine/bytes.mjs";

const bytes = Buffer.from(FUSED, "base64");
if (!WebAssembly.validate(bytes)) setFlagsFromString("--experimental-wasm-relaxed-simd");
export const relaxed = WebAssembly.validate(bytes);

/** What a call gives where relaxed SIMD is missing. */
export function withoutRelaxed(call) {
  const { Module } = WebAssembly;
  WebAssembly.Module = function Plain(given) {
    if (given.length === bytes.length) throw new WebAssembly.CompileError("invalid numeric opcode");
    return new Module(given);
  };
  try {
    return call();
  } finally {
    WebAssembly.Module = Module;
  }
}
