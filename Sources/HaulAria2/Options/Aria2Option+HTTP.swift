extension Aria2Option {
    /// Options of connections, requests and retries.
    static let http: [Aria2Option] = [
        .both(
            "split",
            short: "s",
            .integer(.from(1)),
            standard: "5",
            .applied("connections of the download, at most `max-connection-per-server` to a host")
        ),
        .both(
            "max-connection-per-server",
            short: "x",
            .integer(1...16),
            standard: "1",
            .applied("connections of the download to a host")
        ),
        .both(
            "min-split-size",
            short: "k",
            .bytes(1_048_576...1_073_741_824),
            standard: "20971520",
            .applied("smallest range that a connection is opened for; one value for all")
        ),
        .both(
            "piece-length",
            .bytes(1_048_576...1_073_741_824),
            standard: "1048576",
            change: .never,
            .applied("unit of the `bitfield` of the RPC; files are split at any byte")
        ),
        .both(
            "max-download-limit",
            .bytes(.from(0)),
            standard: "0",
            change: .live,
            .applied("speed limit of the download")
        ),
        .global(
            "max-overall-download-limit",
            .bytes(.from(0)),
            standard: "0",
            changes: true,
            .applied("speed limit of all downloads")
        ),
        .both(
            "lowest-speed-limit",
            .bytes(.from(0)),
            standard: "0",
            .ignored(
                "a connection that is slow beside the others is replaced, a slow server is waited for, and no download ends with status 5"
            )
        ),
        .both(
            "timeout",
            short: "t",
            .integer(1...600),
            standard: "60",
            .applied("longest silence of a server; one value for all, read at the start")
        ),
        .both(
            "connect-timeout",
            .integer(1...600),
            standard: "60",
            .applied("time limit for connecting; one value for all, read at the start")
        ),
        .both(
            "max-tries",
            short: "m",
            .integer(.from(0)),
            standard: "5",
            .applied("attempts in a row that may fail without a new byte, 0: no limit; one value for all")
        ),
        .both(
            "retry-wait",
            .integer(0...600),
            standard: "0",
            .applied("longest first delay before another attempt, where above 0; one value for all")
        ),
        .both(
            "max-file-not-found",
            .integer(.from(0)),
            standard: "0",
            .ignored("a download that no source has ends at once, with status 3 and never 4")
        ),
        .both("header", .list, .applied("header fields for the URI's own origin")),
        .both("referer", .text, .applied("`Referer` field; `*` is the URI itself")),
        .both("user-agent", short: "U", .text, .applied("`User-Agent` field")),
        .both("http-user", .text, .applied("user name for every URI without one")),
        .both("http-passwd", .text, .applied("password for `http-user`")),
        .both(
            "http-auth-challenge",
            .flag,
            standard: "false",
            .ignored("credentials are sent with the first request, as aria2 does by default")
        ),
        .both("no-netrc", short: "n", .flag, standard: "false", .applied("`.netrc` is not read")),
        .global("netrc-path", .text, .applied("file of user names and passwords")),
        .global("load-cookies", .text, .applied("cookies of a cookies.txt or of a browser's SQLite file")),
        .global("save-cookies", .text, changes: true, .applied("file that cookies are saved to at the end")),
        .both(
            "http-no-cache",
            .flag,
            standard: "false",
            .applied("`Cache-Control: no-cache` and `Pragma: no-cache` fields")
        ),
        .both(
            "http-accept-gzip",
            .flag,
            standard: "false",
            .ignored("files are fetched as they are, so that they can be resumed")
        ),
        .both("use-head", .flag, standard: "false", .ignored("the first request is the GET that fetches the file")),
        .both("enable-http-keep-alive", .flag, standard: "true", .ignored("connections are always kept open")),
        .both("enable-http-pipelining", .flag, standard: "false", .ignored("servers do not agree on it")),
        .both(
            "content-disposition-default-utf8",
            .flag,
            standard: "false",
            .ignored("the text is read as UTF-8 where it is UTF-8, else as ISO 8859-1")
        ),
        .global(
            "ca-certificate",
            .text,
            standard: "/etc/ssl/certs/ca-certificates.crt",
            .applied("certificates to trust in addition to the system's")
        ),
        .global(
            "check-certificate",
            .flag,
            standard: "true",
            .ignored(
                "`false` is ignored with a warning: Haul always checks certificates; trust one with `ca-certificate`"
            )
        ),
        .global("certificate", .text, .ignored("Haul has no client certificates")),
        .global("private-key", .text, .ignored("see `certificate`")),
        .global(
            "min-tls-version",
            .choice(["SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]),
            standard: "TLSv1.2",
            .ignored("TLS 1.2 and 1.3 are used")
        ),
        .global("interface", .text, .applied("interface or local address to connect from")),
        .global("multiple-interface", .text, .ignored("one interface is used; the system routes")),
        .global(
            "disable-ipv6",
            .flag,
            standard: "false",
            .ignored("addresses of both versions are tried, and the first to answer is used")
        ),
        .both("async-dns", .flag, standard: "true", .ignored("names are looked up beside the downloads")),
        .global("async-dns-server", .text, .ignored("names are looked up as the system is configured")),
        .global("enable-async-dns6", .flag, .ignored("see `async-dns`; deprecated by aria2 itself")),
        .both(
            "uri-selector",
            .choice(["inorder", "feedback", "adaptive"]),
            standard: "feedback",
            .ignored("sources are tried in their order and by measured speed")
        ),
        .global("server-stat-if", .text, .ignored("what is known of hosts is in Haul's store")),
        .global("server-stat-of", .text, changes: true, .ignored("see `server-stat-if`")),
        .global(
            "server-stat-timeout",
            .integer(0...2_147_483_647),
            standard: "86400",
            .ignored("see `server-stat-if`")
        ),
        .both("reuse-uri", .flag, standard: "true", .ignored("a source is used by as many connections as it is worth")),
        .both(
            "stream-piece-selector",
            .choice(["default", "inorder", "random", "geom"]),
            standard: "default",
            .ignored("ranges are split where the largest is left")
        ),
        .global(
            "socket-recv-buffer-size",
            .bytes(0...16_777_216),
            standard: "0",
            .ignored("the system sizes the buffers")
        ),
    ]

    /// Options of proxies.
    static let proxies: [Aria2Option] = [
        .both("all-proxy", .proxy, .applied("proxy of all URIs; one value for all, read at the start")),
        .both("all-proxy-user", .text, .applied("user name for `all-proxy`")),
        .both("all-proxy-passwd", .text, .applied("password for `all-proxy`")),
        .both("http-proxy", .proxy, .applied("proxy of http URIs, as `all-proxy`")),
        .both("http-proxy-user", .text, .applied("user name for `http-proxy`")),
        .both("http-proxy-passwd", .text, .applied("password for `http-proxy`")),
        .both("https-proxy", .proxy, .applied("proxy of https URIs, as `all-proxy`")),
        .both("https-proxy-user", .text, .applied("user name for `https-proxy`")),
        .both("https-proxy-passwd", .text, .applied("password for `https-proxy`")),
        .both("no-proxy", .text, .applied("hosts that are connected to directly; networks as addresses only")),
        .both(
            "proxy-method",
            .choice(["get", "tunnel"]),
            standard: "get",
            .ignored("http URIs by GET and https URIs by CONNECT")
        ),
        .both("ftp-proxy", .proxy, .ignored("of FTP")),
        .both("ftp-proxy-user", .text, .ignored("of FTP")),
        .both("ftp-proxy-passwd", .text, .ignored("of FTP")),
    ]
}
