#!/usr/bin/env bash
# @resvg/resvg-js 2.6.2, Node.js 20.
# Guess: resvg draws fill="var(--line, red)" in red, the fallback.
# Seen: it draws black, in silence: it cannot read the value, and black is the default
#   fill. oklch(...) is black too; a named colour and hsl(...) are drawn. A figure drawn
#   with a theme's variables turns black where resvg makes the picture.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" @resvg/resvg-js@2.6.2
cat >"$folder/program.mjs" <<'JAVASCRIPT'
import { Resvg } from "@resvg/resvg-js";

function first(fill) {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4">
    <rect width="4" height="4" fill="${fill}"/></svg>`;
  const drawn = new Resvg(svg, { font: { loadSystemFonts: false } }).render();
  return [...drawn.pixels.slice(0, 4)].join(" ");
}
const seen = {};
for (const fill of ["red", "hsl(0 100% 50%)", "var(--line, red)", "oklch(60% 0.2 20)"]) {
  seen[fill] = first(fill);
}
console.log(seen);
const [red, black] = ["255 0 0 255", "0 0 0 255"];
const wanted = [red, red, black, black].join();
if (Object.values(seen).join() !== wanted) throw new Error("drawn otherwise now");
JAVASCRIPT
node "$folder/program.mjs"
