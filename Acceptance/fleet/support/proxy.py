"""Forwards a port to another port on loopback. After a cut nothing passes, and no connection is closed."""
import asyncio
import threading

from lib.ports import free_port


class Proxy:
    def __init__(self, target):
        self.target, self.port = target, free_port()
        self.is_open = threading.Event()
        self.is_open.set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self._run, args=(started,), daemon=True).start()
        started.wait()

    def _run(self, started):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self.port))
        started.set()
        self.loop.run_forever()

    async def _accept(self, reader, writer):
        await self._wait()
        try:
            server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pump(reader, server[1]), self._pump(server[0], writer))

    async def _wait(self):
        while not self.is_open.is_set():
            await asyncio.sleep(0.05)

    async def _pump(self, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                await self._wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    def cut(self):
        self.is_open.clear()

    def join(self):
        self.is_open.set()
