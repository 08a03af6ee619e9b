"""Downloads in every state: their answers, and the effect of each method."""

import os
import time

from lib.aria2 import RPCError

ACTIVE = ("completedLength", "bitfield", "downloadSpeed", "connections")
KEYS = ["gid", "status", "errorCode"]


class Downloads:
    """Makes downloads with consecutive GIDs, so that two programs use the same ones."""

    def __init__(self, daemon, site):
        self.daemon, self.site, self.next_gid = daemon, site, 0x1000

    def add(self, path, **options):
        self.next_gid += 1
        gid = f"{self.next_gid:016x}"
        uris = [self.site.url + path if path.startswith("/") else path]
        self.daemon.call(
            "aria2.addUri", uris, {"gid": gid, **{name.replace("_", "-"): value for name, value in options.items()}}
        )
        return gid

    def made(self, state):
        """Makes a download in that state and returns its GID."""
        number = self.next_gid + 1
        if state in ("active", "removed", "paused after a start"):
            gid = self.add(f"/file/{number:x}?size=10000000&rate=100000")
            self.until(lambda: self.daemon.call("aria2.tellStatus", gid)["completedLength"] != "0")
            if state == "removed":
                self.daemon.call("aria2.forceRemove", gid)
                self.daemon.wait_for(gid, "removed")
            elif state == "paused after a start":
                self.daemon.call("aria2.forcePause", gid)
                self.daemon.wait_for(gid, "paused")
        elif state == "paused":
            gid = self.add(f"/file/{number:x}?size=10000000&rate=100000", pause="true")
        elif state == "waiting":
            gid = self.add(f"/file/{number:x}?size=10000000&rate=100000")
        elif state == "complete":
            gid = self.add(f"/file/{number:x}?size=2500000")
            self.daemon.wait_for(gid, "complete")
        else:
            gid = self.add("/status/404")
            self.daemon.wait_for(gid, "error")
        return gid

    def until(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.05)

    def settled(self, gid):
        """Returns the download's status once it has not changed for 0.3 s."""
        told, since = None, time.monotonic()
        while time.monotonic() - since < 0.3:
            try:
                now = self.daemon.call("aria2.tellStatus", gid, KEYS)
            except RPCError as error:
                now = error.message
            if now != told:
                told, since = now, time.monotonic()
            time.sleep(0.03)
        return told

    def discard(self, gid):
        for method in ("aria2.forceRemove", "aria2.removeDownloadResult"):
            try:
                self.daemon.call(method, gid)
                if method == "aria2.forceRemove":
                    self.daemon.wait_for(gid, "removed")
            except (RPCError, RuntimeError):
                pass


STATES = ("active", "paused", "complete", "error", "removed", "paused after a start")


def told(recorder, downloads, states=STATES):
    """Calls every method that returns information."""
    for state in states:
        gid = downloads.made(state)
        volatile = ACTIVE if state in ("active", "paused after a start", "removed") else ()
        for method in ("tellStatus", "getFiles", "getUris", "getServers", "getPeers", "getOption"):
            recorder.call(downloads.daemon, f"{state}: {method}", f"aria2.{method}", gid, volatile=volatile)
        for name, keys in {
            "keys": ["status", "gid", "nope"],
            "no keys": [],
            "no list": "status",
            "numbers": [1, 2],
            "BitTorrent's keys": [
                "infoHash",
                "numSeeders",
                "seeder",
                "bittorrent",
                "followedBy",
                "following",
                "belongsTo",
                "verifiedLength",
                "verifyIntegrityPending",
            ],
        }.items():
            recorder.call(
                downloads.daemon, f"{state}: tellStatus with {name}", "aria2.tellStatus", gid, keys, volatile=volatile
            )
        downloads.discard(gid)


def done(recorder, downloads, states=STATES):
    """Calls every method that changes something, in every state, and records the state afterwards."""
    new = [downloads.site.url + "/file/other?size=10000000&rate=100000"]
    calls = {
        "remove": [],
        "forceRemove": [],
        "pause": [],
        "forcePause": [],
        "unpause": [],
        "removeDownloadResult": [],
        "changePosition": [0, "POS_SET"],
        "changeOption": [{"max-download-limit": "30K"}],
        "changeUri": [1, [], new],
    }
    # After changeUri on a paused download, aria2 1.36 does not pause the next download, so changeUri comes last.
    for state in states:
        for method, params in calls.items():
            gid = downloads.made(state)
            name = f"{state}: {method}"
            recorder.call(downloads.daemon, name, f"aria2.{method}", gid, *params)
            recorder.note(f"{name}, then", downloads.settled(gid))
            if method in ("changeUri", "changeOption"):
                recorder.call(downloads.daemon, f"{name}, getUris", "aria2.getUris", gid)
            downloads.discard(gid)


def failures(recorder, downloads):
    """Records how impossible downloads end: aria2's codes and messages, and the files left on the disk."""
    url, folder = downloads.site.url, downloads.daemon.downloads
    for name in ("there", "also-there", "continued", "renamed"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"old")
    with open(os.path.join(folder, "a-file"), "wb"):
        pass
    cases = {
        "404": ("/status/404", {}),
        "403": ("/status/403", {}),
        "401": ("/private/p?size=10", {}),
        "410": ("/status/410", {}),
        "500": ("/status/500", {}),
        "503": ("/status/503", {"max-tries": "1"}),
        "429": ("/status/429", {"max-tries": "1"}),
        "416": ("/status/416", {}),
        "304": ("/status/304", {}),
        "refused": ("http://127.0.0.1:1/x", {"max-tries": "1"}),
        "no such host": ("http://no-such-host.invalid/x", {"max-tries": "1"}),
        "time": ("/never", {"timeout": "1", "max-tries": "1"}),
        "redirects": (f"/redirect/30?to={url}/status/404", {}),
        "redirect to nowhere": (f"/redirect/1?to={url}/status/404", {}),
        "redirect to ftp": ("/redirect/1?to=ftp://127.0.0.1:1/x", {"max-tries": "1"}),
        "not found twice": ("/status/404", {"max-file-not-found": "2", "retry-wait": "0"}),
        "wrong checksum": ("/file/sum?size=1000", {"checksum": "sha-1=" + "0" * 40}),
        "there": ("/file/there?size=1000", {"auto-file-renaming": "false"}),
        "there, renamed": ("/file/renamed?size=1000", {}),
        "there, overwritten": ("/file/also-there?size=1000", {"allow-overwrite": "true"}),
        "there, continued": ("/file/continued?size=1000", {"continue": "true"}),
        "folder is a file": ("/file/x?size=1000", {"dir": os.path.join(folder, "a-file")}),
        "out in a new folder": ("/file/x?size=1000", {"out": "new/folder/name"}),
        "name of the header": ("/named/x?name=from-header", {}),
        "odd name of the header": ("/named/x?name=../../odd", {}),
        "empty file": ("/file/empty?size=0", {}),
        "no name": ("/chunked/?size=10", {}),
        "chunked": ("/chunked/chunked?size=3000000", {}),
        "right password": ("/private/p?size=10", {"http-user": "user", "http-passwd": "secret"}),
        "dry run": ("/file/dry?size=1000", {"dry-run": "true"}),
        "escaped name": ("/file/a%20b%2Fc?size=10", {}),
        "too slow": (
            "/file/slow?size=10000000&rate=1000",
            {"lowest-speed-limit": "50K", "max-tries": "1", "startup-idle-time": "1"},
        ),
    }
    begun = {name: downloads.add(path, **options) for name, (path, options) in cases.items()}
    for name, gid in begun.items():
        try:
            downloads.daemon.wait_for(gid, "complete", "error", seconds=40)
        except RuntimeError as error:
            recorder.note(f"end: {name}: unfinished", str(error))
        volatile = ("completedLength", "bitfield") if name == "too slow" else ()
        recorder.call(downloads.daemon, f"end: {name}", "aria2.tellStatus", gid, volatile=volatile)
    left = {
        os.path.relpath(os.path.join(parent, name), folder): os.path.getsize(os.path.join(parent, name))
        for parent, _, names in os.walk(folder)
        for name in names
    }
    recorder.note("end: files", {name: size for name, size in left.items() if not name.startswith("slow")})
    return begun


def lists(recorder, downloads):
    """Records tellActive, tellWaiting, tellStopped and the queue's order while one download blocks the others."""
    daemon = downloads.daemon
    gids = [
        downloads.add(f"/file/w{number}?size=1000000&rate=1000", **({"pause": "true"} if number % 2 else {}))
        for number in range(5)
    ]
    keys = ["gid", "status"]
    for method in ("tellWaiting", "tellStopped"):
        for offset, count in (
            (0, 10),
            (1, 2),
            (-1, 2),
            (-2, 10),
            (-10, 10),
            (10, 10),
            (0, 0),
            (0, -1),
            (5, 1),
            (-5, 1),
        ):
            recorder.call(daemon, f"lists: {method} {offset} {count}", f"aria2.{method}", offset, count, keys)
        for name, params in {"none": [], "one": [0], "texts": ["0", "10"], "no keys": [0, 10, None]}.items():
            recorder.call(daemon, f"lists: {method}, params {name}", f"aria2.{method}", *params)
    recorder.call(daemon, "lists: tellActive", "aria2.tellActive", keys)
    recorder.call(daemon, "lists: tellActive no list", "aria2.tellActive", "gid", volatile=ACTIVE)
    recorder.call(daemon, "lists: getGlobalStat", "aria2.getGlobalStat")
    for place, how in (
        (0, "POS_SET"),
        (2, "POS_SET"),
        (99, "POS_SET"),
        (-3, "POS_SET"),
        (1, "POS_CUR"),
        (-1, "POS_CUR"),
        (-99, "POS_CUR"),
        (0, "POS_END"),
        (-1, "POS_END"),
        (1, "POS_END"),
        (-99, "POS_END"),
        (0, "POS_NOPE"),
        ("0", "POS_SET"),
        (0, ""),
    ):
        name = f"lists: changePosition {place!r} {how}"
        recorder.call(daemon, name, "aria2.changePosition", gids[2], place, how)
        recorder.call(daemon, f"{name}, then", "aria2.tellWaiting", 0, 10, ["gid"])
    for position in (0, 2, 99, -1, "0", None):
        downloads.next_gid += 1
        gid = f"{downloads.next_gid:016x}"
        recorder.call(
            daemon,
            f"lists: added at {position!r}",
            "aria2.addUri",
            [downloads.site.url + "/never"],
            {"gid": gid},
            position,
        )
        recorder.call(daemon, f"lists: added at {position!r}, then", "aria2.tellWaiting", 0, 99, ["gid"])
    for method in ("pauseAll", "unpauseAll", "forcePauseAll", "unpauseAll"):
        name = f"lists: {method}" if f"lists: {method}" not in recorder.cases else f"lists: {method} again"
        recorder.call(daemon, name, f"aria2.{method}")
        time.sleep(0.5)
        recorder.call(daemon, f"{name}, then waiting", "aria2.tellWaiting", 0, 99, keys)
        recorder.call(daemon, f"{name}, then active", "aria2.tellActive", keys)
    for index, gid in enumerate(gids[:2]):
        recorder.call(daemon, f"lists: forceRemove {index}", "aria2.forceRemove", gid)
        recorder.note(f"lists: forceRemove {index}, then", downloads.settled(gid))
    recorder.call(daemon, "lists: tellStopped of two", "aria2.tellStopped", 0, 10, keys)
    recorder.call(daemon, "lists: tellStopped of two from the end", "aria2.tellStopped", -1, 10, keys)
    recorder.call(daemon, "lists: purgeDownloadResult", "aria2.purgeDownloadResult")
    recorder.call(daemon, "lists: purgeDownloadResult, then", "aria2.tellStopped", 0, 10, keys)
    recorder.call(daemon, "lists: getGlobalStat at the end", "aria2.getGlobalStat")


def gids(recorder, downloads):
    daemon = downloads.daemon
    for gid in ("abcdef0000000001", "abcdef0000000002", "abd0000000000000"):
        daemon.call("aria2.addUri", [downloads.site.url + "/never"], {"gid": gid, "pause": "true"})
    for name in (
        "abd0000000000000",
        "abd",
        "abcdef",
        "ABD0000000000000",
        "a",
        "",
        "zz",
        "abd00000000000000",
        "0x1",
        "ffffffffffffffff",
        "0000000000000000",
        "0",
        " abd",
        "abcdef0000000001 ",
    ):
        recorder.call(daemon, f"gid: {name!r}", "aria2.tellStatus", name, ["gid"])
    for name, value in {"number": 5, "null": None, "list": []}.items():
        recorder.call(daemon, f"gid: a {name}", "aria2.tellStatus", value, ["gid"])
    recorder.call(daemon, "gid: none", "aria2.tellStatus")
    for method in (
        "remove",
        "forceRemove",
        "pause",
        "forcePause",
        "unpause",
        "getFiles",
        "getUris",
        "getServers",
        "getPeers",
        "getOption",
        "changeOption",
        "changePosition",
        "changeUri",
        "removeDownloadResult",
    ):
        rest = {"changeOption": [{}], "changePosition": [0, "POS_SET"], "changeUri": [1, [], []]}.get(method, [])
        recorder.call(daemon, f"gid: {method} of an unknown one", f"aria2.{method}", "00000000000000ff", *rest)
        recorder.call(daemon, f"gid: {method} of an invalid one", f"aria2.{method}", "nope", *rest)
        recorder.call(daemon, f"gid: {method} without", f"aria2.{method}")
        if rest:
            recorder.call(daemon, f"gid: {method} without the rest", f"aria2.{method}", "abd0000000000000")
    gid, url = "abd0000000000000", downloads.site.url
    for name, rest in {
        "file 0": [0, [], []],
        "file 2": [2, [], []],
        "text": ["1", [], []],
        "not there": [1, ["http://x/"], []],
        "add": [1, [], [url + "/a", url + "/b"]],
        "add first": [1, [], [url + "/c"], 0],
        "add at 99": [1, [], [url + "/d"], 99],
        "add at -1": [1, [], [url + "/e"], -1],
        "twice": [1, [url + "/a", url + "/a"], []],
        "no URI": [1, [], ["nope", ""]],
        "no lists": [1, "x", "y"],
        "numbers": [1, [1], [2]],
        "ftp": [1, [], ["ftp://127.0.0.1/x"]],
    }.items():
        recorder.call(daemon, f"changeUri: {name}", "aria2.changeUri", gid, *rest)
        recorder.call(daemon, f"changeUri: {name}, then", "aria2.getUris", gid)
    for each in ("abcdef0000000001", "abcdef0000000002", gid):
        downloads.discard(each)
