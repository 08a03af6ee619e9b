internal import Foundation
internal import HaulKit

/// A set with all data that the daemon needs to continue the set after a restart.
package struct KeptSet: Codable, Sendable {
    package var request: SetRequest
    package var verifies = false
    package var deletes = false
    /// Whether the user has cancelled the set; `nil` counts as `false`. The daemon cancels the downloads of a cancelled
    /// set, even after a restart.
    package var isCancelled: Bool?
    /// The owner of the key that added the set; `nil` without a key.
    package var owner: String?
    package var row: SetRow

    /// Returns the settings of the sync.
    ///
    /// - Parameter isResumed: whether an earlier process has begun the set. If so, downloads that the user paused stay
    ///   paused.
    func options(isResumed: Bool) -> SetOptions {
        var options = request.options
        (options.verifies, options.deletes, options.group) = (verifies, deletes, row.group)
        let owner = owner
        options.prepare = { request in
            request.owner = owner
            if isResumed { request.onDuplicate = .joinUnlessPaused }
        }
        return options
    }

    /// Whether a request asks for this set with the same options.
    func asks(for other: SetRequest, _ wish: SetKeeper.Wish) -> Bool {
        other == request && wish.verifies == verifies && wish.deletes == deletes
            && (wish.group == nil || wish.group == row.group)
    }

    /// The downloads of the set, including ended ones: downloads in its group with a key that names its folder.
    var downloads: DownloadFilter {
        var filter = DownloadFilter.group(row.group)
        let folder = row.folder + "/"
        filter.predicate = { $0.key?.hasPrefix("sync ") == true && $0.key?.contains(" \(folder)") == true }
        return filter
    }
}

/// The file `sets.json` of the state folder. Mode 0600, because header fields and URLs may have secrets.
struct SetsFile {
    private struct Contents: Codable { var sets: [KeptSet] }

    let path: String
    private static let mostBytes = 64 << 20

    init(stateFolder: String) { path = stateFolder + "/sets.json" }

    /// - Throws: ``SecretFile/Failure`` or `DecodingError` if the file cannot be used. A missing file counts as empty.
    func read() throws -> [KeptSet] {
        let bytes: [UInt8]
        do { bytes = try SecretFile.read(path, limit: Self.mostBytes).bytes } catch let failure as SecretFile.Failure {
            guard failure.isMissing else { throw failure }
            return []
        }
        return try JSONDecoder().decode(Contents.self, from: Data(bytes)).sets
    }

    /// Replaces the file. After a crash, the file has the old or the new sets.
    func write(_ sets: [KeptSet]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.userInfo[.keepsSecrets] = true
        try SecretFile.replace(path, Array(try encoder.encode(Contents(sets: sets))))
    }
}
