internal import Foundation

/// Content that need not be held: byte i is a cheap function of the seed and i, so any range can be made at any time.
///
/// The function is defined past the end as well, which is how a server sends more than it announced.
public struct TestContent: Sendable, Equatable {
    /// What distinguishes this content from another of the same length.
    public let seed: UInt64
    /// The length in bytes.
    public let count: Int64

    /// Makes the content of `count` bytes that belongs to `seed`.
    public init(seed: UInt64, count: Int64) {
        self.seed = seed
        self.count = count
    }

    /// The bytes of a range, which may reach past the end of the content but not before its start.
    public func bytes(_ range: Range<Int64>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: range.count), from: range.lowerBound)
            initialized = range.count
        }
    }

    /// Whether the file at a path has this length and these bytes. Throws when the file can't be read.
    public func matches(fileAt path: String) throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var offset: Int64 = 0
        while let block = try file.read(upToCount: 1 << 20), !block.isEmpty {
            let end = offset + Int64(block.count)
            guard end <= count, block.elementsEqual(bytes(offset..<end), inBlockOf: block.count) else { return false }
            offset = end
        }
        return offset == count
    }

    /// Writes the bytes from `offset` on, as many as the buffer holds.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) {
        precondition(offset >= 0, "content starts at byte 0")
        guard let base = buffer.baseAddress else { return }
        // Words are made in aligned memory and copied from there, so that a range may start at any byte.
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.blockWords) { words in
            guard let source = words.baseAddress else { return }
            var done = 0
            while done < buffer.count {
                let position = UInt64(offset) + UInt64(done)
                let skipped = Int(position % 8)
                let length = min(Self.blockWords * 8 - skipped, buffer.count - done)
                makeWords(source, count: (skipped + length + 7) / 8, from: position / 8)
                memcpy(base + done, UnsafeRawPointer(source) + skipped, length)
                done += length
            }
        }
    }

    private static let blockWords = 8192

    /// Writes words of a splitmix64 sequence, in the machine's own byte order: content never leaves the machine.
    private func makeWords(_ words: UnsafeMutablePointer<UInt64>, count: Int, from first: UInt64) {
        // Neighbouring seeds must not give the same sequence a few words apart, hence the seed is spread out first.
        var state = (seed &+ 1) &* 0xD134_2543_DE82_EF95 &+ first &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        // A while loop over wrapping operators is what a debug build compiles to plain instructions.
        while index < count {
            state = state &+ 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word &>> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word &>> 27)) &* 0x94D0_49BB_1331_11EB
            words[index] = word ^ (word &>> 31)
            index = index &+ 1
        }
    }
}

extension Data {
    /// Compares by memory: comparing element by element takes seconds a megabyte in a debug build.
    fileprivate func elementsEqual(_ other: [UInt8], inBlockOf count: Int) -> Bool {
        withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                guard let left = mine.baseAddress, let right = theirs.baseAddress else { return count == 0 }
                return memcmp(left, right, count) == 0
            }
        }
    }
}
