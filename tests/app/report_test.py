#!/usr/bin/python3
"""The page about a run, in a real browser: it loads from the disk alone, its strip zooms, its tables sort, it prints, and text of a
run stays text."""

import base64
import fcntl
import json
import os
import re
import select
import shutil
import struct
import subprocess
import shlex
import sys
import time
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, FAILURE, INVALID_INPUT, PUBLISHED, USAGE, Case

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
SECTIONS = ["verdict", "results", "funnel", "progress", "efficiency", "strip", "where", "subtrees", "sizes", "scaling", "solver",
            "provenance", "reproduce"]
KEY_CODES = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "Enter": 13, "Escape": 27, "+": 187, "-": 189}


class Browser:
    """A headless Chromium with one page, told what to do through a pipe: JSON messages with a zero byte after each."""

    def __init__(self, folder: Path, *, width: int = 1280, height: int = 900):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                   "--disable-extensions", "--disable-component-update", "--disable-background-networking", "--disable-dev-shm-usage",
                   f"--user-data-dir={folder / 'browser'}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         close_fds=False, start_new_session=True, env={**harness.environment(), "HOME": str(folder)},
                                         preexec_fn=lambda: self._give_pipes(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        self._rest, self._count, self.events = b"", 0, []
        self._session = None
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.tell(f"{domain}.enable")
        self.resize(width, height)

    @staticmethod
    def _give_pipes(to_browser: int, from_browser: int) -> None:
        """It reads from 3 and writes to 4; the originals may be these very numbers."""
        read, write = (fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (to_browser, from_browser))
        os.dup2(read, 3)
        os.dup2(write, 4)
        harness._die_with_parent()

    def end(self) -> None:
        try:
            self.tell("Browser.close")
            self._process.wait(20)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, 9)     # its own session: nothing else is in this group
            self._process.wait(20)
        os.close(self._in)
        os.close(self._out)

    def _message(self, timeout_s: float) -> dict:
        deadline = time.monotonic() + timeout_s
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise AssertionError("the browser said nothing in time" if not ready else "the browser ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def tell(self, method: str, **parameters) -> dict:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while (answer := self._message(harness.TIMEOUT_S)).get("id") != self._count:
            self.events.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, file: Path) -> None:
        self.tell("Page.navigate", url=file.as_uri())
        self.until("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'")
        self.settle()

    def settle(self) -> None:
        """Until what was changed is drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, expression: str):
        result = self.tell("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression: str, timeout_s: float = harness.TIMEOUT_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"not after {timeout_s} s: {expression}")
            time.sleep(0.05)

    def resize(self, width: int, height: int = 900) -> None:
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, key) if len(key) == 1 or key == "Enter" else ""
        self.tell("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=KEY_CODES[key], text=text)
        self.tell("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=KEY_CODES[key])

    def mouse(self, kind: str, x: float, y: float, **more) -> None:
        self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def center(self, selector: str) -> tuple[float, float, float, float]:
        """Scrolls there; x and y of the middle, width and height."""
        box = self.value(f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
            one.scrollIntoView({{block: 'center', behavior: 'instant'}}); const box = one.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2, box.width, box.height]; }})()""")
        return tuple(box)

    def click(self, selector: str) -> None:
        x, y, _, _ = self.center(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def requests(self) -> list[str]:
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]

    def complaints(self) -> list:
        """Exceptions, errors and warnings of the console, and what the browser itself logs."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(parameters["args"])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"])
        return found


def png_bytes(data: bytes) -> tuple[int, int, bytes]:
    """Width, height and the filtered bytes of a PNG."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, pixels, size = 8, b"", (0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], "damaged PNG"
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            pixels += body
        at += 12 + length
    return (*size, zlib.decompress(pixels))


class Reported(Case):
    """Runs, and pages about them."""

    def searched(self, experiment: Path, *arguments, **more) -> None:
        result = self.finished(self.search(experiment, "--quiet", *arguments, **more))
        self.assertEqual(result.code, DONE, result.text)

    def report(self, *arguments, run: str = "run") -> Path:
        result = self.espalier("report", run, *arguments)
        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        page = self.folder / result.stdout.strip()
        self.assertTrue(page.is_file(), result.text)
        return page


@unittest.skipUnless(CHROMIUM, "there is no Chromium to look at the page with")
class InBrowser(Reported):
    def opened(self, page: Path) -> Browser:
        browser = Browser(self.folder)
        self.addCleanup(browser.end)
        browser.open(page)
        return browser

    def expect_quiet(self, browser: Browser, page: Path) -> None:
        """Nothing was asked for but the page itself and what it carries, and nothing went wrong."""
        browser.settle()
        asked = browser.requests()
        self.assertEqual([one for one in asked if not one.startswith("data:")], [page.as_uri()])
        self.assertEqual(browser.complaints(), [])
        self.assertNotIn("could not be drawn", browser.value("document.querySelector('main').textContent"))


class CountingPage(InBrowser):
    """A tree search on three ranks."""

    def setUp(self):
        super().setUp()
        self.searched(self.experiment("T1"), ranks=3, threads=2)
        self.page = self.report("-o", "page.html")
        self.browser = self.opened(self.page)

    def range(self) -> tuple[float, float]:
        return tuple(self.browser.value("[+document.querySelector('.strip').dataset.from, +document.querySelector('.strip').dataset.to]"))

    def test_it_loads_from_the_disk_alone(self):
        self.expect_quiet(self.browser, self.page)
        self.assertEqual(self.browser.value("Array.from(document.querySelectorAll('main > section'), one => one.id)"), SECTIONS)
        self.assertEqual(self.browser.value("Array.from(document.querySelectorAll('nav a'), one => one.hash.slice(1))"), SECTIONS)
        verdict = self.browser.value("document.querySelector('#verdict').textContent")
        for word in ("complete", "uts", f"{PUBLISHED['T1'].nodes:,}", "3 × 2"):
            self.assertIn(word, verdict)

    def test_every_section_shows_something(self):
        for section in SECTIONS:
            text = self.browser.value(f"document.querySelector('#{section}').innerText")
            self.assertGreater(len(text), 30, section)

    def test_every_rank_has_its_time(self):
        rows = self.browser.value("Array.from(document.querySelectorAll('#where details tbody tr'), row => row.cells[0].textContent)")
        self.assertEqual(rows, ["0", "1", "2"])
        self.assertIn("3 ranks", self.browser.value("document.querySelector('.strip').getAttribute('aria-label')"))

    def test_the_phases_are_those_of_the_trace_command(self):
        expected = json.loads(self.espalier("trace", "run", "--by", "phase", "--format", "json").stdout)
        shown = self.browser.value("""Array.from(document.querySelectorAll('#where-tables > .wide tbody tr'), row =>
            [row.cells[0].textContent.replace(/ \\(.*\\)$/, ''), +row.cells[0].firstChild.dataset.level, +row.cells[3].dataset.value])""")
        self.assertEqual([one[:2] for one in shown], [[one["name"], one["level"]] for one in expected])
        for (_, _, mean), one in zip(shown, expected):
            self.assertAlmostEqual(mean, one["mean"], delta=1e-3 * max(1, one["mean"]))
        self.assertIn("nodes expanded (sampled)", self.browser.value("document.querySelector('#where').textContent"))
        samples = self.browser.value("Array.from(document.querySelectorAll('#where-tables > .wide tbody tr'), row => row.cells[6].textContent)")
        self.assertEqual([one.replace(",", "") for one in samples], [str(one["samples"] or "") for one in expected])

    def test_the_verdict_is_that_of_the_trace_command_and_the_scaling_comes_with_advice(self):
        found = json.loads(self.espalier("trace", "run", "--format", "json").stdout)
        self.assertIn(found["verdict"], self.browser.value("document.querySelector('#verdict .lead').textContent"))
        shown = self.browser.value("Array.from(document.querySelectorAll('#verdict .hints li'), one => one.textContent)")
        for hint, gain, words in zip(found["hints"], found["hint_gains"], shown, strict=True):
            self.assertTrue(words.startswith(hint), words)
            self.assertEqual("thread seconds)" in words, gain > 0)
        self.assertRegex(self.browser.value("document.querySelector('#scaling .advice').textContent"),
                         r"^(Use up to .* node-hours|No listed number of nodes reaches 80 % efficiency)\.$")

    def test_sorting_by_phase_brings_the_levels_back(self):
        names = lambda: self.browser.value("Array.from(document.querySelectorAll('#where-tables > .wide tbody tr'), row => row.cells[0].textContent)")
        head = lambda column: f"#where-tables > .wide thead th:nth-child({column}) button"
        before = names()
        self.browser.click(head(4))
        self.assertNotEqual(names(), before)
        self.browser.click(head(1))
        self.assertEqual(names(), before)

    def test_a_short_run_has_its_nodes_over_time(self):
        labels = self.browser.value("Array.from(document.querySelectorAll('#progress-plots svg[role=img]'), one => one.getAttribute('aria-label'))")
        self.assertEqual(len(labels), 2, labels)
        seconds = self.show()["total_seconds"]
        rate = float(re.match(r"([\d.]+) [kM]? ?nodes per second over the whole run", labels[1])[1])
        self.assertTrue(any(abs(rate * unit * seconds / PUBLISHED["T1"].nodes - 1) < 0.02 for unit in (1, 1e3, 1e6)), labels)
        drawn = self.browser.value("Array.from(document.querySelectorAll('#progress-plots path.line.c0[d]'), one => one.getAttribute('d')).filter(one => /[LHV]/.test(one)).length")
        self.assertGreaterEqual(drawn, 1)

    def test_keys_zoom_and_pan_the_strip(self):
        whole = self.range()
        self.assertEqual(whole[0], 0)
        self.browser.value("document.querySelector('.strip').focus()")

        self.browser.press("+")
        near = self.range()
        self.assertAlmostEqual(near[1] - near[0], (whole[1] - whole[0]) / 2)
        self.browser.press("ArrowRight")
        later = self.range()
        self.assertAlmostEqual(later[1] - later[0], near[1] - near[0])
        self.assertGreater(later[0], near[0])
        self.browser.press("ArrowLeft")
        self.assertAlmostEqual(self.range()[0], near[0])
        self.browser.press("-")
        self.assertAlmostEqual(self.range()[1] - self.range()[0], whole[1] - whole[0])
        self.browser.press("+")
        self.browser.press("Home")
        self.assertEqual(self.range(), whole)
        self.expect_quiet(self.browser, self.page)

    def test_the_strip_tells_what_is_under_the_mouse_and_the_cursor(self):
        x, y, _, height = self.browser.center(".strip canvas")
        self.browser.mouse("mouseMoved", x, y)
        shown = self.browser.value("document.querySelector('.strip .tip').textContent")
        self.assertRegex(shown, r"rank \d on \S+, .* to .*expand \d+ %, query 0 %, verify 0 %, wait \d+ %, other \d+ %")

        self.browser.value("document.querySelector('.strip').focus()")
        for rank in ("rank 0", "rank 1", "rank 2", "rank 2"):
            self.browser.mouse("mouseMoved", x, 1) if rank == "rank 0" else None
            self.browser.press("ArrowDown")
            self.assertIn(rank, self.browser.value("document.querySelector('#said').textContent"))

    def test_wheel_and_drag_zoom_the_strip(self):
        whole = self.range()
        x, y, width, _ = self.browser.center(".strip canvas")
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
        self.browser.settle()
        self.assertEqual(self.range(), whole, "without the focus the wheel scrolls the page")

        self.browser.value("document.querySelector('.strip').focus({preventScroll: true})")
        x, y, width, _ = self.browser.center(".strip canvas")
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
        self.browser.until(f"+document.querySelector('.strip').dataset.to < {whole[1]} - 1e-9")
        near = self.range()
        self.assertLess(near[1] - near[0], 0.5 * (whole[1] - whole[0]))

        self.browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.browser.mouse("mouseMoved", x + width / 8, y, button="left", buttons=1)
        self.browser.mouse("mouseReleased", x + width / 8, y, button="left", clickCount=1)
        drawn = self.range()
        self.assertLess(drawn[1] - drawn[0], 0.3 * (near[1] - near[0]))
        for clicks in (1, 2):
            self.browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=clicks)
            self.browser.mouse("mouseReleased", x, y, button="left", clickCount=clicks)
        self.assertEqual(self.range(), whole)
        self.expect_quiet(self.browser, self.page)

    def test_light_and_dark_differ_and_can_be_chosen(self):
        color = lambda: self.browser.value("getComputedStyle(document.body).backgroundColor")
        self.browser.prefer("light")
        light = color()
        self.browser.prefer("dark")
        dark = color()
        self.assertNotEqual(light, dark)

        self.browser.click("#theme")
        self.assertEqual(color(), light)
        self.browser.prefer("light")
        self.browser.click("#theme")
        self.assertEqual(color(), dark)

    def test_it_prints(self):
        self.browser.prefer("dark")
        printed = base64.b64decode(self.browser.tell("Page.printToPDF", printBackground=True)["data"])
        self.assertEqual(printed[:5], b"%PDF-")
        self.expect_quiet(self.browser, self.page)

    def test_a_narrow_window_needs_no_scrolling_sideways(self):
        for width in (360, 800, 1600):
            self.browser.resize(width)
            self.browser.settle()
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)

    def test_a_picture_of_it_shows_something(self):
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            file = self.folder / f"{scheme}.png"
            file.write_bytes(base64.b64decode(self.browser.tell("Page.captureScreenshot", format="png")["data"]))
            width, height, pixels = png_bytes(file.read_bytes())
            self.assertEqual((width, height), (1280, 900))
            self.assertGreater(len(set(pixels)), 64)    # one colour, however filtered, has a few values per channel
            if kept := os.environ.get("ESPALIER_SCREENSHOTS"):
                shutil.copy(file, Path(kept))


class ResultsPage(InBrowser):
    """A superoptimizer's run with 22 programs, of which two forms are not slower than the input."""

    def setUp(self):
        super().setUp()
        self.searched(self.superoptimization("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144", "full"), threads=2)
        self.page = self.report("--top", "2", "--nodes", "1,2,4")
        self.browser = self.opened(self.page)

    def worthwhile(self) -> list[dict]:
        """The cheapest program of each form that is not slower than the input."""
        forms: dict[str, dict] = {}
        for one in self.show()["results"]:
            forms.setdefault(one["form"], one)
        return [one for one in forms.values() if one["speedup"] >= 1]

    def column(self, name: str) -> list[str]:
        return self.browser.value(f"""(() => {{ const table = document.querySelector('#results-table');
            const at = Array.from(table.tHead.rows[0].cells, one => one.textContent).indexOf({json.dumps(name)});
            return Array.from(table.tBodies[0].rows, row => row.cells[at].dataset.value || row.cells[at].textContent); }})()""")

    def head(self, name: str) -> str:
        """A selector of a column's button."""
        at = self.browser.value(f"Array.from(document.querySelectorAll('#results-table thead th'), one => one.textContent).indexOf({json.dumps(name)})")
        return f"#results-table thead th:nth-child({at + 1}) button"

    def test_the_page_is_in_the_run_folder_and_has_the_results(self):
        self.assertEqual(self.page, self.folder / "run" / "report.html")
        results = self.worthwhile()
        self.assertEqual(self.column("key"), [one["key"] for one in results])
        self.assertEqual([float(one) for one in self.column("cost us")], [one["cost_us"] for one in results])
        self.assertIn("22", self.browser.value("document.querySelector('#verdict').textContent"))
        self.expect_quiet(self.browser, self.page)

    def test_a_click_or_enter_on_a_head_sorts(self):
        keys = self.column("key")
        self.assertGreater(len(keys), 1)

        self.browser.click(self.head("key"))
        self.browser.press("Enter")     # the button has the focus
        self.assertEqual(self.column("key"), sorted(keys, reverse=True))
        self.browser.press("Enter")
        self.assertEqual(self.column("key"), sorted(keys))
        self.browser.press("Enter")
        self.assertEqual(self.browser.value("document.querySelector('#results-table [aria-sort]').getAttribute('aria-sort')"), "descending")
        self.browser.click(self.head("id"))
        self.assertEqual([int(one) for one in self.column("id")], [one["id"] for one in self.worthwhile()])
        self.assertEqual(self.browser.value("document.querySelectorAll('#results-table [aria-sort]').length"), 1)

    def test_the_best_are_drawn(self):
        sizes = self.browser.value("Array.from(document.querySelectorAll('figure img'), one => one.naturalWidth * one.naturalHeight)")
        self.assertEqual(len(sizes), 2)
        self.assertGreater(min(sizes), 1000)
        widths = self.browser.value("Array.from(document.querySelectorAll('figure img'), one => one.clientWidth / one.naturalWidth)")
        self.assertGreater(min(widths), 0.9, "their text cannot be read")

    def test_a_click_or_enter_opens_a_drawing_in_large(self):
        self.browser.resize(390)
        self.browser.settle()
        small = self.browser.center("figure img")[2]
        is_open = lambda: self.browser.value("document.querySelector('dialog').open")
        self.assertFalse(is_open())

        self.browser.click("figure .picture")
        self.assertTrue(is_open())
        self.assertGreater(self.browser.value("document.querySelector('dialog img').clientWidth"), small)
        self.assertEqual(self.browser.value("document.querySelector('dialog .title').textContent"),
                         self.browser.value("document.querySelector('figcaption').textContent"))
        self.browser.press("Escape")
        self.assertFalse(is_open())
        self.assertEqual(self.browser.value("document.activeElement.className"), "picture")
        self.browser.press("Enter")
        self.assertTrue(is_open())
        self.browser.click("dialog button")
        self.assertFalse(is_open())
        self.expect_quiet(self.browser, self.page)

    def test_the_best_cost_is_a_curve_down_to_the_best_result(self):
        label = self.browser.value("document.querySelector('#progress-plots svg[role=img]').getAttribute('aria-label')")
        self.assertRegex(label, r"best cost (fell from .*, the first result, to|was) [\d.,]+ us")
        self.assertIn(f"{self.show()['results'][0]['cost_us']:.4g} us", label)
        self.assertRegex(self.browser.value("document.querySelector('#progress-plots path.line').getAttribute('d')"), r"^M[\d. ]+H")

    def test_busy_threads_that_verify_have_the_colour_of_verify(self):
        found = self.browser.value("""(() => { const canvas = document.querySelector('.strip canvas');
            const pixels = canvas.getContext('2d').getImageData(0, 15, canvas.width, 44).data;
            const hex = getComputedStyle(document.documentElement).getPropertyValue('--verify').trim();
            const wanted = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
            let count = 0;
            for (let i = 0; i < pixels.length; i += 4) count += wanted.every((one, c) => pixels[i + c] === one);
            return count; })()""")
        self.assertGreater(found, 100)

    def test_the_funnel_ends_with_what_was_verified(self):
        bars = self.browser.value("Array.from(document.querySelectorAll('#funnel-picture g'), one => Array.from(one.querySelectorAll('text'), part => part.textContent))")
        self.assertIn(["verified", "22"], bars)
        self.assertEqual(bars[0], ["states", f"{self.show()['nodes']:,}"])

    def test_a_narrow_window_cuts_no_line_of_the_funnel_in_words(self):
        self.browser.resize(390)
        self.browser.settle()
        self.assertEqual(self.browser.value("(() => { const one = document.querySelector('#funnel pre'); return [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]; })()"), [0, 0])

    def test_without_scripts_the_main_things_are_there(self):
        text = re.sub(r"<script.*?</script>", "", self.page.read_text(), flags=re.S)
        for word in ("complete", self.worthwhile()[-1]["key"], "The merged experiment", '<pre id="command">'):
            self.assertIn(word, text)


class Hostile(InBrowser):
    def test_names_are_text_and_nothing_else(self):
        name = "a</script><img src=x onerror=\"document.title='broken'\"><!--'&amp;"
        folder = name.replace("/", "")
        self.searched(self.experiment("T1"), "--results", folder)
        page = self.report("-o", "page.html", run=folder)
        browser = self.opened(page)

        self.assertEqual(browser.value("document.querySelector('h1').textContent"), f"{folder}: uts run")
        self.assertEqual(browser.value("document.title"), f"{folder}: uts run")
        self.assertIn(folder, shlex.split(browser.value("document.querySelector('#command').textContent")))
        self.assertEqual(browser.value("document.querySelectorAll('img').length"), 0)
        self.expect_quiet(browser, page)


class Parts(Reported):
    """What the command does, without a browser."""

    def test_without_a_trace_the_page_says_why(self):
        self.searched(self.experiment("T1"), "--set", "trace.enabled=false")
        text = self.report("-o", "page.html").read_text()

        self.assertIn("There is no trace to show", text)
        self.assertIn(f"{PUBLISHED['T1'].nodes:,}", text)

    def test_so_many_are_drawn(self):
        self.searched(self.superoptimization("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144", "full"), threads=2)

        for top in (0, 2):
            self.assertEqual(self.report("-o", "page.html", "--top", str(top), "--nodes", "none").read_text().count("<figure>"), top)
        self.expect_refused(self.espalier("report", "run", "--top", "-1"), "--top", "-1", code=USAGE)

    def test_missing_shards_are_named(self):
        self.searched(self.experiment("T1"), ranks=3)
        for rank in (1, 2):
            (self.folder / "run" / "trace" / "segment-001" / f"rank-{rank:06}.h5").unlink()
        text = self.report("-o", "page.html").read_text()

        self.assertIn("2 trace shards are missing", text)
        for rank in (1, 2):
            self.assertIn(f"rank-{rank:06}.h5</code>", text)

    def test_the_prediction_can_be_left_out(self):
        self.searched(self.experiment("T1"))

        self.assertIn("Left out on request", self.report("-o", "page.html", "--nodes", "none").read_text())

    def test_what_is_wrong_is_refused(self):
        self.searched(self.experiment("T1"))
        (self.folder / "there").mkdir()

        self.expect_refused(self.espalier("report", "nowhere"), "nowhere", "no such folder")
        self.expect_refused(self.espalier("report", "run", "--nodes", "1,two"), "--nodes 1,two", "two")
        self.expect_refused(self.espalier("report", "run", "--nodes", "0"), "--nodes 0")
        self.expect_refused(self.espalier("report", "run", "-o", "there"), "there", "-o")
        self.expect_refused(self.espalier("report", "run", "-o", "missing/page.html"), "missing/page.html", code=FAILURE)
        self.assertEqual(sorted(one.name for one in (self.folder / "run").iterdir() if "report" in one.name), [])

    def test_a_device_is_not_replaced(self):
        self.searched(self.experiment("T1"))

        self.expect_refused(self.espalier("report", "run", "-o", "/dev/null"), "/dev/null", code=INVALID_INPUT)
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_nothing_else_in_the_run_folder_changes_and_the_run_is_still_ours(self):
        experiment = self.experiment("T1")
        self.searched(experiment)
        before = harness.hashes(self.folder / "run")
        self.report()
        after = harness.hashes(self.folder / "run")

        self.assertEqual(after.pop("report.html") is not None and after, before)
        self.assertEqual(self.finished(self.search(experiment, "--quiet")).code, DONE)


if __name__ == "__main__":
    harness.main()
