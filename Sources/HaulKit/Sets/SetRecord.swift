internal import Foundation

/// Record of a file that a sync brought or found right: one line of `.haul/set.jsonl`.
struct SetRecord: Codable, Sendable, Hashable {
    /// The name below the folder, with `/` between its parts.
    let name: String
    /// The digest that the file had; `nil` if its publisher names none.
    let checksum: String?
    /// Status of the file when the record was made.
    let file: FileStatus
    /// Whether a sync brought the file. Only such a file is removed when the set no longer has it.
    let isBrought: Bool
    /// The entity tag with which the file was fetched, for a file without a digest; `nil` if the server names none.
    var entityTag: String?

    /// Whether `file` is unchanged since the record was made, and the record has the digest.
    func stands(for file: FileStatus, _ checksum: DownloadRequest.Checksum?) -> Bool {
        file.isUnchanged(since: self.file) && self.checksum == checksum?.description
    }
}

extension SetRecord {
    /// Whether the name is a path that a set can have. Anyone who may write into the folder can forge a record whose
    /// name leads out of it.
    var hasNameOfSet: Bool { PlacedSet.isPath(name) }

    /// Records a file that was there and right.
    ///
    /// - Parameter earlier: the earlier record of the name; `nil` for none.
    init(_ file: FileSet.File, _ status: FileStatus, after earlier: SetRecord?) {
        self.init(
            name: file.name,
            checksum: file.checksum?.description,
            file: status,
            isBrought: earlier?.isBrought == true && earlier?.file.isSameFile(as: status) == true,
            entityTag: earlier?.file.isUnchanged(since: status) == true ? earlier?.entityTag : nil
        )
    }
}

/// The content of `.haul/set.jsonl`.
struct SetRecords: Sendable, Hashable {
    /// The source of the last sync that ended; empty if none has.
    var source = ""
    var byName: [String: SetRecord] = [:]
}

/// The first line of `.haul/set.jsonl`.
struct SetRecordHead: Codable, Sendable {
    /// Version of the format.
    var haul = 1
    /// The source of the last sync, for people.
    let source: String
}
