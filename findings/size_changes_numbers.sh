#!/usr/bin/env bash
# assemblyscript 0.28.20, Node.js 20.
# Guess: AssemblyScript compiled for size (-Oz) instead of speed (-O3) gives the same
#   numbers: the flags choose the instructions, not the arithmetic.
# Seen: some values of Math.exp and Math.log differ, in float32 those of Mathf.exp and x
#   ** 3 too: for size another algorithm is compiled in. Math.tanh and x * x * x have
#   the same bits. An engine that has to agree with a stored run must keep its flag.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" assemblyscript@0.28.20
cat >"$folder/module.ts" <<'TYPESCRIPT'
export function exp(x: f64): f64 { return Math.exp(x); }
export function log(x: f64): f64 { return Math.log(x); }
export function tanh(x: f64): f64 { return Math.tanh(x); }
export function exp32(x: f32): f32 { return Mathf.exp(x); }
export function cube32(x: f32): f32 { return x ** 3; }
export function product32(x: f32): f32 { return x * x * x; }
TYPESCRIPT
for flag in -O3 -Oz; do
  "$folder/node_modules/.bin/asc" module.ts --outFile "module$flag.wasm" "$flag" --runtime stub
done
cat >"$folder/program.mjs" <<'JAVASCRIPT'
import fs from "node:fs";

async function load(flag) {
  const bytes = fs.readFileSync(`module${flag}.wasm`);
  const imports = { env: { abort() {} } };
  return (await WebAssembly.instantiate(bytes, imports)).instance.exports;
}
const fast = await load("-O3");
const small = await load("-Oz");
const share = {};
for (const name of ["exp", "log", "exp32", "cube32", "tanh", "product32"]) {
  let differ = 0;
  for (let i = 1; i <= 10000; i++) {
    const x = i / 1000;
    if (!Object.is(fast[name](x), small[name](x))) differ++;
  }
  share[name] = differ / 10000;
}
console.log(share);
for (const name of ["exp", "log", "exp32", "cube32"]) {
  if (!(share[name] > 0.002)) throw new Error(`${name} is the same now`);
}
for (const name of ["tanh", "product32"]) {
  if (share[name] !== 0) throw new Error(`${name} differs now`);
}
JAVASCRIPT
node "$folder/program.mjs"
