extension Aria2Option {
    private static let levels = ["debug", "info", "notice", "warn", "error"]

    /// Options of queue, files, console and process.
    static let general: [Aria2Option] = [
        .both("dir", short: "d", .text, .applied("folder of the file")),
        .download("out", short: "o", .text, .applied("path of the file below `dir`")),
        .global("input-file", short: "i", .text, .applied("file of downloads; `-` for standard input")),
        .global(
            "deferred-input",
            .flag,
            standard: "false",
            .ignored("an input file is read as a whole; its memory is that of its text")
        ),
        .global(
            "log",
            short: "l",
            .text,
            changes: true,
            .applied("file that console messages are appended to; `-` for standard output")
        ),
        .global(
            "log-level",
            .choice(levels),
            standard: "debug",
            changes: true,
            .applied("least level of the messages in `log`")
        ),
        .global(
            "max-concurrent-downloads",
            short: "j",
            .integer(.from(1)),
            standard: "5",
            changes: true,
            .applied("downloads that run at once")
        ),
        .global(
            "optimize-concurrent-downloads",
            .coefficients,
            standard: "false",
            changes: true,
            .ignored("the number of downloads is that of `max-concurrent-downloads`; Haul measures connections instead")
        ),
        .global(
            "force-sequential",
            short: "Z",
            .flag,
            standard: "false",
            .applied("each URI is a download of its own")
        ),
        .both("auto-file-renaming", .flag, standard: "true", .applied("a taken name gets a number, as `name (1).ext`")),
        .both(
            "allow-overwrite",
            .flag,
            standard: "false",
            .applied("an existing file is replaced when the new one is complete")
        ),
        .both(
            "continue",
            short: "c",
            .flag,
            standard: "false",
            .applied("a partial file of another program is resumed")
        ),
        .both(
            "always-resume",
            .flag,
            standard: "true",
            .ignored("Haul resumes what the server proves unchanged, and else starts over")
        ),
        .both("max-resume-failure-tries", .integer(.from(0)), standard: "0", .ignored("see `always-resume`")),
        .both(
            "allow-piece-length-change",
            .flag,
            standard: "false",
            .ignored("received bytes are kept as ranges, not as pieces")
        ),
        .both(
            "parameterized-uri",
            short: "P",
            .flag,
            standard: "false",
            change: .never,
            .applied("`{a,b}` and `[1-9]` in URIs are written out")
        ),
        .both(
            "conditional-get",
            .flag,
            standard: "false",
            .ignored("an existing file is fetched again, kept or refused, as the other options say")
        ),
        .both(
            "remote-time",
            short: "R",
            .flag,
            standard: "false",
            .applied("modification time of the file as the server reports it")
        ),
        .both(
            "dry-run",
            .flag,
            standard: "false",
            change: .never,
            .applied("the server is asked for the file, and no file is written")
        ),
        .both("check-integrity", short: "V", .flag, standard: "false", .ignored("a `checksum` is always compared")),
        .both("hash-check-only", .flag, standard: "false", .ignored("`haul verify` compares existing files")),
        .both(
            "realtime-chunk-checksum",
            .flag,
            standard: "true",
            .ignored("pieces of a Metalink are always compared as they arrive")
        ),
        .download(
            "checksum",
            .digest(["sha-1", "sha-224", "sha-256", "sha-384", "sha-512", "md5", "adler32"]),
            .applied("digest that the file must have: md5, sha-1, sha-256 or sha-512; others are refused")
        ),
        .both(
            "file-allocation",
            .choice(["none", "prealloc", "trunc", "falloc"]),
            standard: "prealloc",
            .ignored("Haul reserves the space of each file where the file system can")
        ),
        .both("no-file-allocation-limit", .bytes(.from(0)), standard: "5242880", .ignored("see `file-allocation`")),
        .both("enable-mmap", .flag, standard: "false", .ignored("Haul writes by offset, without mapping")),
        .both("max-mmap-limit", .bytes(.from(0)), standard: "9223372036854775807", .ignored("see `enable-mmap`")),
        .global(
            "disk-cache",
            .bytes(.from(0)),
            standard: "16777216",
            .ignored("the system caches writes; Haul's buffers are bounded")
        ),
        .global(
            "auto-save-interval",
            .integer(0...600),
            standard: "60",
            .ignored("progress is recorded several times a second")
        ),
        .both(
            "remove-control-file",
            .flag,
            standard: "false",
            .ignored("Haul keeps no control files; `allow-overwrite` starts over")
        ),
        .both(
            "force-save",
            .flag,
            standard: "false",
            change: .live,
            .applied("finished downloads are saved to the session file too")
        ),
        .both(
            "save-not-found",
            .flag,
            standard: "true",
            .applied("whether downloads that were not found are saved to the session file")
        ),
        .global("save-session", .text, changes: true, .applied("file that unfinished downloads are saved to")),
        .global(
            "save-session-interval",
            .integer(.from(0)),
            standard: "0",
            .applied("seconds between two saves; 0: at the end")
        ),
        .global(
            "keep-unfinished-download-result",
            .flag,
            standard: "true",
            changes: true,
            .ignored("unfinished downloads are always kept")
        ),
        .global(
            "max-download-result",
            .integer(.from(0)),
            standard: "1000",
            changes: true,
            .applied("ended downloads that are listed")
        ),
        .download("gid", .gid, change: .never, .applied("name of the download")),
        .download("pause", .flag, standard: "false", change: .never, .applied("the download begins paused")),
        .both(
            "pause-metadata",
            .flag,
            standard: "false",
            .ignored("there are no downloads that follow a torrent or Metalink")
        ),
        .global("conf-path", .text, .applied("configuration file")),
        .global("no-conf", .flag, standard: "false", .applied("no configuration file is read")),
        .global(
            "daemon",
            short: "D",
            .flag,
            standard: "false",
            .applied("the process runs in the background, without a terminal")
        ),
        .global("stop", .integer(0...2_147_483_647), standard: "0", .applied("seconds after which the process ends")),
        .global("stop-with-process", .integer(.from(0)), .applied("process at whose end this one ends")),
        .global("quiet", short: "q", .flag, standard: "false", .applied("no messages")),
        .global("console-log-level", .choice(levels), standard: "notice", .applied("least level of the messages")),
        .global(
            "summary-interval",
            .integer(0...2_147_483_647),
            standard: "60",
            .applied("seconds between two summaries; 0 for none")
        ),
        .global(
            "download-result",
            .choice(["default", "full", "hide"]),
            standard: "default",
            changes: true,
            .applied("form of the table at the end")
        ),
        .global(
            "show-console-readout",
            .flag,
            standard: "true",
            .applied("whether a terminal shows a line of progress")
        ),
        .global(
            "truncate-console-readout",
            .flag,
            standard: "true",
            .applied("whether the line of progress is cut at the width of the terminal")
        ),
        .global("human-readable", .flag, standard: "true", .applied("sizes and speeds as `1.2MiB`")),
        .global("enable-color", .flag, standard: "true", .applied("colours on a terminal")),
        .global("stderr", .flag, standard: "false", .applied("messages go to standard error")),
        .global(
            "event-poll",
            .choice(["epoll", "kqueue", "port", "poll", "select"]),
            standard: "epoll",
            .ignored("the network library chooses")
        ),
        .global(
            "rlimit-nofile",
            .integer(.from(1)),
            standard: "1024",
            .ignored("Haul raises the limit as its downloads need")
        ),
        .global("dscp", .integer(.from(0)), standard: "0", .ignored("of BitTorrent")),
        .global("version", short: "v", .flag, .applied("the version")),
        .global("help", short: "h", .text, standard: "#basic", .applied("usage")),
    ]
}
