"""A proxy on loopback before a PostgreSQL server, which cuts a connection at a chosen moment.

It knows of the protocol what it needs: where a request of the client ends, and where the server has
answered it. So a test can lose a request that was never sent, or the answer to one that was carried
out, and go through every moment of an operation one after the other.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

Moment = Literal["before it is sent", "before it is answered"]
_ENDS = frozenset(b"QS")
"""Types of the messages that end a request: a simple query, and Sync."""
_READY = ord("Z")


class Proxy:
    """Listens on loopback and hands on to a server until it is told to cut."""

    def __init__(self, uri: str) -> None:
        parts = conninfo_to_dict(uri)
        self._server = f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}"
        self._database = parts["dbname"]
        self._user = parts["user"]
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._lock = threading.Lock()
        self.requests = 0
        """How many came by since `count` or `cut`."""
        self._cut_at: int | None = None
        self._moment: Moment = "before it is sent"
        self._hold_at: bytes | None = None
        self.holding = threading.Event()
        """Set when a request is being held."""
        self._release = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, schema: str) -> str:
        """Where a store reaches the server through this proxy."""
        port = self._listener.getsockname()[1]
        return (
            f"postgresql://{self._user}@127.0.0.1:{port}/{self._database}"
            f"?sslmode=disable&gssencmode=disable&schema={quote(schema)}"
        )

    def cut(self, request: int, moment: Moment) -> None:
        """Cut the connection that sends the next request of this number, counted from one."""
        with self._lock:
            self.requests, self._cut_at, self._moment = 0, request, moment

    def count(self) -> None:
        """Cut nothing, and count requests from here on."""
        with self._lock:
            self.requests, self._cut_at = 0, None

    @property
    def has_cut(self) -> bool:
        """Whether the request that was to be cut came."""
        return self._cut_at is None

    def hold(self, text: bytes) -> None:
        """Keep back the next request that holds a text, until `drop`."""
        self.holding.clear()
        self._release.clear()
        self._hold_at = text

    def drop(self) -> None:
        """Cut the connection whose request is being held."""
        self._release.set()

    def close(self) -> None:
        """Take no more connections."""
        self._release.set()
        self._listener.close()

    # -- what goes by -------------------------------------------------------------------------

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._server)
                except OSError:
                    client.close()
                    continue
                pair = _Pair(client, server)
                for carry in (self._requests_of, self._answers_to):
                    threading.Thread(target=carry, args=(pair,), daemon=True).start()

    def _requests_of(self, pair: _Pair) -> None:
        with pair:
            pair.server.sendall(_first_message(pair.client))
            request = b""
            for kind, message in _messages(pair.client):
                request += message
                if kind in _ENDS and not self._pass(pair, request):
                    return
                if kind in _ENDS or kind in b"pXH":
                    pair.server.sendall(request)
                    request = b""

    def _pass(self, pair: _Pair, request: bytes) -> bool:
        """Whether a request may go on to the server."""
        if self._hold_at is not None and self._hold_at in request:
            self._hold_at = None
            self.holding.set()
            self._release.wait(60)
            return False
        with self._lock:
            self.requests += 1
            if self.requests != self._cut_at:
                return True
            self._cut_at = None
        pair.deaf = self._moment == "before it is answered"
        return pair.deaf

    def _answers_to(self, pair: _Pair) -> None:
        with pair:
            for kind, message in _messages(pair.server):
                if not pair.deaf:
                    pair.client.sendall(message)
                elif kind == _READY:
                    return


class _Pair:
    """A client's connection and the one to the server; when one ends both do."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.deaf = False
        """The client hears nothing of the server any more."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, traceback: object) -> bool:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        return isinstance(error, OSError | EOFError)


def _first_message(source: socket.socket) -> bytes:
    head = _exactly(source, 4)
    return head + _exactly(source, struct.unpack(">I", head)[0] - 4)


def _messages(source: socket.socket) -> Iterator[tuple[int, bytes]]:
    while True:
        head = _exactly(source, 5)
        yield head[0], head + _exactly(source, struct.unpack(">I", head[1:])[0] - 4)


def _exactly(source: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = source.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
