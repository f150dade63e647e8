// The kernels in WebAssembly, four numbers at a time.

import { KERNELS } from "./bytes.mjs";

const PAGE = 65536; // bytes, of WebAssembly's memory

/** @type {() => Uint8Array<ArrayBuffer>} */
const kernelBytes = () => Uint8Array.from(atob(KERNELS), (sign) => sign.charCodeAt(0));

/** The kernels over a memory of so many bytes; null where there is no WebAssembly with SIMD, or where a page's policy
 * forbids it. No memory for them is a RangeError.
 * @type {(bytes: number) => Engine.Kernels | null} */
export function simdKernels(bytes) {
  if (typeof WebAssembly === "undefined") return null;
  let compiled;
  try {
    compiled = new WebAssembly.Module(kernelBytes());
  } catch {
    return null;
  }
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  const { exports } = new WebAssembly.Instance(compiled, { env: { memory }, kernels: { log: Math.log } });
  return /** @type {Engine.Kernels} */ (/** @type {unknown} */ ({ ...exports, buffer: memory.buffer }));
}
