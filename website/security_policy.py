"""The Content-Security-Policy of each page: what it may load and run.

It lists the inline scripts by their hashes, so the page must be complete before its
policy can be written.
"""

import base64
import hashlib
import re

INLINE_SCRIPT = re.compile(
    r"<script(?P<attributes>(?:\s[^>]*)?)>(?P<body>.*?)</script>", re.S
)
HANDLER = re.compile(r"<[^>]+\son(?:click|load|error|change|input)\s*=", re.I)
OLD_POLICY = re.compile(r'\s*<meta http-equiv="Content-Security-Policy"[^>]*>')
CHARSET = re.compile(r'<meta charset="[^"]*"\s*/?>')
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; script-src 'self'{scripts}; object-src 'none'; "
    "base-uri 'none'; form-action 'self'{workers}"
)
TRAINS = " data-trains"  # of an explorer that compiles WebAssembly in a worker
DATA_TYPES = re.compile(r'type="(?:application/json|text/plain|application/ld\+json)"')


def script_hashes(html: str) -> list[str]:
    """CSP sources for the inline scripts that run, in page order."""
    sources = []
    for script in INLINE_SCRIPT.finditer(html):
        if "src=" in script["attributes"] or DATA_TYPES.search(script["attributes"]):
            continue
        digest = hashlib.sha256(script["body"].encode("utf-8")).digest()
        source = f"'sha256-{base64.b64encode(digest).decode()}'"
        if source not in sources:
            sources.append(source)
    return sources


def with_policy(html: str) -> str:
    """The page with its Content-Security-Policy.

    Where an explorer trains a model, it may compile WebAssembly and start a worker.
    """
    html = OLD_POLICY.sub("", html)
    sources = script_hashes(html)
    trains = TRAINS in html
    policy = POLICY.format(
        scripts="".join(
            f" {one}" for one in [*["'wasm-unsafe-eval'"] * trains, *sources]
        ),
        workers="; worker-src blob:" if trains else "",
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return CHARSET.sub(lambda charset: f"{charset.group()}\n    {meta}", html, count=1)


def refuse_handlers(name: str, html: str) -> None:
    """Raise a ValueError for an inline event handler, which the policy forbids."""
    markup = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    if handler := HANDLER.search(markup):
        raise ValueError(f"{name}: the policy forbids {handler.group()!r}")
