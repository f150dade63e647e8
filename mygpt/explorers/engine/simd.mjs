// The kernels in WebAssembly, four numbers at a time.

import { FUSED, KERNELS } from "./bytes.mjs";

const PAGE = 65536; // bytes, of WebAssembly's memory

/** A module of bytes.mjs; null where its features are missing, or where a page's policy forbids it.
 * @type {(text: string) => WebAssembly.Module | null} */
function compiled(text) {
  try {
    return new WebAssembly.Module(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)));
  } catch {
    return null;
  }
}

/** The kernels over a memory of so many bytes, with products that fuse multiplication and addition where they can; null
 * where there is no WebAssembly with SIMD. No memory for them is a RangeError.
 * @type {(bytes: number) => Engine.Kernels | null} */
export function simdKernels(bytes) {
  const [whole, fused] = [KERNELS, FUSED].map(compiled);
  if (!whole) return null;
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  const given = { env: { memory }, kernels: { log: Math.log } };
  const [first, second] = [whole, fused].map((one) => one && new WebAssembly.Instance(one, given).exports);
  return /** @type {Engine.Kernels} */ (/** @type {unknown} */ ({ ...first, ...second, buffer: memory.buffer }));
}
