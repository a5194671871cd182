"""``python -m damacy.bench``: the command line's arguments, its output and its exit codes."""

import sys

from damacy import _native

if __name__ == "__main__":
    sys.exit(_native.bench(["python -m damacy.bench", *sys.argv[1:]], sys.executable))
