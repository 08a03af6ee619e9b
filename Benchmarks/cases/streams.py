"""Streams (HLS): many small segments, large ones beside a file of the same size, and AES-128."""
import os
import statistics
import sys

from lib.clip import Clip
from lib.content import MIB, expect_same, read_through
from lib.measure import Failed, Process
from lib.packages import folder_with
from lib.race import alone, race
from lib.segments import PACKET, encrypted, transport_stream, write_playlist

YT_DLP = "2026.10.26"
PACKETS = 6_000_000 // PACKET  # of a large segment
OUT = "out.ts"
POLL_SECONDS = 0.005


def small(bench):
    """Many segments of one second each, beside yt-dlp and ffmpeg."""
    url, whole = write_small(bench)
    commands = {
        "haul -c 16": bench.haul("-c", "16", url, output=OUT),
        "yt-dlp -N 16": yt_dlp(url),
        "ffmpeg -c copy": ["ffmpeg", "-nostdin", "-loglevel", "error", "-i", url, "-c", "copy", "remuxed.ts"],
    }

    def check(folder):
        remuxed = os.path.join(folder, "remuxed.ts")
        if not os.path.exists(remuxed):
            return expect_same(os.path.join(folder, OUT), whole)
        # ffmpeg writes packets of its own.
        if not 0.9 < os.path.getsize(remuxed) / os.path.getsize(whole) < 1.1:
            raise Failed(f"ffmpeg wrote {os.path.getsize(remuxed)} bytes of {os.path.getsize(whole)}")

    label = f"{bench.options.files:,} segments of 60 kB"
    return race(bench, f"{label}, yt-dlp {YT_DLP}", label, commands, check)


def film(bench):
    """Large segments, beside one file of the same size."""
    path, lengths = write_large(bench, "film", bench.options.film)
    stream = bench.subject(bench.haul(listed(bench, "film", lengths), output=OUT),
                           yt_dlp(listed(bench, "film", lengths)))
    url = f"{bench.nginx.http}/film.ts"
    file = bench.subject(bench.haul(url, output=OUT), ["curl", "-sS", "-o", OUT, url])
    runs = rounds(bench, {"stream": (stream, path), "one file": (file, path)})
    rows = [row(name, each) for name, each in runs.items()]
    fetched, whole = (statistics.median(mine[key] / theirs["wall"] for mine, theirs in zip(*runs.values()))
                      for key in ("fetched", "wall"))
    return alone(f"{bench.options.film} MiB in segments of 6 MB, {bench.options.rounds} runs each", COLUMNS, rows,
                 f"Of the file's wall time within a round: until all is fetched {fetched:.2f}, in all {whole:.2f}.")


def aes(bench):
    """Large segments in AES-128, beside the same ones unencrypted."""
    if bench.options.without_haul:
        raise Failed("no other program decrypts here")
    mib = max(1, bench.options.film // 4)
    path, lengths = write_large(bench, "plain", mib)
    encrypted_lengths = write_encrypted(bench, path, lengths)
    runs = rounds(bench, {
        name: (bench.haul(url, output=OUT), path)
        for name, url in {"AES-128": listed(bench, "aes", encrypted_lengths, key="/aes.key"),
                          "plain": listed(bench, "plain", lengths)}.items()})
    rows = [row(name, each, os.path.getsize(path)) for name, each in runs.items()]
    title = f"{mib} MiB in segments of 6 MB, AES-128, {bench.options.rounds} runs each"
    return alone(title, [*COLUMNS, "MB/s, fetching"], rows)


# MARK: What is served

def write_small(bench):
    """Returns the URL of the stream, and the path of its segments one behind another."""
    clip = Clip(bench.work)
    whole = os.path.join(bench.root, "segments.whole")
    os.makedirs(os.path.join(bench.root, "segments"), exist_ok=True)
    names = [f"segments/{number}.ts" for number in range(bench.options.files)]
    with open(whole, "wb") as joined:
        for number, name in enumerate(names):
            segment = clip.at(number)
            joined.write(segment)
            with open(os.path.join(bench.root, name), "wb") as file:
                file.write(segment)
    write_playlist(os.path.join(bench.root, "segments.m3u8"), [[name] for name in names], seconds=1)
    return f"{bench.nginx.http}/segments.m3u8", whole


def write_large(bench, name, mib):
    """Writes a film of large segments as one file, and returns its path and their lengths."""
    path = os.path.join(bench.root, name + ".ts")
    count = max(1, round(mib * MIB / (PACKETS * PACKET)))
    if not os.path.exists(path):
        with open(path, "wb") as file:
            for number in range(count):
                file.write(transport_stream(f"{name} {number}", PACKETS))
    read_through(path)
    return path, [PACKETS * PACKET] * count


def write_encrypted(bench, path, lengths):
    """Writes the same segments encrypted, and returns their lengths."""
    key = os.urandom(16)
    with open(os.path.join(bench.root, "aes.key"), "wb") as file:
        file.write(key)
    found = []
    with open(path, "rb") as plain, open(os.path.join(bench.root, "aes.ts"), "wb") as file:
        for number, length in enumerate(lengths):
            found.append(file.write(encrypted(plain.read(length), key, number)))
    read_through(os.path.join(bench.root, "aes.ts"))
    return found


def listed(bench, name, lengths, key=None):
    """Writes the playlist of a film whose segments are ranges of one file, and returns its URL."""
    segments, start = [], 0
    for length in lengths:
        segments.append([f"#EXT-X-BYTERANGE:{length}@{start}", f"/{name}.ts"])
        start += length
    if key:
        segments[0].insert(0, f'#EXT-X-KEY:METHOD=AES-128,URI="{key}"')
    write_playlist(os.path.join(bench.root, name + ".m3u8"), segments)
    return f"{bench.nginx.http}/{name}.m3u8"


# MARK: Runs

COLUMNS = ["", "fetched s", "put together s", "wall s", "CPU s", "peak MiB"]


def yt_dlp(url):
    packages = folder_with(f"yt-dlp-{YT_DLP}", f"yt-dlp=={YT_DLP}")
    return ["env", f"PYTHONPATH={packages}", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-m", "yt_dlp", "--ignore-config",
            "--no-cache-dir", "--quiet", "--no-progress", "--fixup", "never", "--hls-prefer-native", "-N", "16", "-o", OUT, url]


def rounds(bench, commands):
    """Runs each command (and compares with a path) once per round, in rotating order. Returns the runs by name."""
    names, runs = list(commands), {name: [] for name in commands}
    for turn in range(bench.options.rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            command, path = commands[name]
            with bench.folder() as (folder, surroundings):
                runs[name].append(timed(command, folder, surroundings))
                expect_same(os.path.join(folder, OUT), path)
        print(f"  {turn + 1}: " + ", ".join(f"{name} {runs[name][-1]['wall']:.3f} s" for name in names), file=sys.stderr)
    return runs


def timed(command, folder, surroundings):
    """Runs a program. `fetched` is when it began to put the film together, or its end if it puts nothing together."""
    film, fetched = os.path.join(folder, OUT + ".haulpart.film"), None
    process = Process(command, folder, surroundings)
    while not process.has_ended(POLL_SECONDS):
        if fetched is None and os.path.exists(film):
            fetched = process.seconds()
    run = process.wait()
    if run.status != 0:
        raise Failed(f"{' '.join(command)} ended with {run.status}: {run.errors[-500:]}")
    return {"fetched": run.wall if fetched is None else fetched, "wall": run.wall, "cpu": run.cpu, "peak_mib": run.peak_mib}


def row(name, runs, size=None):
    fetched, wall, cpu, peak = (statistics.median(run[key] for run in runs) for key in ("fetched", "wall", "cpu", "peak_mib"))
    assembly = statistics.median(run["wall"] - run["fetched"] for run in runs)
    cells = [name, f"{fetched:.3f}", f"{assembly:.3f}", f"{wall:.3f}", f"{cpu:.3f}", f"{peak:.0f}"]
    return cells if size is None else [*cells, f"{size / fetched / 1e6:.0f}"]
