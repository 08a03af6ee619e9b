"""Segments and media playlists of streams (HLS), made without an encoder."""
import os
import random
import subprocess

PACKET = 188
SYNC = 0x47


def transport_stream(name, packets):
    """Returns that many packets of a transport stream: the sync byte, then random bytes. The same for the same name."""
    stream = bytearray(random.Random(name).randbytes(packets * PACKET))
    stream[::PACKET] = bytes([SYNC]) * packets
    return bytes(stream)


def encrypted(segment, key, number):
    """Returns the segment in AES-128, whose vector is its number (RFC 8216 §5.2)."""
    done = subprocess.run(["openssl", "enc", "-aes-128-cbc", "-K", key.hex(), "-iv", f"{number:032x}"],
                          input=segment, capture_output=True, check=True)
    return done.stdout


def write_playlist(path, segments, first=0, seconds=6):
    """Writes the playlist of a whole film. `segments` has a list of lines for each segment: tags, and last the URI."""
    lines = ["#EXTM3U", "#EXT-X-VERSION:4", f"#EXT-X-TARGETDURATION:{seconds}", f"#EXT-X-MEDIA-SEQUENCE:{first}"]
    for segment in segments:
        lines += [f"#EXTINF:{seconds},", *segment]
    with open(path, "w") as file:
        file.write("\n".join([*lines, "#EXT-X-ENDLIST", ""]))
