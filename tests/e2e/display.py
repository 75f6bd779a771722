"""An X display without a screen: windows by their titles, the keyboard, and the pixels."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from editors import Programs

Colour = tuple[int, int, int]
WIDTH, HEIGHT = 1000, 700
LETTER = 10  # pixels, at most


@dataclass(frozen=True)
class Display:
    """`name` is what the environment variable DISPLAY holds; `folder` is where the server keeps the pixels."""

    name: str
    folder: Path

    def titles(self) -> list[str]:
        """The titles of the windows that are shown."""
        said = self._xdotool("search", "--onlyvisible", "--name", ".", "getwindowname", "%@")
        return said.splitlines()

    def activate(self, title: str) -> None:
        """Gives a window the keyboard; `title` is a part of its title."""
        self._xdotool("search", "--onlyvisible", "--name", title, "windowactivate", "--sync")

    def press(self, *keys: str) -> None:
        """Presses keys one after the other, in the window that has the keyboard."""
        for key in keys:
            self._xdotool("key", "--clearmodifiers", key)
            time.sleep(0.1)

    def type(self, text: str) -> None:
        """Types a text."""
        self._xdotool("type", text)

    def strokes(self, is_colour: Callable[[Colour], bool], shortest: int = 50) -> list[int]:
        """The widths of the horizontal strokes of a colour, from top to bottom; rows of pixels next to each other are one."""
        pixels, width = self._pixels()
        wanted = {pixel for pixel in set(pixels) if is_colour(((pixel >> 16) & 255, (pixel >> 8) & 255, pixel & 255))}
        found: list[tuple[int, int]] = []
        for row in range(len(pixels) // width):
            longest = _longest(
                [x for x, pixel in enumerate(pixels[row * width : (row + 1) * width]) if pixel in wanted]
            )
            if longest < shortest:
                continue
            if found and row - found[-1][0] <= 2:
                longest = max(longest, found.pop()[1])
            found.append((row, longest))
        return [longest for _, longest in found]

    def picture(self, path: Path) -> None:
        """Writes what is shown as a PNG."""
        pixels, width = self._pixels()
        lines = []
        for row in range(len(pixels) // width):
            line = pixels[row * width : (row + 1) * width]
            lines.append(b"\0" + b"".join(struct.pack(">I", pixel & 0xFFFFFF)[1:] for pixel in line))
        head = struct.pack(">IIBBBBB", width, len(lines), 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(lines))), (b"IEND", b""))
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks))

    def _pixels(self) -> tuple[memoryview[int], int]:
        """The pixels as 0xRRGGBB, and how many make a row: the server keeps them as an XWD file."""
        content = (self.folder / "Xvfb_screen0").read_bytes()
        head = struct.unpack(">25I", content[:100])
        start, height, line, colours = head[0] + 12 * head[19], head[5], head[12], head[19]
        assert head[11] == 32, (head, colours)
        return memoryview(content[start : start + height * line]).cast("I"), line // 4

    def _xdotool(self, *words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words], env={**os.environ, "DISPLAY": self.name}, capture_output=True, text=True, timeout=20
        )
        return done.stdout


@contextlib.contextmanager
def display(programs: Programs, folder: Path) -> Iterator[Display]:
    """A fresh display with a window manager; both end with the test."""
    folder.mkdir()
    reading, writing = os.pipe()
    size = f"{WIDTH}x{HEIGHT}x24"
    # -r: a key that is down when its window closes is not repeated.
    command = [
        "Xvfb",
        "-displayfd",
        str(writing),
        "-screen",
        "0",
        size,
        "-r",
        "-fbdir",
        str(folder),
        "-nolisten",
        "tcp",
    ]
    programs.start(command, cwd=folder, pass_fds=(writing,))
    os.close(writing)
    with open(reading) as answer:
        number = answer.readline().strip()
    assert number, "Xvfb did not start"
    shown = Display(f":{number}", folder)
    programs.start(["openbox"], cwd=folder, environment={"DISPLAY": shown.name, "HOME": str(folder)})
    yield shown


def _longest(columns: list[int]) -> int:
    """The length of the longest run, where a letter may cross it."""
    best, start = 0, 0
    for index, column in enumerate(columns):
        if index and column - columns[index - 1] > LETTER:
            start = index
        best = max(best, column - columns[start] + 1)
    return best


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
