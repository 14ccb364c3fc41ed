"""A program that starts another one and passes its output on, up to a line that is longer than allowed.

The SDK reads a line of any length into memory, in the event loop. Run by path: ``bounded_output.py BYTES COMMAND …``.
"""

import subprocess
import sys


def main() -> None:
    most = int(sys.argv[1])
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE) as program:  # noqa: S603 - a command of MCP_COMMANDS
        while program.stdout and (line := program.stdout.readline(most)):
            if len(line) == most and not line.endswith(b"\n"):
                program.kill()
                break
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
