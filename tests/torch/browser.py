"""A real browser, Chromium, driven through its DevTools protocol over two pipes: nothing but the standard library."""
import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. `said` collects what went wrong in it, and `asked` what it wanted from elsewhere."""

    def __init__(self, folder, width=1400, height=900):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The protocol wants the pipes to be 3 and 4; theirs may be in the way.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read, to_write)]
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
                   f"--user-data-dir={folder}",
                   f"--window-size={width},{height}", "about:blank"]
        actions = [(os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[1], 4),
                   (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
        self._process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self._numbers, self._waiting, self._events, self._session = itertools.count(1), b"", [], None
        self.said, self.asked = [], []
        target = self.call("Target.createTarget", url="about:blank", width=width, height=height,
                           newWindow=True)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self._write)  # it ends with its pipe
        end = time.monotonic() + 10
        while os.waitpid(self._process, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                break
            time.sleep(0.05)
        os.close(self._read)

    # ---- the protocol: JSON and a zero byte -------------------------------------------------------

    def _message(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._waiting:
            if not select.select([self._read], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise ConnectionError("the browser has ended")
            self._waiting += data
        text, _, self._waiting = self._waiting.partition(b"\0")
        return json.loads(text)

    def _note(self, message):
        method, params = message["method"], message["params"]
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            self.said.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.said.append(str(params["args"]))
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def call(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self._note(answer)

    # ---- what a person does -----------------------------------------------------------------------

    def open(self, path):
        self._events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self._events:
            message = self._message()
            if "method" in message:
                self._note(message)

    def run(self, script):
        """The value of an expression in JavaScript, as JSON has it."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, code, text=""):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def prefers(self, scheme):
        """light or dark"""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self):
        """PNG of what is to be seen."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
