#!/usr/bin/env bash
# katex 0.19.1, Node.js 20.
# Guess: \mathbf{\mu} is bold or refused, and \mathbb{1} is a double-struck 1 or
#   refused, in KaTeX's HTML as in its MathML.
# Seen: without a warning the visible HTML, is the same as that of \mu and of 1, while
#   the MathML, which screen readers use, is bold and double-struck: one formula says
#   two things. \boldsymbol{\mu} is bold in both, \mathbb{R} double-struck in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder" katex@0.19.1
cat >"$folder/program.mjs" <<'JAVASCRIPT'
import katex from "katex";

const draw = (formula, output) =>
  katex.renderToString(formula, { output, strict: "error" }).replace(/<annotation.*?<\/annotation>/, "");
const same = (a, b, output) => draw(a, output) === draw(b, output);
for (const [bold, plain] of [["\\mathbf{\\mu}", "\\mu"], ["\\mathbb{1}", "1"]]) {
  const seen = [same(bold, plain, "html"), same(bold, plain, "mathml")];
  console.log(bold, "like", plain, "in HTML:", seen[0], "in MathML:", seen[1]);
  if (!seen[0] || seen[1]) throw new Error(`${bold} is drawn otherwise now`);
}
for (const [bold, plain] of [["\\boldsymbol{\\mu}", "\\mu"], ["\\mathbb{R}", "R"]]) {
  if (same(bold, plain, "html") || same(bold, plain, "mathml")) throw new Error(bold);
}
JAVASCRIPT
node "$folder/program.mjs"
