internal import Foundation
package import HaulKit

/// aria2's words for the states of a download.
package enum Aria2State: String, Sendable {
    case active, waiting, paused, error, complete, removed

    package init(_ snapshot: DownloadSnapshot) {
        self =
            switch snapshot.state {
            case .queued: .waiting
            case .connecting, .transferring, .waiting, .verifying: .active
            // A hold ends by itself.
            case .paused: snapshot.holdReason == nil ? .paused : .waiting
            case .completed: .complete
            case .failed: .error
            case .cancelled: .removed
            }
    }

    static let activeStates: Set<DownloadSnapshot.State> = [.connecting, .transferring, .waiting, .verifying]
    static let waitingStates: Set<DownloadSnapshot.State> = [.queued, .paused]
    static let stoppedStates: Set<DownloadSnapshot.State> = [.completed, .failed]
}

/// A download as `aria2.tellStatus` shows it.
struct Aria2Status {
    let snapshot: DownloadSnapshot
    let gid: GID
    let record: Aria2Record
    /// Removed by a client while it was active.
    var isRemoved = false
    /// Received ranges, where the snapshot has none although bytes were received.
    var ranges: [Range<Int64>] = []
    /// Where the download names no folder.
    let folder: String

    var state: Aria2State { isRemoved ? .removed : Aria2State(snapshot) }

    /// - Parameter keys: the members to return; all without any.
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
            // aria2 adds these whatever the keys are.
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

    private var error: (code: Aria2ExitStatus, message: String)? {
        switch state {
        case .complete: (.complete, "")
        case .removed: (.reserved, "")
        case .error:
            snapshot.error.map { (Aria2ExitStatus($0), $0.message) } ?? (.unknown, "")
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
        // It failed although the server had the file: under which name, aria2's clients want to know.
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

    var uris: [String] { record.uris.isEmpty ? [snapshot.url.absoluteString] : record.uris }

    /// The URIs, with the one that is asked first marked as used once the download has begun.
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

/// The pieces that aria2 counts a file in. Haul splits files at any byte; these are for its clients.
struct Aria2Pieces {
    let total: Int64
    let length: Int64
    let count: Int64

    /// More would make a bitfield of megabytes: a server may announce any length.
    private static let most: Int64 = 65_536

    init(total: Int64, length: Int64?) {
        // Sums of two lengths must not overflow.
        self.total = max(0, min(total, Int64.max / 4))
        var length = max(1 << 20, min(length ?? 1 << 20, 1 << 30))
        while self.total / length >= Self.most { length *= 2 }
        self.length = length
        count = self.total == 0 ? 0 : (self.total - 1) / length + 1
    }

    /// The pieces that are complete within ranges, in order and without overlap.
    private func complete(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        ranges.compactMap { range in
            let first = (max(0, min(range.lowerBound, total)) + length - 1) / length
            let end = range.upperBound >= total ? count : range.upperBound / length
            return first < end ? first..<end : nil
        }
    }

    /// Hexadecimal, the first piece in the highest bit.
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

    /// Bytes of complete pieces, as aria2 counts those of a file.
    func completedBytes(of ranges: [Range<Int64>]) -> Int64 {
        complete(ranges).reduce(0) { $0 + min($1.upperBound * length, total) - $1.lowerBound * length }
    }
}
