public import Foundation

extension Downloader {
    /// A program, a webhook or a desktop notification that is started when downloads start and end.
    ///
    /// ```swift
    /// configuration.hooks.actions = [
    ///     .command(path: "/usr/local/bin/unpack", on: [.completed]),
    ///     .webhook(receiver, secret: secret, on: Set(HookEvent.allCases)),
    ///     .desktopNotification(on: [.allCompleted]),
    /// ]
    /// ```
    ///
    /// A download neither fails nor waits because of a hook. The failure of a hook is logged at `debug`.
    public enum Hook: Sendable, Hashable {
        /// Runs a program directly, without a shell.
        ///
        /// The program gets `arguments` and, for ``HookEvent/completed``, the path of the file as the last argument.
        /// The other values are in its environment, which is that of this process with the variables below. A variable
        /// without a value is not set.
        ///
        /// | Variable | |
        /// |---|---|
        /// | `HAUL_EVENT` | `started`, `completed`, `failed`, `group-ended` or `all-completed` |
        /// | `HAUL_ID` | id of the download |
        /// | `HAUL_URL` | the URL without user info and query, which may be secrets (`URL.masked`) |
        /// | `HAUL_PATH` | absolute path of the file; before it is complete, Haul has no file at this path |
        /// | `HAUL_BYTES` | received bytes of the file |
        /// | `HAUL_KEY` `HAUL_GROUP` `HAUL_OWNER` | as in the request; with `group-ended` only the group's name |
        /// | `HAUL_METADATA` | the request's metadata, as JSON |
        /// | `HAUL_WAS_THERE` | `1` when the file already existed |
        /// | `HAUL_ERROR_CODE` | ``DownloadError/code`` |
        /// | `HAUL_ERROR` | ``DownloadError/message`` |
        /// | `HAUL_COMPLETED` `HAUL_FAILED` | with `all-completed` and `group-ended`: downloads with that outcome |
        /// | `HAUL_PAUSED` | with `group-ended`: number of downloads of the group that are paused |
        ///
        /// With `group-ended`, `HAUL_BYTES`, `HAUL_COMPLETED` and `HAUL_FAILED` are sums over all downloads of the
        /// group.
        ///
        /// A variable is also not set if its value has more than 64 KiB or contains a zero byte, because the system may
        /// refuse or cut the value. The standard streams of the program are `/dev/null`, and the program inherits no
        /// other open file. After ``Downloader/Configuration/Hooks/commandTime`` the program is terminated with its
        /// child processes.
        ///
        /// - Parameter path: path of the program, absolute or relative to the working folder; `PATH` is not searched. A
        ///   script needs a first line that names its interpreter (`#!`).
        case command(path: String, arguments: [String] = [], on: Set<HookEvent>)

        /// Sends a POST request with a JSON object, in the order of the events.
        ///
        /// | Key | |
        /// |---|---|
        /// | `event` | as `HAUL_EVENT` above |
        /// | `time` | time of the event. Dates are ISO 8601 in UTC: `2026-01-31T12:00:00.000Z` |
        /// | `id` `url` `path` `key` `group` `owner` | as above |
        /// | `bytes` `total` | received bytes of the file; length of the whole file |
        /// | `metadata` | the request's metadata, as a JSON value |
        /// | `wasThere` | the file already existed |
        /// | `error` | an object: `code`, `message` and, for a response of the server, `status` |
        /// | `startedAt` `endedAt` | times of the download |
        /// | `completed` `failed` | with `all-completed` and `group-ended`: number of downloads with that outcome |
        /// | `paused` | with `group-ended`: number of downloads of the group that are paused |
        ///
        /// With `group-ended`, `bytes`, `completed` and `failed` are sums over all downloads of the group, and `total`
        /// is the sum of the known lengths.
        ///
        /// A key without a value is absent; later versions may add keys. The header fields are `Haul-Event`,
        /// `Haul-Delivery` (an id, the same for each attempt of a delivery), `Haul-Timestamp` (of the attempt, in
        /// seconds since 1970) and, with a secret, `Haul-Signature`: `sha256=` and the HMAC-SHA256 (RFC 2104) of the
        /// timestamp, a full stop and the body, in hexadecimal.
        ///
        /// A response of 2xx is a success. Redirects are not followed. A failed connection and a response of 408, 425,
        /// 429 or 5xx are retried (five times by default), a refused certificate is not. Proxies and certificates
        /// are those of the downloader.
        ///
        /// - Parameters:
        ///   - url: `http` or `https`. User info in it is sent as Basic authentication.
        ///   - secret: key of the signature, which the receiver also has; `nil` for no signature.
        case webhook(URL, secret: String? = nil, on: Set<HookEvent>)

        /// Shows a notification on the user's desktop with ``Downloader/Configuration/Hooks/notifier``. Does nothing
        /// without a notifier or a desktop.
        case desktopNotification(on: Set<HookEvent>)

        /// The events that start the hook.
        package var events: Set<HookEvent> {
            switch self {
            case .command(_, _, let events), .webhook(_, _, let events), .desktopNotification(let events): events
            }
        }
    }
}

/// An event that starts hooks. Programs and receivers get the raw value. Cases may be added in later versions.
public enum HookEvent: String, Sendable, Hashable, Codable, CaseIterable {
    /// A run sends its first request. Reported once for each run: continuing after a pause does not start another run.
    case started
    /// The file is complete, verified and under its final name. If the run has not reported ``started``, the event is
    /// not reported for a file that the run did not write: one that an earlier run or another process completed, or
    /// that ``DownloadRequest/ConflictPolicy/skip`` kept.
    case completed
    /// A run has failed. Not reported for a download that was cancelled, or when the downloader shuts down.
    case failed
    /// No download of a group waits, runs or is held any more, so that ``DownloadGroup/result()`` returns, and at least
    /// one of them has completed or failed. Reported each time that this becomes true, with the sums of the whole
    /// group. Not reported while a call adds to the group or ``DownloadGroup/expectMore(isolation:_:)`` runs. The event
    /// follows the last event of the group's downloads, and comes before or after ``allCompleted``.
    case groupEnded = "group-ended"
    /// No download waits, runs or is held any more, after at least one completed or failed.
    case allCompleted = "all-completed"
}

extension Downloader.Hook: CustomStringConvertible {
    /// The kind of the hook with the program's path or the receiver's origin. Contains no secrets: the path of a
    /// webhook's URL is left out, because it is often a secret.
    public var description: String {
        switch self {
        case .command(let path, _, _): "command \(path)"
        case .webhook(let url, _, _): "webhook \(Origin(url).text)"
        case .desktopNotification: "desktop notification"
        }
    }
}
