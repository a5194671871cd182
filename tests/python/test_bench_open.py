"""Who opens the benchmark's report, and when: the real commands in a pseudo-terminal, and stand-ins for browsers that take their
time."""

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
FACES = {"program": [str(TARGET / "release" / "damacy"), "bench"], "module": [sys.executable, "-m", "damacy.bench"]}
UNSET = {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "CI"}


@pytest.fixture
def place(tmp_path):
    """A folder with a program `firefox` and one `xdg-open`: each notes its name and its words, and runs on for a minute."""
    (tmp_path / "bin").mkdir()
    for name in ("firefox", "xdg-open"):
        program = tmp_path / "bin" / name
        program.write_text(
            f"#!/bin/sh\n[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo {name} \"$@\" >>{tmp_path}/opened\nexec sleep 60\n"
        )
        program.chmod(0o755)
    return tmp_path


def in_terminal(command, env):
    """Runs a command as a terminal does -> its exit code, all it printed, and how long that took."""
    terminal, inside = pty.openpty()
    begun = time.monotonic()
    with subprocess.Popen(command, env=env, stdin=inside, stdout=inside, stderr=inside, start_new_session=True) as process:
        os.close(inside)
        printed = b""
        while process.poll() is None or printed[-1:] != b"\n":
            try:
                printed += os.read(terminal, 65536)
            except OSError:  # everyone has closed it
                break
        code = process.wait(timeout=60)
    os.close(terminal)
    return code, printed.decode(), time.monotonic() - begun


def environment(place, more):
    paths = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    return {name: value for name, value in os.environ.items() if name not in UNSET} | {"PATH": paths} | more


def opened(place, expected):
    """What was opened; a program that was started may take a moment to say so."""
    until = time.monotonic() + 10
    while expected and not (place / "opened").exists() and time.monotonic() < until:
        time.sleep(0.01)
    return (place / "opened").read_text() if (place / "opened").exists() else None


def last_line(printed):
    return printed.rstrip().rsplit("\n", 1)[-1].rsplit("\x1b[K", 1)[-1]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "env, flags, program",
    [
        ({"BROWSER": "firefox"}, [], "firefox"),
        ({"BROWSER": "no-such-browser:firefox --new-window %s:xdg-open"}, [], "firefox --new-window"),
        ({"BROWSER": "firefox &"}, [], "firefox"),
        ({"BROWSER": "firefox", "DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, [], "firefox"),
        ({"DISPLAY": ":0"}, [], "xdg-open"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, [], "xdg-open"),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, [], None),
        ({"BROWSER": "no-such-browser"}, [], None),
        ({"BROWSER": "firefox", "CI": "true"}, [], None),
        ({"BROWSER": "firefox"}, ["--open", "never"], None),
        ({"BROWSER": "firefox"}, ["--json"], None),
        ({"BROWSER": "firefox", "CI": "true"}, ["--open", "always"], "firefox"),
        ({}, [], None),
    ],
)
def test_from_a_terminal(place, face, env, flags, program):
    out = place / "a b"
    command = [*FACES[face], "smoke", "--repeat", "1", "--out", str(out), *flags]
    code, printed, took = in_terminal(command, environment(place, env))
    assert code == 0 and took < 50, printed
    url = (out / "report.html").as_uri()
    assert "%20" in url and last_line(printed) == f"report: {url}" + (" (opening it)" if program else "")
    assert opened(place, program) == (f"{program} {url}\n" if program else None)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "env, flags, program",
    [
        ({"BROWSER": "firefox", "DISPLAY": ":0"}, [], None),
        ({"BROWSER": "firefox"}, ["--open", "always"], "firefox"),
        ({}, ["--open", "always"], "xdg-open"),
        ({"BROWSER": "no-such-browser"}, ["--open", "always"], None),
    ],
)
def test_from_a_pipe(place, face, env, flags, program):
    command = [*FACES[face], "smoke", "--repeat", "1", "--out", str(place / "out"), *flags]
    done = subprocess.run(command, env=environment(place, env), capture_output=True, text=True, timeout=50, check=False)
    url = (place / "out/report.html").as_uri()
    note = " (opening it)" if program else " (not opened: neither $BROWSER nor xdg-open can be started)" if flags else ""
    assert done.returncode == 0 and done.stderr.endswith(f"\nreport: {url}{note}\n"), done.stderr
    assert opened(place, program) == (f"{program} {url}\n" if program else None)


def test_reports_on_results_and_on_comparisons_are_opened_too(place):
    quiet = subprocess.run(
        [*FACES["program"], "smoke", "--repeat", "1", "--quiet", "--out", str(place / "out")],
        env=environment(place, {}), capture_output=True, text=True, timeout=50, check=True,
    )
    assert quiet.stderr == ""
    results, env = str(place / "out/results.json"), environment(place, {"BROWSER": "firefox"})
    assert json.loads(Path(results).read_text())["runs"]
    for words, name in ((["report", results], "report.html"), (["compare", results, results, "--html", "c.html"], "c.html")):
        if name == "c.html":
            words[-1] = str(place / "out/c.html")
        code, printed, _ = in_terminal([*FACES["program"], *words], env)
        url = (place / "out" / name).as_uri()
        assert code == 0 and last_line(printed) == f"report: {url} (opening it)"
        assert opened(place, True) == f"firefox {url}\n"
        (place / "opened").unlink()
