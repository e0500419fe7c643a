"""Opens pages of the built site in a headless browser, and says what is wrong with what it shows.

The pages come from a server on this machine, which notes what it was asked for and does not have;
the browser can reach nothing else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from ci.steps import Skip, StepError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WINDOW = (1280, 1600)
#: Real pages take a second or two; a browser that hangs shall not hold up the session.
LIMIT_SECONDS = 120
# A page of text has hundreds of shades on the edges of its letters, and more than a background.
FEWEST_COLOURS = 16
LARGEST_BACKGROUND = 0.995


@dataclass(frozen=True)
class Page:
    """A page of the site: its path below the site's folder, and the heading that it shows."""

    path: str
    heading: str

    @property
    def picture(self) -> str:
        """The file name of its screenshot."""
        return f"{self.path.removesuffix('index.html').strip('/').replace('/', '-') or 'start'}.png"


def require_browser(programs: Sequence[str] = PROGRAMS) -> str:
    """The first of `programs` in `PATH`.

    Raises:
        Skip: There is none.
    """
    for name in programs:
        if path := shutil.which(name):
            return path
    raise Skip("no Chromium or Chrome in PATH; apt-get install chromium")


@contextmanager
def serve(site: Path) -> Iterator[tuple[str, list[str]]]:
    """Serves the folder `site` on this machine alone.

    Yields the address, and the list to which each request that found nothing is added.
    """
    missed: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            if isinstance(code, HTTPStatus) and code >= HTTPStatus.BAD_REQUEST:
                missed.append(self.path)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: what was not found is in `missed`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", missed
        finally:
            server.shutdown()
            thread.join()


def problems_of(page: Page, site: Path, pictures: Path, browser: str) -> list[str]:
    """Opens `page`, keeps its screenshot in the folder `pictures`, and says what is wrong."""
    picture = pictures / page.picture
    picture.unlink(missing_ok=True)
    with serve(site) as (address, missed), tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            "--headless",
            "--no-sandbox",  # it does not start for root otherwise; the pages are our own
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--enable-logging=stderr",
            f"--window-size={WINDOW[0]},{WINDOW[1]}",
            "--virtual-time-budget=5000",  # milliseconds for scripts, which run ahead of time
            f"--screenshot={picture}",
            "--dump-dom",
            f"{address}/{page.path}",
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise StepError(f"{browser} shows no {page.path} in {LIMIT_SECONDS} s") from error
    if done.returncode != 0:
        raise StepError(f"{browser}: exit {done.returncode}\n{done.stderr}")
    problems = [f"asks for {path}, which the site does not have" for path in missed]
    problems += [f"console: {text}" for text in _console(done.stderr)]
    shown = _headings(done.stdout)
    if page.heading not in shown:
        problems.append(f"expected the heading {page.heading!r}, got {shown}")
    problems += picture_problems(picture)
    return [f"{page.path}: {problem}" for problem in problems]


def _console(log: str) -> list[str]:
    """What scripts of the page wrote to the browser's console, errors among it."""
    return re.findall(r":CONSOLE[:(]\d+\)?\] (.*)", log)


class _Headings(HTMLParser):
    """Collects the text of each `h1`, without the sign of its permanent link."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False
        self._link = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h1":
            self.found.append("")
            self._inside = True
        self._link = self._inside and tag == "a"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "h1"
        self._link = self._link and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._inside and not self._link:
            self.found[-1] += data


def _headings(document: str) -> list[str]:
    parser = _Headings()
    parser.feed(document)
    return [" ".join(text.split()) for text in parser.found]


def picture_problems(picture: Path) -> list[str]:
    """What is wrong with a screenshot: missing, of another size, or of next to one colour."""
    # In the environments of this session and of the tests alone.
    from PIL import Image

    if not picture.is_file():
        return [f"no screenshot at {picture}"]
    with Image.open(picture) as image:
        size = image.size
        colours = image.convert("RGB").getcolors(size[0] * size[1]) or []
    problems = []
    if size != WINDOW:
        problems.append(f"expected a screenshot of {WINDOW}, got {size}")
    background = max(count for count, _ in colours) / (size[0] * size[1])
    if len(colours) < FEWEST_COLOURS or background > LARGEST_BACKGROUND:
        problems.append(
            f"the page is empty: {len(colours)} colours, {background:.1%} of it in one of them"
        )
    return problems
