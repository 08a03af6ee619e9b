"""A second of film that ffmpeg has encoded, moved to any second of a longer one."""
import os
import subprocess

from lib.measure import Failed
from lib.segments import PACKET

CLOCK = 90_000  # ticks per second of the times in a transport stream (ISO/IEC 13818-1 §2.4.3.7)


class Clip:
    """A segment that players and ffmpeg accept: pictures only, each of them with one time, and 60 kB long."""

    PACKETS = 60_000 // PACKET
    NULL = b"\x47\x1f\xff\x10" + b"\xff" * (PACKET - 4)

    def __init__(self, folder):
        path = os.path.join(folder, "clip.ts")
        # With this size and quantizer a second takes a little less than 60 kB.
        subprocess.run(
            ["ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=256x144:rate=25",
             "-t", "1", "-c:v", "mpeg2video", "-q:v", "8", "-g", "25", "-bf", "0", "-muxdelay", "0", "-f", "mpegts", path],
            check=True)
        with open(path, "rb") as file:
            self.bytes = file.read()
        os.remove(path)
        missing = self.PACKETS - len(self.bytes) // PACKET
        if not 0 <= missing < self.PACKETS // 10:
            raise Failed(f"ffmpeg encoded a clip of {len(self.bytes)} bytes")
        self.bytes += self.NULL * missing
        self.clocks, self.times, self.counters = [], [], []  # places of the values that depend on the second
        self.packets = {}  # packets with a payload of each stream, which are counted modulo 16
        for start in range(0, len(self.bytes), PACKET):
            self.note(start)

    def note(self, start):
        packet = self.bytes[start:start + PACKET]
        stream = int.from_bytes(packet[1:3], "big") & 0x1FFF
        has_fields, has_payload = packet[3] & 0x20, packet[3] & 0x10
        payload = 4
        if has_fields:
            payload += 1 + packet[4]
            if packet[4] and packet[5] & 0x10:
                self.clocks.append(start + 6)
        if not has_payload:
            return
        self.counters.append((start + 3, stream))
        self.packets[stream] = self.packets.get(stream, 0) + 1
        if packet[1] & 0x40 and packet[payload:payload + 3] == b"\0\0\1":
            flags = packet[payload + 7]
            self.times += [start + payload + 9 + 5 * index for index, bit in enumerate((0x80, 0x40)) if flags & bit]

    def at(self, second):
        """Returns the clip as it continues one that is `second` seconds long."""
        moved, ticks = bytearray(self.bytes), second * CLOCK
        for place in self.clocks:
            # 33 bits of the clock, then 15 bits of its fraction.
            value = int.from_bytes(moved[place:place + 6], "big") + (ticks << 15)
            moved[place:place + 6] = value.to_bytes(6, "big")
        for place in self.times:
            # 33 bits in three groups, each with a mark behind it.
            value = int.from_bytes(moved[place:place + 5], "big")
            time = (value >> 33 & 7) << 30 | (value >> 17 & 0x7FFF) << 15 | value >> 1 & 0x7FFF
            time += ticks
            value = value >> 36 << 36 | (time >> 30 & 7) << 33 | 1 << 32 | (time >> 15 & 0x7FFF) << 17 | 1 << 16
            moved[place:place + 5] = (value | (time & 0x7FFF) << 1 | 1).to_bytes(5, "big")
        for place, stream in self.counters:
            count = moved[place] + second * self.packets[stream]
            moved[place] = moved[place] & 0xF0 | count & 0x0F
        return bytes(moved)
