"""A worker that misbehaves as its first argument says; it speaks the wire protocol as far as that goes."""

import json
import os
import sys
import time


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


HELLO = {
    "hello": {
        "protocol": 1, "torch": "2.13.0", "python": "3.11.7", "executable": sys.executable, "cuda": False, "missing": [], "failure": None,
    }
}  # fmt: skip
ANALYSED = {
    "events": [], "graphs": [{"ops": 2, "function": "f", "file": "x.py", "line": 1, "call": 0}], "skipped": [], "calls": 1,
    "device": "cpu", "seconds": 0.1, "failure": None,
}  # fmt: skip


def main(behaviour: str) -> None:
    if behaviour == "silent":
        time.sleep(600)
    if behaviour == "dies at start":
        sys.stderr.write("no such library\n")
        sys.exit(3)
    if behaviour == "babbles":
        print("Welcome to this Python!")
        print("{not json")
    if behaviour == "old protocol":
        say({"hello": {**HELLO["hello"], "protocol": 99}})
        time.sleep(600)
    if behaviour == "no torch":
        failure = {
            "stage": "worker",
            "kind": "no-torch",
            "message": "torch is not installed.",
            "remedy": "Install torch.",
            "path": None,
            "line": None,
            "detail": "",
        }
        say({"hello": {**HELLO["hello"], "torch": None, "failure": failure}})
    else:
        say(HELLO)
    for line in sys.stdin:
        message = json.loads(line)
        number = message.get("id")
        if message["method"] == "cancel":
            sys.stderr.write(f"cancelled {message['params']['id']}\n")
            sys.stderr.flush()
            continue
        if behaviour == "hangs":
            continue
        if behaviour == "dies at work":
            os._exit(9)
        if behaviour == "floods":
            sys.stderr.write("x" * 3_000_000 + "\n")
            sys.stderr.flush()
            for _ in range(2000):
                say({"id": 424242, "progress": {"message": "y" * 500}})
        if behaviour == "lies":
            print("[1, 2, 3]")
            print('"text"')
            say({"id": 999, "result": ANALYSED})
            say({"id": number, "progress": "not an object"})
        say({"id": number, "progress": {"message": "half way"}})
        say({"id": number, "result": ANALYSED})


main(sys.argv[1])
