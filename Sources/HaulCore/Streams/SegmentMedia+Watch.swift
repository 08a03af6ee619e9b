extension SegmentMedia {
    /// Checks that the bytes of a segment are media while they arrive: its first bytes by
    /// ``SegmentMedia/judge(_:length:as:)``, then each packet of a transport stream and each box of a fragment up to
    /// the last one.
    package struct Watch: Sendable {
        private var front: [UInt8] = []
        private var kind: SegmentMedia?
        private var length: Int64 = 0
        /// Offset of the next packet or box.
        private var next: Int64 = 0
        /// The head of a box that has arrived in part.
        private var head: [UInt8] = []
        private var scan = ProgramScan()

        private let hasSection: Bool
        private let seconds: Double

        /// - Parameters:
        ///   - hasSection: whether the playlist names an initialization section for the segment.
        ///   - seconds: duration of the segment, from the playlist.
        package init(hasSection: Bool = true, seconds: Double = 0) {
            (self.hasSection, self.seconds) = (hasSection, seconds)
        }

        /// The program tables and the pictures so far; `nil` for other media than a transport stream, and before the
        /// container is known.
        package var programs: SegmentPrograms? {
            kind == .transportStream && front.first == 0x47 ? scan.programs : nil
        }

        /// Whether the bytes so far are only tables and stuffing of a transport stream, although the playlist gives the
        /// segment at least `leastHole` seconds. Some packagers end a film with the tables alone, which have no
        /// duration.
        package var isHole: Bool { programs != nil && scan.isEmpty && seconds >= Self.leastHole }

        private static let leastHole = 0.5
        private static let examined = 16 << 10
        private static let packet: Int64 = 188

        /// Takes the next bytes.
        ///
        /// - Returns: the reason why the bytes are no media, as a clause; `nil` if they may be.
        package mutating func take(_ bytes: some RandomAccessCollection<UInt8>) -> String? {
            let start = length
            length += Int64(bytes.count)
            if kind == nil {
                front += bytes.prefix(max(0, Self.examined - front.count))
                guard front.count >= Self.examined, let reason = judge(length: .max) else {
                    return follow(bytes, from: start)
                }
                return reason
            }
            return follow(bytes, from: start)
        }

        /// Takes the end of the segment.
        ///
        /// - Returns: as ``take(_:)``.
        package mutating func finish() -> String? {
            if kind == nil, let reason = judge(length: length) { return reason }
            switch kind {
            case .transportStream? where front.first == 0x47 && length % Self.packet != 0:
                return "its transport stream ends within a packet"
            case .fragmentedMP4? where next != length && next != .max: return "its last box is not whole"
            default: return nil
            }
        }

        private mutating func judge(length: Int64) -> String? {
            do throws(Refusal) {
                kind = try SegmentMedia.judge(front, length: length)
                if kind == .fragmentedMP4, !hasSection {
                    return "it is a fragment of MP4, and the playlist names no initialization section for it"
                }
                front = Array(front.prefix(1))
                return nil
            } catch { return error.description }
        }

        /// Follows packets and boxes from the first byte on, also before the kind is known.
        private mutating func follow(_ bytes: some RandomAccessCollection<UInt8>, from start: Int64) -> String? {
            switch (kind, front.first) {
            case (.transportStream?, 0x47), (nil, 0x47): return followPackets(bytes, from: start)
            case (.fragmentedMP4?, _): return followBoxes(bytes, from: start)
            // Follows boxes in case the segment is fragmented MP4. Drops the result until the kind is known, because
            // other media do not begin with a box.
            case (nil, _):
                _ = followBoxes(bytes, from: start)
                return nil
            default: return nil
            }
        }

        private mutating func followPackets(_ bytes: some RandomAccessCollection<UInt8>, from start: Int64) -> String? {
            // Uses a buffer pointer, because a subscript of a collection of another module costs more than the rest of
            // the work for a packet.
            if let answer = bytes.withContiguousStorageIfAvailable({ followPackets(in: $0, from: start) }) {
                return answer
            }
            return Array(bytes).withUnsafeBufferPointer { followPackets(in: $0, from: start) }
        }

        private mutating func followPackets(in bytes: UnsafeBufferPointer<UInt8>, from start: Int64) -> String? {
            scan.take(bytes)
            let end = start + Int64(bytes.count)
            while next < end {
                let place = next - start
                if place >= 0, bytes[Int(place)] != 0x47 {
                    return kind == nil ? nil : "its transport stream breaks off at byte \(next)"
                }
                next += Self.packet
            }
            return nil
        }

        private mutating func followBoxes(_ bytes: some RandomAccessCollection<UInt8>, from start: Int64) -> String? {
            let end = start + Int64(bytes.count)
            while next < end {
                let place = next + Int64(head.count) - start
                guard place >= 0 else { return nil }
                let rest = bytes.dropFirst(Int(place))
                let needed = head.count < 8 ? 8 - head.count : missing
                if needed > 0 {
                    guard !rest.isEmpty else { return nil }
                    head += rest.prefix(needed)
                    continue
                }
                let size = self.size
                if size == 0 {
                    // The box extends to the end of the segment.
                    next = .max
                    head = []
                    return nil
                }
                guard size >= Int64(head.count), size < .max - next else {
                    return "its box at byte \(next) has an impossible size"
                }
                next += size
                head = []
            }
            return nil
        }

        /// Number of bytes that `head` lacks once it has its first 8 bytes. The head of a box with a 64-bit size has 16
        /// bytes.
        private var missing: Int { number(0..<4) == 1 ? 16 - head.count : 0 }

        private var size: Int64 {
            let short = number(0..<4)
            return short == 1 ? Int64(clamping: number(8..<16)) : Int64(short)
        }

        private func number(_ range: Range<Int>) -> UInt64 { head[range].reduce(0) { $0 << 8 | UInt64($1) } }
    }
}
