public import Foundation

/// Something that is told when a downloader's downloads begin and end.
///
/// ```swift
/// configuration.hooks = [
///     .command(path: "/usr/local/bin/unpack", on: [.completed]),
///     .webhook(receiver, secret: secret, on: Set(HookEvent.allCases)),
///     .desktopNotification(on: [.allCompleted]),
/// ]
/// ```
///
/// A hook never harms or holds up a download: one that fails is logged at `debug`, and that is all.
public enum Hook: Sendable, Hashable {
    /// Runs a program, directly: no shell reads any of its words.
    ///
    /// It is given `arguments` and, for ``HookEvent/completed``, the path of the file as one more. Everything else is in its
    /// environment, which is this process's own with the variables below; one that has no value is not set.
    ///
    /// | Variable | |
    /// |---|---|
    /// | `HAUL_EVENT` | `started`, `completed`, `failed` or `all-completed` |
    /// | `HAUL_ID` | of the download |
    /// | `HAUL_URL` | without user info and query: either may be a secret (``Foundation/URL/masked``) |
    /// | `HAUL_PATH` | of the file, absolute; before it is complete nothing of ours stands there |
    /// | `HAUL_BYTES` | of the file that are here |
    /// | `HAUL_KEY` `HAUL_GROUP` `HAUL_OWNER` | as in the request |
    /// | `HAUL_METADATA` | the request's, as JSON |
    /// | `HAUL_WAS_THERE` | `1` when the file was there already |
    /// | `HAUL_ERROR_CODE` | ``DownloadError/code`` |
    /// | `HAUL_ERROR` | ``DownloadError/message`` |
    /// | `HAUL_COMPLETED` `HAUL_FAILED` | for `all-completed`: how many ended so |
    ///
    /// A value of more than 64 KiB, which a system may not take, is not set either. The program reads and writes `/dev/null`,
    /// inherits no other open file, and is ended when it takes too long (``HookLimits/commandTime``), with what it started.
    ///
    /// - Parameter path: of the program, absolute or from the working folder; `PATH` is not searched. A script needs a
    ///   first line that names its interpreter (`#!`).
    case command(path: String, arguments: [String] = [], on: Set<HookEvent>)

    /// Sends a POST request with a JSON object, in the order of the events.
    ///
    /// | Key | |
    /// |---|---|
    /// | `event` | as `HAUL_EVENT` above |
    /// | `time` | of the event. Dates are ISO 8601 in UTC: `2026-01-31T12:00:00.000Z` |
    /// | `id` `url` `path` `key` `group` `owner` | as above |
    /// | `bytes` `total` | of the file that are here; of the whole file |
    /// | `metadata` | the request's, as the JSON value that it is |
    /// | `wasThere` | the file was there already |
    /// | `error` | an object: `code`, `message` and, for an answer of the server, `status` |
    /// | `startedAt` `endedAt` | of the download |
    /// | `completed` `failed` | for `all-completed`: how many ended so |
    ///
    /// A key that is absent has no value; keys may be added. The header fields are `Haul-Event`, `Haul-Delivery` (an id,
    /// the same when a delivery is tried again), `Haul-Timestamp` (of the attempt, in seconds since 1970) and, with a secret, `Haul-Signature`:
    /// `sha256=` and the HMAC-SHA256 (RFC 2104) of the timestamp, a full stop and the body, in hexadecimal.
    ///
    /// Success is an answer of 2xx. Redirects are not followed. A connection that fails and an answer of 408, 425, 429
    /// or 5xx are tried again (``HookLimits/webhookRetry``). Proxies and certificates are those of the downloader.
    ///
    /// - Parameters:
    ///   - url: `http` or `https`. User info in it is sent as Basic authentication.
    ///   - secret: key of the signature, which the receiver knows too; nil for none.
    case webhook(URL, secret: String? = nil, on: Set<HookEvent>)

    /// Shows a notification on the user's desktop, by ``Configuration/notifier``; does nothing where there is none.
    case desktopNotification(on: Set<HookEvent>)

    /// What it is told of.
    public var events: Set<HookEvent> {
        switch self {
        case .command(_, _, let events), .webhook(_, _, let events), .desktopNotification(let events): events
        }
    }
}

/// What hooks can be told of. The raw values are what programs and receivers see.
public enum HookEvent: String, Sendable, Hashable, Codable, CaseIterable {
    /// A run of a download has left the queue. Told once a run: going on after a pause is no other one.
    case started
    /// The file is complete, verified and under its name.
    case completed
    /// A run gave up. Not told when the user cancelled it or the downloader was shut down.
    case failed
    /// No download waits or runs any more, after at least one ended.
    case allCompleted = "all-completed"
}

extension Hook: CustomStringConvertible, CustomDebugStringConvertible {
    /// Free of secrets: with many services the path of a webhook's URL is one.
    public var description: String {
        switch self {
        case .command(let path, _, _): "command \(path)"
        case .webhook(let url, _, _): "webhook \(Origin(url).text)"
        case .desktopNotification: "desktop notification"
        }
    }

    public var debugDescription: String { description }
}
