/// The arguments and the environment of a hook's program.
extension HookMessage {
    /// Largest size of a variable in bytes. Linux accepts 128 KiB; a longer variable may prevent the start of the
    /// program.
    static let longestValue = 64 << 10

    /// The path of the finished file. Empty for other events, because another file may be at the path of a failed
    /// download.
    var arguments: [String] {
        guard event == .completed, case .download(let download) = subject, let path = download.path else { return [] }
        return [path]
    }

    /// Returns the environment of the process with the variables of ``Downloader/Hook/command(path:arguments:on:)``.
    ///
    /// - Parameter base: the environment of this process. If a hook started this process, `base` has the variables of
    ///   that hook, which are removed.
    func environment(over base: [String: String]) -> [String: String] {
        var environment = base
        for (name, value) in variables {
            // A text with a zero byte would be cut there, and mean something else.
            environment[name] = value.flatMap {
                $0.utf8.count <= Self.longestValue && !$0.utf8.contains(0) ? $0 : nil
            }
        }
        return environment
    }

    /// All variables of Haul; `nil` for a variable without a value.
    private var variables: [(String, String?)] {
        var (download, counts) = (nil as HookedDownload?, nil as HookCounts?)
        var group: (name: String, sums: DownloadSummary)?
        switch subject {
        case .download(let one): download = one
        case .all(let all): counts = all
        case .group(let name, let sums):
            group = (name, sums)
            counts = HookCounts(completed: sums.completed, failed: sums.failed)
        }
        return [
            ("HAUL_EVENT", event.rawValue),
            ("HAUL_ID", download?.id.description),
            ("HAUL_URL", download?.url.masked),
            ("HAUL_PATH", download?.path),
            ("HAUL_BYTES", (download?.bytes ?? group?.sums.receivedBytes).map { "\($0)" }),
            ("HAUL_KEY", download?.key),
            ("HAUL_GROUP", group?.name ?? download?.group),
            ("HAUL_OWNER", download?.owner),
            ("HAUL_METADATA", download?.metadata?.json),
            ("HAUL_WAS_THERE", download?.alreadyExisted == true ? "1" : nil),
            ("HAUL_ERROR_CODE", download?.error?.code.rawValue),
            ("HAUL_ERROR", download?.error?.message),
            ("HAUL_COMPLETED", counts.map { "\($0.completed)" }),
            ("HAUL_FAILED", counts.map { "\($0.failed)" }),
            ("HAUL_PAUSED", group.map { "\($0.sums.paused)" }),
        ]
    }
}
