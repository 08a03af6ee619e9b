internal import Foundation
package import HaulKit
internal import HaulServer

/// aria2's states of a download.
package enum Aria2State: String, Sendable {
    case active, waiting, paused, error, complete, removed

    package init(_ snapshot: DownloadSnapshot) {
        self =
            switch snapshot.state {
            case .queued: .waiting
            case .connecting, .transferring, .waiting, .verifying: .active
            // A hold ends by itself, so the download counts as waiting.
            case .paused: snapshot.holdReason == nil ? .paused : .waiting
            case .completed: .complete
            case .failed: .error
            case .cancelled: .removed
            }
    }

    static let activeStates = DownloadSnapshot.State.active
    static let waitingStates: Set<DownloadSnapshot.State> = [.queued, .paused]
    static let stoppedStates: Set<DownloadSnapshot.State> = [.completed, .failed]
}

/// A download in the form of `aria2.tellStatus`.
struct Aria2Status {
    let snapshot: DownloadSnapshot
    let gid: GID
    let record: Aria2Record
    /// Whether a client removed the download while it was active.
    var isRemoved = false
    /// The received ranges, if the snapshot has none although bytes were received.
    var ranges: [Range<Int64>] = []
    /// The folder that applies if the download names none.
    let folder: String

    var state: Aria2State { isRemoved ? .removed : Aria2State(snapshot) }

    /// Returns the members of the answer.
    ///
    /// - Parameter keys: the members to return; empty for all.
    func members(_ keys: Set<String>) -> Aria2Value {
        var members: [String: Aria2Value] = [:]
        func add(_ key: String, _ value: @autoclosure () -> Aria2Value?) {
            if keys.isEmpty || keys.contains(key), let value = value() { members[key] = value }
        }
        func add(_ key: String, number: @autoclosure () -> Int64) { add(key, .text(String(number()))) }
        let state = state
        add("gid", .text(gid.description))
        add("status", .text(state.rawValue))
        add("totalLength", number: snapshot.totalBytes ?? 0)
        add("completedLength", number: snapshot.receivedBytes)
        add("uploadLength", "0")
        add("uploadSpeed", "0")
        add("downloadSpeed", number: isRemoved ? 0 : DownloadRow.count(snapshot.bytesPerSecond))
        add("connections", number: isRemoved ? 0 : Int64(snapshot.connections.count))
        add("pieceLength", number: pieces.length)
        add("numPieces", number: pieces.count)
        add("bitfield", bitfield)
        add("dir", .text(directory))
        add("files", [file])
        if let error { add("errorCode", .text(String(error.code.rawValue))) }
        if let error { add("errorMessage", .text(error.message)) }
        if snapshot.state == .verifying, !isRemoved {
            // Adds this member whatever the keys are, as aria2 does.
            members["verifiedLength"] = "0"
        }
        return .structure(members)
    }

    /// Whether ``ranges`` are needed for a correct answer.
    static func needsRanges(_ snapshot: DownloadSnapshot, _ keys: Set<String>) -> Bool {
        guard snapshot.receivedRanges.isEmpty, let total = snapshot.totalBytes, snapshot.receivedBytes > 0,
            snapshot.receivedBytes < total
        else { return false }
        return keys.isEmpty || keys.contains("bitfield") || keys.contains("files")
    }

    var pieces: Aria2Pieces {
        Aria2Pieces(total: snapshot.totalBytes ?? 0, length: record.option("piece-length").flatMap { Int64($0) })
    }

    private var present: [Range<Int64>] {
        if let total = snapshot.totalBytes, snapshot.receivedBytes >= total { return [0..<max(0, total)] }
        return snapshot.receivedRanges.isEmpty ? ranges : snapshot.receivedRanges
    }

    private var bitfield: Aria2Value? {
        let pieces = pieces
        guard pieces.count > 0, snapshot.receivedBytes > 0 || state != .waiting else { return nil }
        return .text(pieces.bitfield(of: present))
    }

    private var error: (code: Aria2ErrorCode, message: String)? {
        switch state {
        case .complete: (.complete, "")
        case .removed: (.reserved, "")
        case .error:
            snapshot.error.map { (Aria2ErrorCode($0), $0.message) } ?? (.unknown, "")
        case .active, .waiting, .paused: nil
        }
    }

    var directory: String {
        if let folder = record.option("dir") { return folder }
        guard let path = snapshot.path, let slash = path.lastIndex(of: "/") else { return folder }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    var path: String {
        if let path = snapshot.path { return path }
        let folder = directory.hasSuffix("/") ? directory : directory + "/"
        if let out = record.option("out"), !out.isEmpty { return folder + out }
        // Returns the file name if the download failed although the server had the file, because clients need the name.
        guard snapshot.state == .failed, snapshot.totalBytes != nil || snapshot.receivedBytes > 0 || isNamed else {
            return ""
        }
        return folder + snapshot.name
    }

    private var isNamed: Bool {
        switch snapshot.error?.code {
        case .fileExists, .checksumMismatch, .inUse, .alreadyAdded: true
        default: false
        }
    }

    var uris: [String] { record.shownURIs(of: snapshot) }

    /// The URIs with their states. The first URI is marked as used once the download has begun.
    var shownURIs: Aria2Value {
        .list(
            uris.enumerated().map { index, uri in
                let isUsed = index == 0 && (snapshot.startedAt != nil || snapshot.receivedBytes > 0)
                return ["uri": .text(uri), "status": isUsed ? "used" : "waiting"]
            }
        )
    }

    var file: Aria2Value {
        [
            "index": "1", "path": .text(path), "length": .text(String(snapshot.totalBytes ?? 0)),
            "completedLength": .text(String(pieces.completedBytes(of: present))), "selected": "true",
            "uris": shownURIs,
        ]
    }
}

/// The pieces into which aria2 divides a file. Haul splits files at any byte; only clients of aria2 need pieces.
struct Aria2Pieces {
    let total: Int64
    let length: Int64
    let count: Int64

    /// Maximum number of pieces. More would make a bitfield of megabytes, because a server may announce any length.
    private static let most: Int64 = 65_536

    init(total: Int64, length: Int64?) {
        // Limits the length, so that the sum of two lengths does not overflow.
        self.total = max(0, min(total, Int64.max / 4))
        var length = max(1 << 20, min(length ?? 1 << 20, 1 << 30))
        while self.total / length >= Self.most { length *= 2 }
        self.length = length
        count = self.total == 0 ? 0 : (self.total - 1) / length + 1
    }

    /// Returns the pieces that are completely within `ranges`, which are in order and do not overlap.
    private func complete(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        ranges.compactMap { range in
            let first = (max(0, min(range.lowerBound, total)) + length - 1) / length
            let end = range.upperBound >= total ? count : range.upperBound / length
            return first < end ? first..<end : nil
        }
    }

    /// Returns the bitfield in hexadecimal; the first piece is the highest bit.
    func bitfield(of ranges: [Range<Int64>]) -> String {
        var bits = [UInt8](repeating: 0, count: Int((count + 7) / 8))
        for range in complete(ranges) {
            for piece in range where piece >= 0 && piece < count {
                bits[Int(piece / 8)] |= 0x80 >> UInt8(piece % 8)
            }
        }
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bits.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns the number of bytes in complete pieces, as aria2 reports for a file.
    func completedBytes(of ranges: [Range<Int64>]) -> Int64 {
        complete(ranges).reduce(0) { $0 + min($1.upperBound * length, total) - $1.lowerBound * length }
    }
}
