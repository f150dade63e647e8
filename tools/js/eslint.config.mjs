// What every script of the book keeps to; `make javascript` runs this. Prettier decides the layout.

import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";

// The explorers' modules are joined by taking away their imports and the word `export`
// (mygpt/explorers/kit/base.py), so these must stand in the forms that are taken away whole.
const JOINED = {
  "ExportAllDeclaration, ExportNamedDeclaration[source]": "A joined module exports what it declares itself.",
  "ExportSpecifier, ExportNamedDeclaration > ClassDeclaration, ExportNamedDeclaration > [kind='let']":
    "Write `export` before a const or a function.",
  "ImportExpression, ImportNamespaceSpecifier, ImportDeclaration:not([attributes.length=1]) > ImportDefaultSpecifier":
    "Import names: `import { a } from …`.",
  "ImportDeclaration[specifiers.length=0]": "A module without a name that is used is not imported.",
};

// What Sphinx's own scripts define on every page, or on the search page.
const OF_SPHINX = {
  DOCUMENTATION_OPTIONS: "readonly",
  Documentation: "readonly",
  Scorer: "readonly",
  Search: "readonly",
  Stemmer: "writable",
  inBookWords: "readonly",
};

export default defineConfig(
  { ignores: ["_build/", ".venv/", "build/", "notebooks/", "website/katex/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 60],
      "array-callback-return": "error",
      "consistent-return": "error",
      curly: ["error", "multi-line"],
      "default-case-last": "error",
      eqeqeq: "error",
      "no-else-return": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-loop-func": "error",
      "no-new-func": "error",
      "no-return-assign": "error",
      "no-self-compare": "error",
      "no-shadow": "error",
      "no-throw-literal": "error",
      "no-undef-init": "error",
      "no-unneeded-ternary": "error",
      "no-unused-expressions": "error",
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-useless-rename": "error",
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["mygpt/explorers/**/*.mjs", "website/*.mjs"],
    languageOptions: { globals: globals.browser },
    rules: {
      "no-restricted-syntax": [
        "error",
        ...Object.entries(JOINED).map(([selector, message]) => ({ selector, message })),
      ],
    },
  },
  {
    files: ["website/**/*.js"],
    languageOptions: { sourceType: "script", globals: { ...globals.browser, ...OF_SPHINX } },
  },
  { files: ["tests/js/**/*.mjs", "runs/*.mjs"], languageOptions: { globals: globals.node } },
);
