"""An engine that trains a GPT in the page: `network.mjs`, on compiled kernels."""
