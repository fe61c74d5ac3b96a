#!/usr/bin/env python3
"""What a terminal shows, as a picture: `python3 book/terminal.py [--until TEXT] COMMAND.. > FILE.svg`.

Each COMMAND, quoted as one argument, runs by `sh` in a terminal of 100 columns, and the picture has it with what it
leaves on the screen. With --until the picture is taken when the last command first shows TEXT, as in the middle of a run.
A command that fails ends this one.
"""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

COLUMNS, ROWS = 100, 60
INK, BACK, PROMPT, DIM = "#d7dae0", "#1c1e26", "#6fb3f2", "#8a909c"


class Screen:
    """The lines of a terminal: text, carriage returns, and the sequences that erase or move."""

    def __init__(self):
        self.lines, self.row, self.column = [[]], 0, 0

    def write(self, text):
        for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
            if piece == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append([])
            elif piece == "\r":
                self.column = 0
            elif piece.startswith("\x1b"):
                self.sequence(piece)
            else:
                line = self.lines[self.row]
                line += " " * (self.column + 1 - len(line))
                line[self.column] = piece
                self.column += 1

    def sequence(self, piece):
        number = int(re.sub(r"\D", "", piece) or 0)
        line = self.lines[self.row]
        if piece[-1] == "K":
            del line[0 if number == 2 else self.column :]
        elif piece[-1] == "A":
            self.row = max(self.row - max(number, 1), 0)
        elif piece[-1] == "B":
            self.row = min(self.row + max(number, 1), len(self.lines) - 1)
        elif piece[-1] not in "mhl":
            sys.exit(f"a sequence that this terminal does not know: {piece!r}")

    def text(self):
        lines = ["".join(line).rstrip() for line in self.lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines


def read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux reports the end of the other side like this.
        return b""


def shown(command, until):
    """The screen at the end of a command, or when it first shows a text."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.execvp("sh", ["sh", "-c", command])
    screen, found, rest = Screen(), None, b""
    while more := read(terminal):
        # A read may end within a character or a sequence: the rest of it comes with the next one.
        pending = rest + more
        end = max(pending.rfind(b"\n"), pending.rfind(b"\r")) + 1
        rest = pending[end:]
        screen.write(pending[:end].decode())
        if until and not found and rest:
            seen = Screen()
            seen.lines, seen.row, seen.column = [line[:] for line in screen.lines], screen.row, screen.column
            seen.write(rest.decode(errors="ignore"))
            found = seen.text() if any(until in line for line in seen.text()) else None
    screen.write(rest.decode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        sys.exit(f"{command}: exit code {code}\n" + "\n".join(screen.text()))
    if until and not found:
        sys.exit(f"{command}: {until!r} was never on the screen")
    return found or screen.text()


def drawn(commands):
    """An SVG of commands and their screens."""
    lines = []
    for command, screen in commands:
        lines += [(f"$ {command}", PROMPT)] + [(line, INK) for line in screen] + [("", INK)]
    lines.pop()
    pitch, left, top, letter = 19, 18, 44, 7.83
    width = int(2 * left + letter * max(60, *(len(line) for line, _ in lines)))
    height = top + pitch * len(lines) + 10
    escaped = lambda words: words.replace("&", "&amp;").replace("<", "&lt;")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13">',
        f"<title>{escaped(commands[0][0])}, in a terminal</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACK}"/>',
    ]
    parts += [f'<circle cx="{left + 5 + 18 * i}" cy="18" r="5" fill="{DIM}"/>' for i in range(3)]
    for i, (line, color) in enumerate(lines):
        if line:
            # The length holds columns in place where the font of a machine is wider.
            length = f'textLength="{len(line) * letter:.1f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(f'<text x="{left}" y="{top + pitch * i}" fill="{color}" xml:space="preserve" {length}>{escaped(line)}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def main():
    arguments = sys.argv[1:]
    until = None
    if arguments[:1] == ["--until"]:
        until, arguments = arguments[1], arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    last = len(arguments) - 1
    print(drawn([(command, shown(command, until if i == last else None)) for i, command in enumerate(arguments)]), end="")


if __name__ == "__main__":
    main()
