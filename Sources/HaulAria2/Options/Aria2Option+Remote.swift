extension Aria2Option {
    /// Options of the RPC.
    static let remote: [Aria2Option] = [
        .global(
            "enable-rpc",
            .flag,
            standard: "false",
            .applied("the RPC is served, and the process runs until it is shut down")
        ),
        .global("rpc-listen-port", .integer(1024...65535), standard: "6800", .applied("port of the RPC")),
        .global(
            "rpc-listen-all",
            .flag,
            standard: "false",
            .applied("the RPC listens on all addresses; needs `rpc-secret`")
        ),
        .global("rpc-secret", .text, secret: true, .applied("token of the RPC")),
        .global("rpc-allow-origin-all", .flag, standard: "false", .applied("pages of every origin may call the RPC")),
        .global("rpc-max-request-size", .bytes(.from(0)), standard: "2097152", .applied("largest request of the RPC")),
        .global(
            "rpc-user",
            .text,
            secret: true,
            .ignored("refused with a sentence: aria2 has deprecated it for `rpc-secret`")
        ),
        .global("rpc-passwd", .text, secret: true, .ignored("see `rpc-user`")),
        .global("rpc-certificate", .text, .ignored("the RPC is served without TLS; put a server with TLS before it")),
        .global("rpc-private-key", .text, .ignored("see `rpc-certificate`")),
        .global(
            "rpc-secure",
            .flag,
            standard: "false",
            .ignored("see `rpc-certificate`; `true` is refused with a sentence")
        ),
        .both(
            "rpc-save-upload-metadata",
            .flag,
            standard: "true",
            change: .never,
            .ignored("an added Metalink is not kept as a file")
        ),
    ]

    /// Options that name programs to run at events of downloads.
    static let hooks: [Aria2Option] = [
        .global("on-download-start", .text, .applied("program run with GID, number of files and path")),
        .global("on-download-pause", .text, .applied("program run with GID, number of files and path")),
        .global(
            "on-download-stop",
            .text,
            .applied("program run when there is none for completion or error, or the download is removed")
        ),
        .global("on-download-complete", .text, .applied("program run with GID, number of files and path")),
        .global("on-download-error", .text, .applied("program run with GID, number of files and path")),
        .global("on-bt-download-complete", .text, .ignored("of BitTorrent")),
    ]
}
