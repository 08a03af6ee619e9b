internal import Foundation

/// The result of a sync or of a comparison, for people, scripts and as a receipt.
public struct SetReport: Sendable, Hashable, Codable {
    /// A file of the set that is in the folder and right.
    public struct File: Sendable, Hashable, Codable {
        /// The name below the folder.
        public let name: String
        /// Length in bytes.
        public let size: Int64
        /// The digest that the file has, as `ALGORITHM:HEX`; `nil` if its publisher names none. An MD5 proves nothing.
        public let checksum: String?

        /// The algorithm of ``checksum``; `none` without one.
        var algorithm: String { checksum.map { String($0.prefix { $0 != ":" }) } ?? SetReport.noAlgorithm }
        /// Whether ``checksum`` proves the file.
        package var isProved: Bool { SetReport.proves(algorithm) }
    }

    /// A file of the set that is missing, wrong or refused, with the reason. Also a list that is damaged or may lack
    /// its end, and an old file that could not be removed.
    public struct Fault: Sendable, Hashable, Codable {
        /// The name as the publisher writes it, without invisible characters.
        public let name: String
        /// The error of the download or of the disk, or the reason why the name or the list is refused.
        public let error: DownloadError
    }

    /// The source: `hf://ORG/NAME@COMMIT`, the masked URL of the list, or the path of a list on this machine.
    public let source: String
    /// The commit or tag of the set; `nil` if the source has none.
    public let revision: String?
    /// The signer of the list; `nil` if no signature was checked.
    public let signedBy: String?
    /// The files that are in the folder and right, by name.
    public internal(set) var files: [File] = []
    /// The missing, wrong and refused files, and the other faults that ``Fault`` names.
    public internal(set) var faults: [Fault] = []
    /// Number of files that this sync fetched.
    public internal(set) var fetched = 0
    /// Number of files that were there and right.
    public internal(set) var unchanged = 0
    /// Names of the files that were removed because the set no longer has them.
    public internal(set) var removed: [String] = []
    /// Names of the files that the set no longer has, kept because they were changed since a sync brought them.
    public internal(set) var kept: [String] = []
    /// Remarks of the source about its list, for people.
    public internal(set) var remarks: [String] = []

    /// Whether the folder holds the whole set: there are no ``faults``.
    public var isWhole: Bool { faults.isEmpty }
    /// Sum of the lengths of ``files``, in bytes.
    package var bytes: Int64 { files.reduce(0) { $0.addingReportingOverflow(max(0, $1.size)).partialValue } }
    /// Number of files by the algorithm of their digests, such as `sha256`; `none` for files without a digest. The
    /// files under `none` and `md5` are not proved.
    public var proofs: [String: Int] {
        files.reduce(into: [:]) { $0[$1.algorithm, default: 0] += 1 }
    }

    /// The key of ``proofs`` for files without a digest.
    package static let noAlgorithm = "none"

    /// Whether a digest of the algorithm proves a file.
    ///
    /// - Parameter algorithm: a key of ``proofs``.
    package static func proves(_ algorithm: String) -> Bool {
        DownloadRequest.Checksum.Algorithm(rawValue: algorithm)?.provesFiles ?? false
    }

    init(_ set: FileSet) {
        (source, revision, signedBy) = (set.origin, set.revision, set.signedBy)
        remarks = set.remarks
    }
}
