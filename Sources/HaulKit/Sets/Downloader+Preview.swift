internal import Foundation

extension FileSet {
    /// Sum of the lengths that the publisher states, in bytes.
    package var bytes: Int64 { files.reduce(0) { $0.addingReportingOverflow(max(0, $1.size ?? 0)).partialValue } }
    /// Number of files by the algorithm of their digests, as in ``SetReport/proofs``.
    package var proofs: [String: Int] {
        files.reduce(into: [:]) { counts, file in
            counts[file.checksum.map(\.algorithmName) ?? SetReport.noAlgorithm, default: 0] += 1
        }
    }
}

extension DownloadRequest.Checksum {
    /// The name of the algorithm as in the text of a digest, such as `sha256`.
    package var algorithmName: String { String(description.prefix { $0 != ":" }) }
}

extension Downloader {
    /// Lists the files that ``sync(_:into:options:)`` with the same source and options would fetch into an empty
    /// folder. Requests none of these files except lists of digests, and changes nothing.
    ///
    /// - Returns: the set with the selected files and the selected names that cannot be fetched. The names of the files
    ///   are their paths below the folder.
    /// - Throws: as ``sync(_:into:options:)``, except for the errors of the folder.
    public func preview(
        _ source: some SetSource,
        options: SetOptions = SetOptions()
    ) async throws(DownloadError) -> FileSet {
        try checkIsOpen()
        let listed = try await ListedSet(source, options, self)
        var set = listed.set
        set.files = listed.wanted
        set.refused = set.refused.map { RefusedName(VisibleText.line($0.name), $0.reason) }
        return set
    }

    /// Begins a sync as ``sync(_:into:options:)`` does. Returns the sync together with the source, the faults and the
    /// remarks of the list.
    package func beginSync(
        _ source: any SetSource,
        into folder: String,
        options: SetOptions
    ) async throws(DownloadError) -> BegunSync {
        let work = try await prepareSync(source, into: folder, options)
        return BegunSync(source: work.source, faults: work.faults, remarks: work.remarks, sync: SetSync(work, self))
    }
}

/// A sync that has begun, with the source, the faults and the remarks of its list.
package struct BegunSync: Sendable {
    /// As ``SetReport/source``.
    package let source: String
    /// Faults found before the first request: refused names, and files that cannot be read, replaced or removed.
    package let faults: [SetReport.Fault]
    package let remarks: [String]
    package let sync: SetSync
}
