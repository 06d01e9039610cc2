"""One server on two ports: the endpoint with its site behind one, HITs in their frames behind the other."""

from __future__ import annotations

from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from spa.server.listening import Listener, server_config


class PortDispatcher:
    """Leads a request to the application of the port on which it came in, whatever it says of itself."""

    def __init__(self, main: ASGIApp, frames: ASGIApp, *, frame_port: int) -> None:
        self.main = main
        self.frames = frames
        self.frame_port = frame_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        server = scope.get("server")
        behind = self.frames if server is not None and server[1] == self.frame_port else self.main
        await behind(scope, receive, send)


def serve_both_ports(main: ASGIApp, frames: ASGIApp, listener: Listener, frame_listener: Listener) -> None:
    """Serve both until interrupted."""
    app = PortDispatcher(main, frames, frame_port=frame_listener.socket.getsockname()[1])
    with suppress(KeyboardInterrupt):
        uvicorn.Server(server_config(app, log_level="warning", lifespan="off")).run(
            sockets=[listener.socket, frame_listener.socket]
        )
