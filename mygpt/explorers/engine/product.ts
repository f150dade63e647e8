// The product of matrices, in which a training spends most of its time. It is compiled twice: into the module of
// kernels.ts, and with relaxed SIMD, which multiplies and adds in one instruction, into a module of its own.

const FUSED = ASC_FEATURE_RELAXED_SIMD;
// Rows of a tile of C, eight columns wide. V8 has 15 registers: two for each row, two for B, one for A, and without
// relaxed SIMD one for what is to be added.
const HIGH: i32 = FUSED ? 6 : 4;

/** sum + x · y. */
function madd(sum: v128, x: v128, y: v128): v128 {
  return FUSED ? v128.relaxed_madd<f32>(x, y, sum) : f32x4.add(sum, f32x4.mul(x, y));
}

/** C [rows, columns] = S + A · B. A's element (i, k) is at a + i·down + k·across, B is packed, S starts the sums: its
 * rows are `startStep` apart (0: one row for all). `part` leaves out what a causal mask makes 0: 1, of C the columns
 * after the row; 2, of the sums the terms after the row; 3, the terms before the row. The last tile reaches back into
 * the one before it where it must, so S is not C. */
export function product(
  a: usize,
  down: usize,
  across: usize,
  packed: usize,
  start: usize,
  startStep: usize,
  c: usize,
  step: usize,
  rows: i32,
  terms: i32,
  columns: i32,
  part: i32,
): void {
  for (let at = 0; at < rows; at += HIGH) {
    const i = min(at, rows - HIGH);
    const first = part === 3 ? i : 0;
    const end = part === 2 ? min(terms, i + HIGH) : terms;
    const most = part === 1 ? min(columns, (i + HIGH + 7) & ~7) : columns;
    const from = a + <usize>i * down + <usize>first * across;
    for (let j = 0; j < most; j += 8) {
      let s = start + <usize>i * startStep + ((<usize>j) << 2);
      let c00 = v128.load(s);
      let c01 = v128.load(s, 16);
      let c10 = v128.load((s += startStep));
      let c11 = v128.load(s, 16);
      let c20 = v128.load((s += startStep));
      let c21 = v128.load(s, 16);
      let c30 = v128.load((s += startStep));
      let c31 = v128.load(s, 16);
      let c40 = FUSED ? v128.load((s += startStep)) : c00;
      let c41 = FUSED ? v128.load(s, 16) : c00;
      let c50 = FUSED ? v128.load((s += startStep)) : c00;
      let c51 = FUSED ? v128.load(s, 16) : c00;
      let p0 = from;
      let pb = packed + ((<usize>j * <usize>terms + ((<usize>first) << 3)) << 2);
      for (let k = first; k < end; k++) {
        const b0 = v128.load(pb);
        const b1 = v128.load(pb, 16);
        const p1 = p0 + down;
        let x = v128.load32_splat(p0);
        c00 = madd(c00, x, b0);
        c01 = madd(c01, x, b1);
        x = v128.load32_splat(p1);
        c10 = madd(c10, x, b0);
        c11 = madd(c11, x, b1);
        x = v128.load32_splat(p0 + 2 * down);
        c20 = madd(c20, x, b0);
        c21 = madd(c21, x, b1);
        x = v128.load32_splat(p1 + 2 * down);
        c30 = madd(c30, x, b0);
        c31 = madd(c31, x, b1);
        if (FUSED) {
          x = v128.load32_splat(p0 + 4 * down);
          c40 = madd(c40, x, b0);
          c41 = madd(c41, x, b1);
          x = v128.load32_splat(p1 + 4 * down);
          c50 = madd(c50, x, b0);
          c51 = madd(c51, x, b1);
        }
        p0 += across;
        pb += 32;
      }
      let to = c + <usize>i * step + ((<usize>j) << 2);
      v128.store(to, c00);
      v128.store(to, c01, 16);
      v128.store((to += step), c10);
      v128.store(to, c11, 16);
      v128.store((to += step), c20);
      v128.store(to, c21, 16);
      v128.store((to += step), c30);
      v128.store(to, c31, 16);
      if (FUSED) {
        v128.store((to += step), c40);
        v128.store(to, c41, 16);
        v128.store((to += step), c50);
        v128.store(to, c51, 16);
      }
    }
  }
}
