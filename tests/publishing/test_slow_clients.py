"""Who asks slowly, or never ends to ask, keeps no scrape from its answer."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ticktree.publishing import prometheus
from ticktree.publishing.prometheus import Server


class ConstantPage:
    def render(self, accepted: str) -> tuple[str, bytes]:
        return "text/plain", b"ticktree_run_info 1\n"


@pytest.fixture
def port() -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    server = Server(listener, ConstantPage())  # type: ignore[arg-type]
    server.begin()
    yield listener.getsockname()[1]
    server.shutdown()
    listener.close()


def drip(port: int, is_over: threading.Event) -> None:
    """Sends a request byte by byte, and begins again when it is thrown out."""
    while not is_over.is_set():
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\n")
            while not is_over.wait(0.3):
                client.sendall(b"x")


@pytest.mark.parametrize("clients", [8, 16])
def test_scrapes_are_answered_despite_slow_clients(port: int, clients: int) -> None:
    is_over = threading.Event()
    threads = [threading.Thread(target=drip, args=(port, is_over)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        is_over.wait(0.5)
        answers = []
        for _ in range(10):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                answers.append(answer.read())
        assert answers == [b"ticktree_run_info 1\n"] * 10
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_a_request_has_a_deadline_as_a_whole(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_REQUEST_TIMEOUT_S", 0.3)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        client.settimeout(0.05)
        is_closed = False
        for _ in range(600):  # each byte comes long before a read would be given up
            try:
                client.sendall(b"x")
                is_closed = client.recv(1) == b""
            except TimeoutError:
                time.sleep(0.05)
            except OSError:
                is_closed = True
            if is_closed:
                break
        assert is_closed
