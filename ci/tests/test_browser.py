from __future__ import annotations

import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from ci.browser import (
    WINDOW,
    Page,
    picture_problems,
    problems_of,
    require_browser,
    serve,
)
from ci.steps import Skip, StepError

PAGE = Page("index.html", "A heading")
# Without an icon a browser asks for one of its own accord.
DOCUMENT = (
    "<html><link rel='icon' href='data:,'>"
    "<body><h1>A <em>heading</em><a href='#'>sign</a></h1>{}</body></html>"
)
#: A browser that shows the page that it is given, after asking the server for it.
BROWSER = """\
#!{python}
import re, shutil, sys, urllib.error, urllib.request
text = urllib.request.urlopen(sys.argv[-1]).read().decode()
for place in re.findall('src="(.*?)"', text):
    try:
        urllib.request.urlopen(sys.argv[-1].rpartition("/")[0] + "/" + place)
    except urllib.error.HTTPError:
        pass
target = next(word for word in sys.argv if word.startswith("--screenshot="))
shutil.copy("{drawn}", target.partition("=")[2])
for line in re.findall("<script>(.*?)</script>", text):
    print('[1:2:3/4:INFO:CONSOLE:1] "%s", source: x' % line, file=sys.stderr)
print(text)
sys.exit({status})
"""


def _draw(file: Path, size: tuple[int, int] = WINDOW) -> Path:
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for shade in range(100):
        pen.rectangle((0, shade * 4, size[0], shade * 4 + 3), fill=(shade, shade, shade))
    image.save(file)
    return file


def _browser(folder: Path, status: int = 0) -> str:
    program = folder / "browser"
    drawn = _draw(folder / "drawn.png")
    program.write_text(BROWSER.format(python=sys.executable, drawn=drawn, status=status))
    program.chmod(0o755)
    return str(program)


def _site(folder: Path, body: str = "") -> Path:
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text(DOCUMENT.format(body), encoding="utf-8")
    return site


def test_a_page_that_shows_its_heading_has_no_problem_and_leaves_a_picture(tmp_path: Path) -> None:
    assert problems_of(PAGE, _site(tmp_path), tmp_path, _browser(tmp_path)) == []
    assert (tmp_path / "start.png").is_file()


def test_another_heading_is_a_problem(tmp_path: Path) -> None:
    other = Page("index.html", "Another heading")
    assert problems_of(other, _site(tmp_path), tmp_path, _browser(tmp_path)) == [
        "index.html: expected the heading 'Another heading', got ['A heading']"
    ]


def test_what_the_site_lacks_is_a_problem(tmp_path: Path) -> None:
    site = _site(tmp_path, '<img src="nowhere.png">')
    assert problems_of(PAGE, site, tmp_path, _browser(tmp_path)) == [
        "index.html: asks for /nowhere.png, which the site does not have"
    ]


def test_an_error_of_a_script_is_a_problem(tmp_path: Path) -> None:
    site = _site(tmp_path, "<script>Uncaught TypeError</script>")
    assert problems_of(PAGE, site, tmp_path, _browser(tmp_path)) == [
        'index.html: console: "Uncaught TypeError", source: x'
    ]


def test_a_browser_that_fails_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StepError, match=r"browser: exit 3"):
        problems_of(PAGE, _site(tmp_path), tmp_path, _browser(tmp_path, status=3))


def test_a_picture_of_an_earlier_page_is_not_taken_for_the_present_one(tmp_path: Path) -> None:
    _draw(tmp_path / PAGE.picture)
    program = tmp_path / "blind"
    program.write_text("#!/bin/sh\necho '<h1>A heading</h1>'\n")
    program.chmod(0o755)
    (problem,) = problems_of(PAGE, _site(tmp_path), tmp_path, str(program))
    assert "no screenshot" in problem


def test_an_empty_page_is_a_problem(tmp_path: Path) -> None:
    Image.new("RGB", WINDOW, "white").save(tmp_path / "empty.png")
    assert picture_problems(tmp_path / "empty.png") == [
        "the page is empty: 1 colours, 100.0% of it in one of them"
    ]


def test_a_picture_of_another_size_is_a_problem(tmp_path: Path) -> None:
    picture = _draw(tmp_path / "small.png", (400, 500))
    assert picture_problems(picture) == [f"expected a screenshot of {WINDOW}, got (400, 500)"]


def test_pictures_of_different_pages_have_different_names() -> None:
    pages = [PAGE, Page("a/b/index.html", ""), Page("a/index.html", "")]
    assert [page.picture for page in pages] == ["start.png", "a-b.png", "a.png"]


def test_the_server_gives_what_is_there_and_notes_what_is_not(tmp_path: Path) -> None:
    with serve(_site(tmp_path)) as (address, missed):
        with urllib.request.urlopen(f"{address}/index.html") as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"{address}/nowhere")
        error.value.close()
    assert missed == ["/nowhere"]


def test_a_machine_without_a_browser_is_told_what_to_install() -> None:
    with pytest.raises(Skip, match="apt-get install chromium"):
        require_browser(["no-such-browser"])


def test_the_browser_of_this_machine_draws_a_page_and_reports_its_errors(tmp_path: Path) -> None:
    try:
        program = require_browser()
    except Skip as reason:
        pytest.skip(str(reason))
    stripes = "".join(f"<p style='background:rgb({i * 9},0,99)'>{i}" for i in range(28))
    site = _site(tmp_path, f"{stripes}<script src='none.js'></script><script>nothing()</script>")
    first, second = problems_of(PAGE, site, tmp_path, program)
    assert first == "index.html: asks for /none.js, which the site does not have"
    assert "ReferenceError: nothing is not defined" in second
