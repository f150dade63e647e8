// The worker as a text: kit/base.py puts worker.mjs there, joined with all that it imports.

export const WORKER = /* joined: entry.mjs */ "";
