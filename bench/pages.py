"""What a page of the built site weighs, and how soon it answers.

    python -m bench.pages [--site SITE] [--default SITE]

For every page: gzipped bytes of a first load scrolled to its end; the part of them that
no other page shares; the part that a reader who comes from the first chapter has to
fetch; and the median of five cold loads from navigation to interactive: every explorer
drawn, or the load event where there is none. `--default` is the same content built by
plain jupyter-book: a copy of the sources, with `local_extensions` and its options
taken out of `_config.yml`. Its load event and its requests to other hosts are printed
beside ours. Other hosts are out of reach. Bars: 600 kB, own 200 kB, 1.0 s.
"""

import argparse
import gzip
import statistics
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.machine import browser_path, print_machine

ROUNDS = 5
COMPRESSED = (".html", ".css", ".js", ".svg", ".json", "/")
READY = """() => document.querySelector(".explorer")
  ? performance.getEntriesByName("explorers-ready")[0]?.startTime
  : performance.getEntriesByType("navigation")[0].loadEventEnd"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder: Path) -> str:
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def load(browser, address: str) -> tuple[dict[str, int], int, float]:
    """Gzipped bytes by file, requests to other hosts, milliseconds to interactive."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sizes, foreign = {}, []

    def keep(response):
        path = response.url.split("?")[0]
        body = response.body()
        sizes[path] = len(gzip.compress(body) if path.endswith(COMPRESSED) else body)

    page.on("requestfinished", lambda request: keep(request.response()))
    page.on("requestfailed", lambda request: foreign.append(request.url))
    page.goto(address)
    page.wait_for_function(READY)
    time = page.evaluate(READY)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    context.close()
    return sizes, len(foreign), time


def median_load(browser, address: str) -> tuple[dict[str, int], int, float]:
    loads = [load(browser, address) for _ in range(ROUNDS)]
    sizes, foreign, _ = loads[0]
    return sizes, foreign, statistics.median(time for *_, time in loads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = Path(__file__).parents[1] / "_build" / "html"
    parser.add_argument("--site", type=Path, default=default)
    parser.add_argument("--default", type=Path, help="the site of plain jupyter-book")
    args = parser.parse_args()
    print_machine()
    names = sorted(
        page.relative_to(args.site).as_posix()
        for page in [args.site / "intro.html", *args.site.glob("chapters/*.html")]
    )
    address, plain = serve(args.site), args.default and serve(args.default)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        flags.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        browser = playwright.chromium.launch(executable_path=browser_path(), args=flags)
        fetched = {name: load(browser, f"{address}/{name}")[0] for name in names}
        first_chapter = next(name for name in names if name.startswith("chapters/"))
        print(
            f"{'page':40s} {'first':>7s} {'own':>7s} {'next':>7s} {'interactive':>12s}"
        )
        for name in names:
            sizes, foreign, time = median_load(browser, f"{address}/{name}")
            assert not foreign, f"{name} asks other hosts"
            others = [fetched[other].keys() for other in names if other != name]
            weights = (
                sum(size for path, size in sizes.items() if path not in known)
                for known in ((), set().union(*others), fetched[first_chapter])
            )
            row = f"{name:40s}" + "".join(f" {w / 1000:4.0f} kB" for w in weights)
            row += f" {time:9.0f} ms"
            if plain:
                sizes, foreign, time = median_load(browser, f"{plain}/{name}")
                row += f"  default: {sum(sizes.values()) / 1000:.0f} kB, {foreign} "
                row += f"requests to other hosts, load event {time:.0f} ms"
            print(row)
        browser.close()


if __name__ == "__main__":
    main()
