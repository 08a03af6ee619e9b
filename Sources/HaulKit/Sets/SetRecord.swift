internal import Foundation

/// What a sync knows of a file that it brought or found right: one line of `.haul/set.jsonl`.
struct SetRecord: Codable, Sendable, Hashable {
    /// The name below the folder, with `/` between its parts.
    let name: String
    /// The digest that the file had; `nil` if its publisher names none.
    let checksum: String?
    /// The file as it was then.
    let file: FileStatus
    /// Whether a sync brought the file. Only such a file is removed when the set no longer has it.
    let isBrought: Bool
    /// The entity tag with which the file was fetched, for a file without a digest; `nil` if the server names none.
    var entityTag: String?

    /// Whether the file is the one of this record, and has the digest.
    func stands(for file: FileStatus, _ checksum: DownloadRequest.Checksum?) -> Bool {
        file.isUnchanged(since: self.file) && self.checksum == checksum?.description
    }
}

extension SetRecord {
    /// Whether a set can have the name. Who may write into the folder may write names into its records that lead
    /// elsewhere.
    var hasNameOfSet: Bool { PlacedSet.isPath(name) }

    /// Records a file that was there and right.
    ///
    /// - Parameter earlier: the record of the name before.
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

/// The records of a folder.
struct SetRecords: Sendable, Hashable {
    /// The source of the last sync that ended; empty if none has.
    var source = ""
    /// The records by name.
    var byName: [String: SetRecord] = [:]
}

/// The first line of `.haul/set.jsonl`.
struct SetRecordHead: Codable, Sendable {
    /// Version of the format.
    var haul = 1
    /// The source of the last sync, for people.
    let source: String
}
