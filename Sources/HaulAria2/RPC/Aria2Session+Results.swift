internal import Foundation
package import HaulKit

/// A download in the form of `aria2c`'s summary.
package struct Aria2Result: Sendable {
    package var gid: GID
    package var state: Aria2State
    /// Path of the file; `nil` until the name is known.
    package var path: String?
    package var uri: String
    package var receivedBytes: Int64
    package var totalBytes: Int64?
    /// Reason why the download failed.
    package var error: Aria2Error?
    package var snapshot: DownloadSnapshot
}

/// Returns the results of a process, and writes the session file.
extension Aria2Session {
    private static let pageSize = 1000

    /// Returns all downloads of the store in the order of adding, then those that clients removed.
    package func results() async throws(Aria2Error) -> [Aria2Result] {
        var results: [Aria2Result] = []
        try await forEach(.all) { snapshot throws(Aria2Error) in
            results.append(result(snapshot, gid(of: snapshot), Aria2State(snapshot)))
        }
        return results + removed.entries.map { result($0.snapshot, $0.gid, .removed) }
    }

    private func result(_ snapshot: DownloadSnapshot, _ gid: GID, _ state: Aria2State) -> Aria2Result {
        Aria2Result(
            gid: gid,
            state: state,
            path: snapshot.path,
            uri: record(of: snapshot).uris.first ?? snapshot.url.absoluteString,
            receivedBytes: snapshot.receivedBytes,
            totalBytes: snapshot.totalBytes,
            error: state == .error ? snapshot.error.map { Aria2Error($0) } : nil,
            snapshot: snapshot
        )
    }

    private func forEach(
        _ filter: DownloadFilter,
        _ body: (DownloadSnapshot) async throws(Aria2Error) -> Void
    ) async throws(Aria2Error) {
        var filter = filter
        filter.limit = Self.pageSize
        let downloader = downloader
        while true {
            let wanted = filter
            let page = try await engine { () throws(DownloadError) in try await downloader.list(wanted) }
            for snapshot in page { try await body(snapshot) }
            if page.count < Self.pageSize { return }
            filter.offset += page.count
        }
    }

    /// Writes the downloads that ``Aria2SessionFile/isSaved(_:savesNotFound:)`` selects to the session file.
    ///
    /// - Returns: false if there is no session file.
    package func save() async throws(Aria2Error) -> Bool {
        let named = global["save-session"].flatMap { $0.isEmpty ? nil : $0 }
        guard let path = named ?? configuration.sessionFile else { return false }
        var contents = Data()
        let savesNotFound = global["save-not-found"] != "false"
        let savesAll = global.flag("force-save")
        // Writes the downloads in the order of the queue, in which the next run adds them again.
        try await forEach(DownloadFilter(order: .queue)) { snapshot throws(Aria2Error) in
            let state = Aria2State(snapshot)
            let record = record(of: snapshot)
            // Reads the options of a finished download only if it might be saved.
            guard state != .complete || savesAll || record.option("force-save") == "true" else { return }
            let row = Aria2SessionFile.Row(
                gid: gid(of: snapshot),
                uris: record.uris.isEmpty ? [snapshot.url.absoluteString] : record.uris,
                options: try await options(of: snapshot, forClient: false),
                status: .init(snapshot)
            )
            if Aria2SessionFile.isSaved(row, savesNotFound: savesNotFound) {
                contents += Data(Aria2SessionFile.text(row).utf8)
            }
        }
        try Aria2SessionFile.write(contents, to: path)
        return true
    }

    func saveSession() async throws(Aria2Error) -> Aria2Value {
        guard try await save() || configuration.isPersistent else {
            throw Aria2Error(.unknown, "Filename is not given.")
        }
        return "OK"
    }
}

extension Aria2SessionFile.Row.Status {
    fileprivate init(_ snapshot: DownloadSnapshot) {
        self =
            switch Aria2State(snapshot) {
            case .active: .active
            case .waiting: .waiting
            case .paused: .paused
            case .error: .failed(snapshot.error.map { Aria2ErrorCode($0) } ?? .unknown)
            case .complete: .complete
            case .removed: .removed
            }
    }
}
