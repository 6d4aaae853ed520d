"""jaxlib in a process of its own, because some input makes it abort."""
import json
import subprocess
import sys


class Jaxlib:
    """`script` answers each line of JSON on its input with one on its output."""

    def __init__(self, script):
        self.script = script
        self.process = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.script], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None

    def ask(self, request):
        """The answer, or None where jaxlib aborted; the next question starts it again."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        self.process.stdout.close()
        self.process.wait()
        self.process = None
        return None
