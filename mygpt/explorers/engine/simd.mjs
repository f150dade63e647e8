// The kernels in WebAssembly, four numbers at a time.

import { KERNELS } from "./bytes.mjs";

const PAGE = 65536; // bytes, of WebAssembly's memory

/** @type {() => Uint8Array<ArrayBuffer>} */
const kernelBytes = () => Uint8Array.from(atob(KERNELS), (sign) => sign.charCodeAt(0));

/** The kernels over a memory of so many bytes; null where there is no WebAssembly with SIMD, or where a page's policy
 * forbids it. No memory for them is a RangeError.
 * @type {(bytes: number) => Engine.Kernels | null} */
export function simdKernels(bytes) {
  if (typeof WebAssembly === "undefined" || !WebAssembly.validate(kernelBytes())) return null;
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  try {
    const compiled = new WebAssembly.Module(kernelBytes());
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory, log: Math.log } });
    return /** @type {Engine.Kernels} */ (/** @type {unknown} */ ({ ...exports, buffer: memory.buffer }));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return null;
    throw error;
  }
}
