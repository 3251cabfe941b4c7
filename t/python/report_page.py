# Measure how a browser shows a page.  Tell headless Chromium over a pipe to load the page on
# screens of several sizes, with light and with dark colours, and to measure it.
#
# 	python3 report_page.py CHROMIUM PAGE DIRECTORY
#
# Leave screenshots and the browser's profile in DIRECTORY.  Print JSON: the URLs that the browser
# requested, and the measurements of each view.  The script reads the screenshots with matplotlib.
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCREENS = {"telephone": (390, 844), "desktop": (1440, 900)}
# This many seconds are necessary because a browser on a busy machine takes minutes.
TIMEOUT = 600

# Open all folded parts of the page, and measure everything.
MEASURE = """(() => {
  document.querySelectorAll('details').forEach(details => details.open = true);
  const channel = value => { value /= 255; return value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4; };
  const luminance = color => {
    const [red, green, blue] = color.match(/[\\d.]+/g).map(Number).map(channel);
    return .2126 * red + .7152 * green + .0722 * blue;
  };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  const contrast = color => {
    const own = luminance(color);
    return (Math.max(own, page) + .05) / (Math.min(own, page) + .05);
  };
  const found = {
    width: document.documentElement.scrollWidth, inner: innerWidth, page: page,
    svgs: 0, unnamed: 0, cut: [], contrast: 99, faint: '', text: 99, svg_text: 99, widest: 0, cell: 0, images: document.images.length,
  };
  const first = document.querySelector('#stages'), message = document.querySelector('.message');
  if (first) {
    const bars = [...first.querySelectorAll('.bar span')].map(bar => bar.getBoundingClientRect().width);
    found.first = { message: message.textContent, bottom: first.getBoundingClientRect().bottom + scrollY, bars: bars };
  }
  const weakest = (color, what) => {
    if (contrast(color) < found.contrast) { found.contrast = contrast(color); found.faint = what; }
  };
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.getBoundingClientRect();
    found.svgs++;
    found.widest = Math.max(found.widest, box.right);
    if (!svg.getAttribute('aria-label') && !svg.querySelector('title')) found.unnamed++;
    for (const text of svg.querySelectorAll('text')) {
      const own = text.getBoundingClientRect(), style = getComputedStyle(text);
      found.svg_text = Math.min(found.svg_text, parseFloat(style.fontSize) * text.getScreenCTM().a);
      weakest(style.fill, 'svg: ' + text.textContent);
      if (own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 || own.bottom > box.bottom + 1)
        found.cut.push(svg.getAttribute('aria-label') + ': ' + text.textContent);
    }
    for (const drawn of svg.querySelectorAll('path')) {
      const fill = getComputedStyle(drawn).fill;
      if (/^#|url/.test(fill)) found.cut.push('fill ' + fill);
    }
  }
  for (const element of document.querySelectorAll('h1, h2, h3, p, th, td, a, summary, figcaption, code, li')) {
    const style = getComputedStyle(element);
    if (/T[DH]/.test(element.tagName)) found.cell = Math.max(found.cell, element.getBoundingClientRect().right);
    found.text = Math.min(found.text, parseFloat(style.fontSize));
    weakest(style.color, element.tagName + ': ' + element.textContent.slice(0, 40));
  }
  document.querySelectorAll('details').forEach(details => details.open = false);
  return found;
})()"""


class Browser:
    """Chromium, to which messages of JSON, each ended by a zero byte, go by descriptors 3 and 4."""

    def __init__(self, program, profile):
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        log = open(Path(profile) / "log", "wb")

        def inherit():
            # Make copies first, because descriptor 3 or 4 may be in use.
            first, second = os.dup(commands), os.dup(answers)
            os.dup2(first, 3)
            os.dup2(second, 4)

        words = [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]
        words += [
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-breakpad",
            "--hide-scrollbars",
        ]
        words += [f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=inherit,
            close_fds=False,
            env={**os.environ, "HOME": profile},
        )
        os.close(commands)
        os.close(answers)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None

    def read(self):
        while b"\0" not in self.buffer:
            part = os.read(self.answers, 1 << 20)
            if not part:
                sys.exit(f"the browser has ended, exit code {self.process.wait()}")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())

    def requests(self):
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self):
        return [
            event["params"]
            for event in self.events
            if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]

    def screenshot(self, path):
        import base64

        path.write_bytes(
            base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        )
        return path


def pixels(path):
    import matplotlib.image
    import numpy

    image = (matplotlib.image.imread(path)[..., :3] * 255).round().astype(int)
    colours, counts = numpy.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    return {
        "size": [image.shape[1], image.shape[0]],
        "colours": len(colours),
        # The background of the page has more pixels than any other colour.
        "background": float(colours[counts.argmax()].mean()),
        "mean": float(image.mean()),
    }


def main():
    program, page, directory = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    with tempfile.TemporaryDirectory(dir=directory, ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)[
                "sessionId"
            ]
            for domain in ("Page", "Network", "Runtime", "Log"):
                browser.call(f"{domain}.enable")
            views = {}
            for screen, (width, height) in SCREENS.items():
                for scheme in ("light", "dark"):
                    browser.call(
                        "Emulation.setDeviceMetricsOverride",
                        width=width,
                        height=height,
                        deviceScaleFactor=1,
                        mobile=screen == "telephone",
                    )
                    browser.call(
                        "Emulation.setEmulatedMedia",
                        features=[{"name": "prefers-color-scheme", "value": scheme}],
                    )
                    browser.events = [
                        event
                        for event in browser.events
                        if event.get("method") != "Page.loadEventFired"
                    ]
                    browser.call("Page.navigate", url=page.as_uri())
                    browser.wait("Page.loadEventFired")
                    name = f"{screen}-{scheme}"
                    shots = {"top": pixels(browser.screenshot(directory / f"{name}.png"))}
                    browser.call(
                        "Runtime.evaluate",
                        expression="document.querySelector('figure').scrollIntoView()",
                    )
                    shots["chart"] = pixels(browser.screenshot(directory / f"{name}-chart.png"))
                    seen = browser.call("Runtime.evaluate", expression=MEASURE, returnByValue=True)
                    if "exceptionDetails" in seen:
                        sys.exit(f"{name}: {seen['exceptionDetails']}")
                    views[name] = {**seen["result"]["value"], "shots": shots}
            print(
                json.dumps(
                    {
                        "page": page.as_uri(),
                        "requests": browser.requests(),
                        "complaints": browser.complaints(),
                        "views": views,
                    }
                )
            )
        finally:
            browser.process.kill()
            browser.process.wait()


if __name__ == "__main__":
    # If the browser hangs, end this script, which would wait for it.
    import signal

    signal.signal(
        signal.SIGALRM, lambda *_: sys.exit(f"the browser has not answered for {TIMEOUT} s")
    )
    signal.alarm(TIMEOUT)
    main()
