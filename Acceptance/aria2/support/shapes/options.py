"""Options: which calls accept them, how values are parsed, and their effect on requests."""

import os

from lib.aria2 import RPCError

# A non-default value for each HTTP option that clients set.
VALUES = {
    "all-proxy": "http://127.0.0.1:9",
    "all-proxy-passwd": "p",
    "all-proxy-user": "u",
    "allow-overwrite": "true",
    "allow-piece-length-change": "true",
    "always-resume": "false",
    "async-dns": "false",
    "auto-file-renaming": "false",
    "auto-save-interval": "10",
    "check-certificate": "false",
    "check-integrity": "true",
    "checksum": "md5=" + "0" * 32,
    "conditional-get": "true",
    "connect-timeout": "7",
    "console-log-level": "warn",
    "content-disposition-default-utf8": "true",
    "continue": "true",
    "daemon": "true",
    "dir": "DIR/other",
    "disable-ipv6": "true",
    "disk-cache": "1M",
    "download-result": "full",
    "dry-run": "true",
    "enable-http-keep-alive": "false",
    "enable-http-pipelining": "true",
    "enable-mmap": "true",
    "enable-rpc": "false",
    "event-poll": "poll",
    "file-allocation": "trunc",
    "follow-metalink": "false",
    "follow-torrent": "false",
    "force-save": "true",
    "gid": "00000000000000aa",
    "hash-check-only": "true",
    "header": "X-One: 1",
    "http-accept-gzip": "true",
    "http-auth-challenge": "true",
    "http-no-cache": "true",
    "http-passwd": "p",
    "http-proxy": "127.0.0.1:9",
    "http-user": "u",
    "https-proxy": "127.0.0.1:9",
    "human-readable": "false",
    "interface": "lo",
    "keep-unfinished-download-result": "false",
    "load-cookies": "DIR/cookies",
    "log": "DIR/log",
    "log-level": "info",
    "lowest-speed-limit": "1K",
    "max-concurrent-downloads": "7",
    "max-connection-per-server": "3",
    "max-download-limit": "20K",
    "max-download-result": "9",
    "max-file-not-found": "3",
    "max-mmap-limit": "1M",
    "max-overall-download-limit": "2M",
    "max-overall-upload-limit": "1K",
    "max-resume-failure-tries": "4",
    "max-tries": "9",
    "max-upload-limit": "1K",
    "metalink-base-uri": "http://x/",
    "min-split-size": "2M",
    "min-tls-version": "TLSv1.3",
    "multiple-interface": "lo",
    "no-file-allocation-limit": "1M",
    "no-netrc": "true",
    "no-proxy": "localhost",
    "no-want-digest-header": "true",
    "optimize-concurrent-downloads": "true",
    "out": "other-name",
    "parameterized-uri": "true",
    "pause": "true",
    "pause-metadata": "true",
    "piece-length": "2M",
    "private-key": "DIR/key",
    "proxy-method": "tunnel",
    "quiet": "false",
    "realtime-chunk-checksum": "false",
    "referer": "http://x/",
    "remote-time": "true",
    "remove-control-file": "true",
    "retry-wait": "3",
    "reuse-uri": "false",
    "rpc-allow-origin-all": "true",
    "rpc-listen-all": "true",
    "rpc-listen-port": "1234",
    "rpc-max-request-size": "3M",
    "rpc-save-upload-metadata": "false",
    "rpc-secret": "s",
    "rpc-secure": "true",
    "save-cookies": "DIR/saved",
    "save-not-found": "false",
    "save-session": "DIR/session",
    "save-session-interval": "60",
    "seed-ratio": "2.0",
    "seed-time": "5",
    "select-file": "1",
    "server-stat-if": "DIR/stat",
    "server-stat-of": "DIR/stat",
    "server-stat-timeout": "100",
    "show-console-readout": "false",
    "show-files": "true",
    "socket-recv-buffer-size": "1M",
    "split": "8",
    "stderr": "true",
    "stop": "100000",
    "stream-piece-selector": "inorder",
    "summary-interval": "0",
    "timeout": "33",
    "truncate-console-readout": "false",
    "uri-selector": "inorder",
    "use-head": "true",
    "user-agent": "other/1",
    "bt-max-peers": "5",
    "nope": "x",
}
ODD = {
    "split": ["0", "-1", "abc", "", "1.5", "99999999999999999999", " 4", "4 ", 4, True, ["4"], {}, None, "0x10", "+4"],
    "max-connection-per-server": ["0", "16", "17", "100"],
    "min-split-size": ["1K", "1M", "1048576", "1073741824", "2G", "1m", "1 M", "1MB", "M"],
    "max-download-limit": ["0", "-1", "1K", "1.5M", "10k"],
    "piece-length": ["1M", "1K", "2G"],
    "max-tries": ["0", "-1"],
    "timeout": ["0", "1", "600", "601"],
    "continue": ["TRUE", "yes", "1", "", True, False],
    "pause": ["maybe", True, 1],
    "file-allocation": ["nope", "NONE", "falloc", "prealloc"],
    "header": ["X-Odd", "X: 1\nY: 2", "", ["A: 1", "B: 2"], [], [5], 5],
    "dir": ["", "/", "relative", "DIR/a/../b", 5],
    "out": ["", "a/b", "/absolute", "../up", ".", "..", "a/../../b", "name\u0000nul", "x" * 300],
    "checksum": ["md5=00", "nope=00", "sha-256=" + "0" * 64, "sha-1=" + "g" * 40, "sha-512=" + "0" * 128, "x"],
    "all-proxy": ["", "x:y", "ftp://x", "http://u:p@127.0.0.1:9", "socks5://127.0.0.1:9"],
    "gid": ["", "1", "0" * 16, "z" * 16, "00000000000000AB", "0" * 17],
    "lowest-speed-limit": ["1M", "-1"],
    "retry-wait": ["0", "600", "601"],
    "max-file-not-found": ["-1", "0"],
    "uri-selector": ["nope", "adaptive", "feedback"],
    "referer": ["*", ""],
    "user-agent": ["", "x\ny"],
    "select-file": ["0", "1-3", "x"],
    "index-out": ["1=a", "x", ["1=a", "2=b"]],
}


def kept(daemon, gid, name):
    """Returns the option's value from getOption and the download's state."""
    try:
        value = daemon.call("aria2.getOption", gid).get(name, "missing")
        return {"value": value, "status": daemon.call("aria2.tellStatus", gid, ["status"])["status"]}
    except RPCError as error:
        return error.message


def everywhere(recorder, downloads):
    """Sets each option once with addUri, with changeOption of a paused and an active download, and globally."""
    daemon = downloads.daemon
    active = downloads.add("/file/active?size=100000000&rate=20000")
    paused = downloads.add("/never", pause="true")
    daemon.wait_for(active, "active")
    for number, (name, value) in enumerate(VALUES.items()):
        value = value.replace("DIR", daemon.downloads)
        gid = value if name == "gid" else f"{0xA000 + number:016x}"
        options = {"gid": gid, "pause": "true", name: value}
        recorder.call(
            daemon, f"option {name}: addUri", "aria2.addUri", [downloads.site.url + f"/file/o{number}?size=1"], options
        )
        recorder.note(f"option {name}: addUri, then", kept(daemon, gid, name))
        downloads.discard(gid)
        if name in ("gid", "dry-run"):
            continue
        recorder.call(daemon, f"option {name}: changeOption paused", "aria2.changeOption", paused, {name: value})
        recorder.note(f"option {name}: changeOption paused, then", kept(daemon, paused, name))
    # Some options restart an active download. The trial does not wait for that.
    for name, value in VALUES.items():
        if name in (
            "gid",
            "dry-run",
            "all-proxy",
            "http-proxy",
            "interface",
            "multiple-interface",
            "hash-check-only",
            "pause",
            "checksum",
            "out",
            "dir",
        ):
            continue
        recorder.call(
            daemon,
            f"option {name}: changeOption active",
            "aria2.changeOption",
            active,
            {name: value.replace("DIR", daemon.downloads)},
        )
        daemon.wait_for(active, "active")
    downloads.discard(active)
    downloads.discard(paused)


def globally(recorder, downloads):
    daemon = downloads.daemon
    for name, value in VALUES.items():
        value = value.replace("DIR", daemon.downloads)
        recorder.call(daemon, f"option {name}: changeGlobalOption", "aria2.changeGlobalOption", {name: value})
        recorder.note(
            f"option {name}: changeGlobalOption, then", daemon.call("aria2.getGlobalOption").get(name, "missing")
        )
    for name, value in {
        "no struct": "x",
        "a list": ["x"],
        "empty": {},
        "number": {"max-concurrent-downloads": 3},
        "bad": {"split": "x"},
        "good and bad": {"timeout": "44", "split": "x"},
    }.items():
        recorder.call(daemon, f"changeGlobalOption: {name}", "aria2.changeGlobalOption", value)
    recorder.call(daemon, "changeGlobalOption: none", "aria2.changeGlobalOption")
    recorder.note("changeGlobalOption: good and bad, then", daemon.call("aria2.getGlobalOption").get("timeout"))


def odd(recorder, downloads):
    """Sets values that are out of range or of other types, and invalid parameters of addUri."""
    daemon, number = downloads.daemon, 0xB000
    for name, values in ODD.items():
        for value in values:
            if isinstance(value, str):
                value = value.replace("DIR", daemon.downloads)
            number += 1
            gid = value if name == "gid" else f"{number:016x}"
            case = f"value {name}={value!r}".replace(daemon.downloads, "DIR")
            options = {"gid": gid, "pause": "true", name: value}
            recorder.call(
                daemon,
                case,
                "aria2.addUri",
                [downloads.site.url + f"/never?v{number}"],
                options,
                volatile=("result",) if gid == "" else (),
            )
            recorder.note(f"{case}, then", kept(daemon, gid, name))
            downloads.discard(gid)
    url = downloads.site.url + "/never"
    for name, params in {
        "nothing": [],
        "no list": ["x"],
        "empty list": [[]],
        "empty text": [[""]],
        "no URI": [["nope"]],
        "number": [[5]],
        "null": [None],
        "ftp": [["ftp://127.0.0.1:1/x"]],
        "magnet": [["magnet:?xt=urn:btih:" + "0" * 40], {"pause": "true"}],
        "file": [["file:///etc/passwd"]],
        "sftp": [["sftp://127.0.0.1:1/x"]],
        "mixed": [["nope", url], {"pause": "true"}],
        "space in URI": [[url + "?a b"], {"pause": "true"}],
        "options no struct": [[url], "x"],
        "options a list": [[url], []],
        "options null": [[url], None],
        "same GID": [[url], {"gid": "00000000000000cc", "pause": "true"}],
        "no port": [["http://127.0.0.1:/x"], {"pause": "true"}],
        "large port": [["http://127.0.0.1:99999/x"]],
        "no host": [["http:///x"]],
        "upper case": [["HTTP" + url[4:]], {"pause": "true"}],
        "user in URI": [["http://user:secret@127.0.0.1:1/x"], {"pause": "true"}],
        "surplus": [[url], {"pause": "true"}, 0, "x"],
        "position no number": [[url], {"pause": "true"}, "x"],
        "braces": [["http://127.0.0.1:1/{a,b}[1-3]"], {"parameterized-uri": "true", "pause": "true"}],
    }.items():
        recorder.call(daemon, f"addUri: {name}", "aria2.addUri", *params, volatile=("result",))
    recorder.call(daemon, "addUri: same GID again", "aria2.addUri", [url], {"gid": "00000000000000cc"})
    for name, params in {
        "not base64": ["%%%"],
        "no XML": ["aGVsbG8="],
        "empty": [""],
        "number": [5],
        "none": [],
    }.items():
        recorder.call(daemon, f"addMetalink: {name}", "aria2.addMetalink", *params, volatile=("result",))


def cookie_file(folder):
    """Writes a Netscape cookie file with one cookie for the site and four that do not apply."""
    path = os.path.join(folder, "cookies.txt")
    with open(path, "w") as file:
        file.write(
            "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t4000000000\tname\tvalue\n"
            "127.0.0.1\tFALSE\t/other\tFALSE\t4000000000\tpath\tno\nexample.com\tTRUE\t/\tFALSE\t4000000000\tsite\tno\n"
            "127.0.0.1\tFALSE\t/\tTRUE\t4000000000\tsecure\tno\n127.0.0.1\tFALSE\t/\tFALSE\t1\texpired\tno\n"
        )
    return path


def noted_head(recorder, name, path):
    """Records the request's head that /echo returned."""
    text = open(path).read() if os.path.exists(path) else "no file"
    first, *fields = text.split("\n")
    noted = {"request": first}
    for field in filter(None, fields):
        key, _, value = field.partition(": ")
        noted[key] = f"{noted[key]} | {value}" if key in noted else value
    recorder.note(f"sent: {name}", noted)


def sent(recorder, downloads):
    """Records the request's head for several sets of options, as the server received it."""
    cookies = cookie_file(downloads.daemon.folder)
    for name, options in {
        "nothing": {},
        "user-agent": {"user-agent": "odd/1"},
        "no user-agent": {"user-agent": ""},
        "referer": {"referer": "http://x/"},
        "referer *": {"referer": "*"},
        "header": {"header": ["X-One: 1", "X-Two: 2", "User-Agent: mine"]},
        "same header twice": {"header": ["X: 1", "X: 2"]},
        "accept": {"header": "Accept: text/x"},
        "gzip": {"http-accept-gzip": "true"},
        "no-cache": {"http-no-cache": "true"},
        "keep-alive off": {"enable-http-keep-alive": "false"},
        "password": {"http-user": "user", "http-passwd": "secret"},
        "password at once": {"http-user": "user", "http-passwd": "secret", "http-auth-challenge": "false"},
        "cookies": {"load-cookies": cookies},
        "cookies and a header": {"load-cookies": cookies, "header": "Cookie: own=1"},
        "no digest": {"no-want-digest-header": "true"},
        "conditional": {"conditional-get": "true", "out": "echo-nothing", "allow-overwrite": "true"},
    }.items():
        if "conditional-get" in options:
            os.utime(os.path.join(downloads.daemon.downloads, "echo-nothing"), (1577836800, 1577836800))
        out = options.get("out", "echo-" + name.replace(" ", "-").replace("*", "any"))
        gid = downloads.add(f"/echo/{out}", **{"out": out, **options})
        downloads.daemon.wait_for(gid, "complete", "error")
        noted_head(recorder, name, os.path.join(downloads.daemon.downloads, out))


def sent_by_all(recorder, downloads):
    """Does the same with the options on the command line."""
    downloads.daemon.wait_for(downloads.add("/echo/all", out="all"), "complete", "error")
    noted_head(recorder, "by options of the command line", os.path.join(downloads.daemon.downloads, "all"))


def session(recorder, daemon, path):
    """Records the text that saveSession writes: a set of lines per download."""
    recorder.call(daemon, "session: saved", "aria2.saveSession")
    blocks, lines = {}, []
    for line in (open(path).read() if os.path.exists(path) else "no file").splitlines():
        if not line.startswith(" ") and lines:
            blocks[lines[0]] = sorted(lines[1:])
            lines = []
        lines.append(line)
    if lines:
        blocks[lines[0]] = sorted(lines[1:])
    recorder.note("session: text", blocks)
