@testable import HaulCore
@testable import HaulKit

/// Control files of other programs for their unfinished files.
extension FuzzTarget {
    static let unfinished: [FuzzTarget] = [
        FuzzTarget(
            "control files of aria2",
            [
                ControlFileBytes(pieceLength: 0x2020, total: 0x9090, pieces: [0, 2]),
                ControlFileBytes(version: 0, pieceLength: 0x5050, total: 0x7070, underWay: [(1, [0])]),
                ControlFileBytes(total: 0x20_0000, pieces: [0], underWay: [(1, [3, 4])]),
            ].map { String(decoding: $0.bytes, as: UTF8.self) }
        ) { bytes in
            guard let file = try? Aria2ControlFile(bytes) else { return nil }
            if file.total < 0 { return "a length of \(file.total)" }
            guard let first = file.claimed.ranges.first, let last = file.claimed.ranges.last else { return nil }
            if first.lowerBound < 0 || last.upperBound > file.total { return "claims beyond the file" }
            return nil
        }
    ]
}
