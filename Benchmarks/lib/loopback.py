"""An HTTP server on a free port of 127.0.0.1, for a trial that answers requests itself."""
import threading
from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """Serves from `serve` on until the `with` block ends."""

    daemon_threads = True

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def serve(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # clients may disconnect at any time

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
