"""Servers and clients as programs of their own, each under `ticktree run`, over the loopback interface."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import pytest

from ticktree.run.finishing import RunDirectory

# What servers do for a request, sections that a client is to see, and how one of aiohttp's listens.
WORK = """
import sys, time
from pathlib import Path
import ticktree

def work():
    with ticktree.section("simulate"):
        time.sleep(0.004)
        with ticktree.section("collide"):
            time.sleep(0.002)
    with ticktree.section("render"):
        time.sleep(0.003)

def listening(port):
    path = Path(sys.argv[1])
    path.with_suffix(".new").write_text(str(port))
    path.with_suffix(".new").rename(path)

def serve_by_aiohttp(*routes):
    import asyncio
    from aiohttp import web
    from ticktree.remote.aiohttp import server_timing

    async def main():
        app = web.Application(middlewares=[server_timing()])
        app.add_routes(routes)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        listening(runner.addresses[0][1])
        await asyncio.Event().wait()

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture
def programs(tmp_path):
    """Starts programs under `ticktree run`; those that are left over are ended."""
    running = []
    memory = tmp_path / "memory"
    memory.mkdir()

    def start(name, program, *arguments, auto="default"):
        script = tmp_path / f"{name}.py"
        script.write_text(textwrap.dedent(program))
        environment = {**os.environ, "TICKTREE_MEMORY_DIR": str(memory)}
        environment.pop("TICKTREE_TRACE", None)
        own = ("--name", name, "--out", str(tmp_path / f"{name}-runs"), "--instrument", auto)
        command = [
            sys.executable,
            "-m",
            "ticktree",
            "run",
            "--quiet",
            *own,
            str(script),
            *map(str, arguments),
        ]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        return SimpleNamespace(name=name, process=process)

    def profile_of(name):
        profile = RunDirectory.newest(tmp_path / f"{name}-runs").profile()
        profile.check()
        return profile

    def run(name, program, *arguments, auto="default"):
        """Runs a program to its end; gives what it recorded and printed."""
        process = start(name, program, *arguments, auto=auto).process
        output, errors = process.communicate(timeout=500)
        assert process.returncode == 0, errors
        return SimpleNamespace(profile=profile_of(name), output=output, errors=errors)

    def serve(program, name="server"):
        """Starts a server, and waits until it listens."""
        told = tmp_path / f"{name}.port"
        server = start(name, WORK + textwrap.dedent(program), told)
        deadline = time.monotonic() + 500
        while not told.exists():
            assert server.process.poll() is None, server.process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.01)
        server.port = int(told.read_text())
        return server

    def stop(server):
        """Ends a server as its user would; gives what it recorded."""
        server.process.send_signal(signal.SIGINT)
        server.process.communicate(timeout=500)
        return profile_of(server.name)

    yield SimpleNamespace(run=run, serve=serve, stop=stop)
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()
