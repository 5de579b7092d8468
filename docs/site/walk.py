"""Walks the built site in a headless browser: python docs/site/walk.py [target/book/html] [--shots FOLDER]

Every page in a desk's width and a phone's, in the light theme and the dark one: nothing is wider than the window, every picture is there,
every link inside the site leads to a page and a heading that are there, and the search finds something. Needs Chromium and the package
tornado; ends with status 1 and a line for each complaint.
"""

import argparse
import asyncio
import base64
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from tornado.websocket import websocket_connect

WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}
THEMES = ["light", "dark"]
SECONDS = 30
#: What a page says of itself. What is scrolled by itself, a table or a program, may be wider than the window.
LOOK = """(() => {
  const width = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > width + 1
    && !e.closest('.table-wrapper, pre, .highlight')).map(e => e.tagName + ': ' + e.textContent.trim().slice(0, 40));
  return {
    wide: document.documentElement.scrollWidth > width ? ['the page itself', ...wide] : wide,
    missing: [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src),
    links: [...document.links].map(a => a.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
  };
})()"""


class Browser:
    """A page of Chromium, told what to do by its debugging protocol."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0

    async def command(self, method, **parameters):
        self.number += 1
        await self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            said = json.loads(await self.socket.read_message())
            if said.get("id") == self.number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']['message']}")
                return said["result"]

    async def value(self, script):
        return (await self.command("Runtime.evaluate", expression=script, returnByValue=True))["result"].get("value")

    async def until(self, script, what):
        for _ in range(SECONDS * 20):
            if await self.value(script):
                return
            await asyncio.sleep(0.05)
        raise TimeoutError(f"{what} within {SECONDS} s")

    async def go(self, uri):
        await self.command("Page.navigate", url=uri)
        await self.until(f"document.readyState == 'complete' && location.href == {json.dumps(uri)}", f"{uri} was not loaded")

    async def shot(self, path, width):
        size = await self.command("Page.getLayoutMetrics")
        clip = {"x": 0, "y": 0, "width": width, "height": size["cssContentSize"]["height"], "scale": 1}
        picture = await self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(picture["data"]))


async def walk(browser, site, shots):
    """What is wrong with the site, a line each."""
    wrong, ids, links = [], {}, {}
    await browser.command("Page.enable")
    for theme in THEMES:
        await browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        for name, (width, height) in WIDTHS.items():
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": name == "phone"}
            await browser.command("Emulation.setDeviceMetricsOverride", **size)
            for page in sorted(site.glob("*.html")):
                await browser.go(page.as_uri())
                seen = await browser.value(LOOK)
                wrong += [f"{page.name}, {theme}, {name}: wider than {width} points: {what}" for what in seen["wide"][:3]]
                wrong += [f"{page.name}, {theme}, {name}: no picture: {what}" for what in seen["missing"]]
                ids[page.as_uri()] = set(seen["ids"])
                links |= {link: page.name for link in seen["links"] if link.startswith("file:")}
                if shots:
                    await browser.shot(shots / f"{page.stem}-{name}-{theme}.png", width)
    for link, page in links.items():
        place, _, heading = link.partition("#")
        there = Path(urllib.request.url2pathname(urllib.parse.urlsplit(place).path)).exists()
        if not there or heading and place in ids and urllib.parse.unquote(heading) not in ids[place]:
            wrong.append(f"{page}: the link to {link} leads nowhere")
    await browser.go((site / "search.html").as_uri() + "?q=barrier")
    await browser.until("document.querySelector('#search-results li a') !== null", "the search found nothing")
    return wrong, len(ids), len(links)


async def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", nargs="?", type=Path, default=Path("target/book/html"))
    parser.add_argument("--shots", type=Path, help="a folder that gets a picture of every page")
    options = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program or not (options.site / "index.html").is_file():
        sys.exit("there is no Chromium; help: install chromium" if not program else f"{options.site} has no index.html; help: cargo xtask book")
    with tempfile.TemporaryDirectory() as profile:
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        process = subprocess.Popen([program, *arguments, "about:blank"], stderr=subprocess.DEVNULL)
        try:
            active = Path(profile) / "DevToolsActivePort"
            for _ in range(SECONDS * 20):
                if active.is_file() and "\n" in active.read_text():
                    break
                await asyncio.sleep(0.05)
            port = active.read_text().split("\n")[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                page = next(target for target in json.load(answer) if target["type"] == "page")
            socket = await websocket_connect(page["webSocketDebuggerUrl"], max_message_size=1 << 28)
            wrong, pages, links = await walk(Browser(socket), options.site.resolve(), options.shots)
        finally:
            process.terminate()
            process.wait()
    print(*wrong, f"{pages} pages in {len(THEMES) * len(WIDTHS)} ways, {links} links, {len(wrong)} complaints", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    asyncio.run(main())
