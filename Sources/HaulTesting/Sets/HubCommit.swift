internal import Foundation
internal import HaulKit

/// The files of a repository at one moment. A commit never changes.
struct HubCommit: Sendable {
    /// 40 lower-case hexadecimal digits.
    let id: String
    /// Files and the folders that they are in, ordered by the bytes of their paths.
    let entries: [HubEntry]
    /// The files by the bytes of their paths: two spellings of one character are two files.
    let files: [[UInt8]: HubFile]

    /// - Parameter name: distinguishes the commit from others of the same files.
    init(_ files: [HubFile], name: String) {
        let described = files.map { "\($0.path)\0\($0.oid)\n" }.joined()
        id = TestContent((name + "\n" + described).utf8).digest(.sha1).hexadecimal
        self.files = Dictionary(files.map { (Array($0.path.utf8), $0) }) { _, last in last }
        let folders = Set(files.flatMap { HubEntry.folders(above: Array($0.path.utf8)) })
        let all = folders.map(HubEntry.init(folder:)) + files.map(HubEntry.init)
        entries = all.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    func file(_ path: String) -> HubFile? { files[Array(path.utf8)] }
}

/// A file or folder as an element of the tree's JSON.
struct HubEntry: Sendable, Encodable {
    struct Large: Sendable, Encodable {
        let oid: String
        let size: Int64
        let pointerSize: Int
    }

    struct Commit: Sendable, Encodable {
        let id: String
        let title = "Add files"
        let date = HubEntry.date
    }

    /// The time of every commit, in the hub's form.
    static let date = "2024-01-01T00:00:00.000Z"

    let type: String
    let oid: String
    let size: Int64
    let path: String
    let lfs: Large?
    /// The last commit of the entry; `nil` unless the request has `expand=true`.
    var lastCommit: Commit?

    init(_ file: HubFile) {
        type = "file"
        oid = file.oid
        size = file.content.count
        path = file.path
        lfs = file.sha256.map { Large(oid: $0, size: file.content.count, pointerSize: file.pointerLength ?? 0) }
    }

    /// Makes a folder. Its `oid` is not that of git's tree; no client compares it.
    init(folder: [UInt8]) {
        type = "directory"
        oid = TestContent(folder).digest(.sha1).hexadecimal
        size = 0
        path = String(decoding: folder, as: UTF8.self)
        lfs = nil
    }

    /// Returns the paths of the folders that a path is in.
    static func folders(above path: [UInt8]) -> [[UInt8]] {
        path.indices.filter { path[$0] == UInt8(ascii: "/") && $0 > 0 }.map { Array(path[..<$0]) }
    }
}

/// The JSON document of the hub about a revision.
struct HubInfo: Encodable {
    struct Sibling: Encodable { let rfilename: String }

    /// The JSON value of `gated`: `false` or `"auto"`.
    enum Gate: Encodable {
        case none, automatic

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .none: try container.encode(false)
            case .automatic: try container.encode("auto")
            }
        }
    }

    let id: String
    let sha: String
    let isPrivate: Bool
    let gated: Gate
    let siblings: [Sibling]
    let lastModified: String

    private enum CodingKeys: String, CodingKey {
        case id, sha, gated, siblings, lastModified
        case isPrivate = "private"
    }

    init(repository: String, commit: HubCommit, access: HubServer.Access) {
        id = repository.split(separator: "/").suffix(2).joined(separator: "/")
        sha = commit.id
        isPrivate = access == .private
        gated = access == .gated ? .automatic : .none
        siblings = commit.entries.filter { $0.type == "file" }.map { Sibling(rfilename: $0.path) }
        lastModified = HubEntry.date
    }
}
