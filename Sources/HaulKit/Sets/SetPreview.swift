internal import Foundation

/// The files that a sync would make a folder hold, before any of them is asked for.
public struct SetPreview: Sendable, Hashable {
    /// The source: `hf://ORG/NAME@COMMIT`, or the URL of the list, masked.
    public let source: String
    /// The commit or tag of the set; `nil` if the source has none.
    public let revision: String?
    /// The signer of the list; `nil` without a signature.
    public let signedBy: String?
    /// The selected files. Their names are their paths below the folder.
    public let files: [FileSet.File]
    /// The selected names that cannot be fetched, with the reason.
    public let refused: [SetReport.Fault]
    /// Remarks of the source about its list, for people.
    public let remarks: [String]

    /// Sum of the lengths that the publisher states, in bytes.
    public var bytes: Int64 { files.reduce(0) { $0.addingReportingOverflow(max(0, $1.size ?? 0)).partialValue } }
    /// As ``SetReport/proofs``.
    public var proofs: [String: Int] {
        files.reduce(into: [:]) { counts, file in
            counts[file.checksum.map(\.algorithmName) ?? SetReport.noAlgorithm, default: 0] += 1
        }
    }
}

extension DownloadRequest.Checksum {
    /// The algorithm as it stands before the digits.
    package var algorithmName: String { String(description.prefix { $0 != ":" }) }
}

extension Downloader {
    /// Lists what ``sync(_:into:options:)`` with the same source and options would bring into an empty folder. Asks for
    /// no file, and changes nothing.
    ///
    /// - Throws: as ``sync(_:into:options:)``, except for disk codes.
    public func preview(
        _ source: some SetSource,
        options: SetOptions = SetOptions()
    ) async throws(DownloadError) -> SetPreview {
        try checkIsOpen()
        let listed = try await ListedSet(source, options, self)
        let set = listed.set
        return SetPreview(
            source: set.origin,
            revision: set.revision,
            signedBy: set.signedBy,
            files: listed.wanted,
            refused: set.refused.map { refused in
                SetReport.Fault(
                    name: VisibleText.line(refused.name),
                    error: DownloadError(.invalidSet, refused.reason)
                )
            },
            remarks: set.remarks
        )
    }

    /// Begins a sync as ``sync(_:into:options:)`` does, and says what is known of the set already.
    package func beginSync(
        _ source: any SetSource,
        into folder: String,
        options: SetOptions
    ) async throws(DownloadError) -> BegunSync {
        let work = try await prepareSync(source, into: folder, options)
        return BegunSync(source: work.source, faults: work.faults, remarks: work.remarks, sync: SetSync(work, self))
    }
}

/// A sync that has begun, with what its list says.
package struct BegunSync: Sendable {
    /// As ``SetReport/source``.
    package let source: String
    /// Names that cannot be fetched at all.
    package let faults: [SetReport.Fault]
    package let remarks: [String]
    package let sync: SetSync
}
