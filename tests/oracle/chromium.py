"""A headless Chromium driven over its debugging pipe: events as a person makes them, no network."""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.needs import need
from tests.oracle.processes import end

PATIENCE_S = 60.0


def chromium() -> str:
    """The browser's program, as it is installed now; skips where none is."""
    found = shutil.which("chromium-browser")
    if found is None:
        need("chromium")
    return found or "chromium"


class Page:
    """One open page. Messages are JSON, each ended by a zero byte."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it is loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.send(f"{domain}.enable")
        size = {"width": 1280, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Page.navigate", url=path.as_uri() + fragment)
        self.wait_for("document.readyState === 'complete'")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """A command and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.console.append(json.dumps(answer["params"]))

    def value(self, expression: str) -> Any:
        """What an expression is worth in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until it is true."""
        end = time.monotonic() + PATIENCE_S
        while self.value(expression) is not True:
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def key(self, key: str, text: str | None = None) -> None:
        """Press a key; `text` is what it types."""
        typed = {} if text is None else {"text": text}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **typed)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A mouse event at a place of the window."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Move the mouse from a place to a place with its button down."""
        held = {"button": "left", "buttons": 1, "clickCount": 1}
        self.mouse("mousePressed", *start, **held)
        self.mouse("mouseMoved", *((a + b) / 2 for a, b in zip(start, end, strict=True)), **held)
        self.mouse("mouseMoved", *end, **held)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser says nothing"
            received = os.read(self._from, 1 << 16)
            assert received, "the browser is gone"
            self._unread += received
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


def without_network(profile: Path) -> list[str]:
    """The words that start a headless browser which resolves no host name."""
    return [
        chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
    ]


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A browser with a new profile and every host name unresolvable, ended afterwards."""
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    # The browser reads commands from descriptor 3 and answers on 4, whatever they are here.
    script = f'exec 3<&{in_read} 4>&{out_write}; exec "$0" "$@"'
    argv = [*without_network(profile), "--remote-debugging-pipe", "about:blank"]
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, *argv],
        pass_fds=(in_read, out_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(in_read)
    os.close(out_write)
    page = Page(in_write, out_read)
    try:
        yield page
    finally:
        end(process, 20)
        os.close(in_write)
        os.close(out_read)
