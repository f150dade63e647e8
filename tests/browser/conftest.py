"""A browser on the built site.

Fixtures for every browser test:

- `site`: the folder of the built site, `_build/html` or what MYGPT_SITE names. No site
  is a failure, never a skip. Without Chromium on the PATH every test here is skipped,
  with one reason.
- `site_url`: the address of the site from `file://`, which allows less, and in the
  slow tests from `http://` too. `http_url` is the latter alone; `file_url` the former.
- `open_page(address, width=1280, height=900, theme="light", javascript=True,
  touch=False, still=False)`: a new page on that address, in a profile of its own,
  loaded and with its fonts; `still` for a reader who wants no motion. Call it as often
  as needed. The page has a `watch`: `watch.wrong` lists requests to other hosts, errors
  on the console, uncaught exceptions and violations of the Content-Security-Policy, and
  `watch.check()` fails when there are any.
- `alone(made, changes, link, still, …)`: the `Figure` of an explorer alone on its page,
  opened from the disk and drawn, with `window.model`; `changes` of the page's text
  are made first, and `open_page` gets what follows. At the end of the test it checks
  the watch of each page that it opened.
- `page_opener`: `with page_opener() as open_page: …`, for a fixture that outlives a
  test.
- `server`: the local server; `server.sent` lists (path, bytes as sent, gzipped) in
  order and may be cleared.

Every host but the local server is out of reach (`--host-resolver-rules`). MYGPT_SLOW_MO
delays every action by so many milliseconds: a test that fails then races its page.
"""

import gzip
import os
import threading
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from drawn import drawn

import make

# Their failures show what was compared, as those of the tests do.
pytest.register_assert_rewrite("figures", "judged")
from figures import Figure  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",  # one process less for each browser
    "--disable-software-rasterizer",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
NO_BROWSER = f"NO BROWSER TEST RAN: they need Chromium, and {make.NO_BROWSER}"
COMPRESSED = (".html", ".css", ".js", ".svg", ".json", ".ipynb", ".inv", ".txt")


def site_folder() -> Path:
    return Path(os.environ.get("MYGPT_SITE", ROOT / "_build" / "html")).resolve()


def pages_of() -> list[str]:
    """The pages of the built site, except the redirect to the first."""
    folder = site_folder()
    pages = (page.relative_to(folder).as_posix() for page in folder.rglob("*.html"))
    return sorted(
        p
        for p in pages
        if not p.startswith(("_static", "_sources")) and p != "index.html"
    )


def pytest_collection_modifyitems(items):
    if make.browser() is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


@cache
def body_of(path: Path) -> bytes:
    body = path.read_bytes()
    return gzip.compress(body, 6) if path.suffix in COMPRESSED else body


class Handler(SimpleHTTPRequestHandler):
    """Files of the site, gzipped as a real host sends them; it records what it sent."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            path = path / "index.html"
        found = path.is_file()
        if not found:
            path = Path(self.directory, "404.html")  # as GitHub Pages does
        body = body_of(path)
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if path.suffix in COMPRESSED:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.server.sent.append((unquote(urlsplit(self.path).path), len(body)))
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: Path):
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(site)))
        self.sent: list[tuple[str, int]] = []

    def handle_error(self, request, client_address):
        pass  # a browser that hangs up early is no error of the site


class Watch:
    """What went wrong on a page."""

    def __init__(self, page):
        self.wrong: list[str] = []
        page.on("request", self.request)
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))

    def request(self, request) -> None:
        address = urlsplit(request.url)
        own = address.scheme in ("file", "data", "blob")
        if not own and address.hostname != "127.0.0.1":
            self.wrong.append(f"a request to {request.url}")

    def console(self, message) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.wrong.append(message.text)

    def check(self) -> None:
        assert self.wrong == []


@pytest.fixture(scope="session")
def site() -> Path:
    folder = site_folder()
    if not (folder / "index.html").is_file():
        pytest.fail(
            f"no built site at {folder}: run `make book` first, or set MYGPT_SITE"
        )
    return folder


@pytest.fixture(scope="session")
def server(site):
    server = Server(site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def http_url(server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="session")
def file_url(site) -> str:
    return site.as_uri()


@pytest.fixture(params=[pytest.param("http", marks=pytest.mark.slow), "file"])
def site_url(request, http_url, file_url) -> str:
    return http_url if request.param == "http" else file_url


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Playwright gives each launch a new, empty profile folder.
        browser = playwright.chromium.launch(
            executable_path=make.browser(),
            args=FLAGS,
            slow_mo=float(os.environ.get("MYGPT_SLOW_MO", 0)),
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def page_opener(browser):
    """`with page_opener() as open_page: …`, for a fixture that outlives one test."""

    @contextmanager
    def opener():
        contexts = []

        def open_page(
            address,
            width=1280,
            height=900,
            theme="light",
            javascript=True,
            touch=False,
            still=False,
        ):
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=theme,
                reduced_motion="reduce" if still else "no-preference",
                java_script_enabled=javascript,
                has_touch=touch,
                is_mobile=touch,
            )
            contexts.append(context)
            page = context.new_page()
            page.set_default_timeout(30_000)
            page.watch = Watch(page)
            page.goto(address, wait_until="load")
            if javascript:
                page.evaluate("document.fonts.ready.then(() => true)")
            return page

        try:
            yield open_page
        finally:
            for context in contexts:
                context.close()

    return opener


@pytest.fixture
def open_page(page_opener):
    with page_opener() as open_page:
        yield open_page


@pytest.fixture
def alone(open_page, tmp_path):
    pages = []

    def alone(made, changes=None, link="", **settings):
        path = tmp_path / "page.html"
        made.write_html(path)
        text = path.read_text("utf-8")
        own = {"const dark": "window.model = model;\nconst dark"}
        for old, new in (own | (changes or {})).items():
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text, "utf-8")
        page = open_page(path.as_uri() + link, **settings)
        pages.append(page)
        root = page.locator(".mygpt-explorer").first
        root.wait_for(state="attached")
        drawn(page)
        return Figure(root)

    yield alone
    for page in pages:
        page.watch.check()
