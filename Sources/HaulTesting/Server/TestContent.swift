internal import Foundation

/// The bytes that a ``TestServer`` serves: given ones, or any number of generated ones that take no memory.
///
/// Bytes past the end are defined too, so that a server can send more than it announced. Generated content goes on;
/// given content is followed by zeros.
package struct TestContent: Sendable, Equatable {
    /// The seed of generated content: different seeds give different bytes. 0 for given content.
    package let seed: UInt64
    /// The length in bytes.
    package let count: Int64
    /// The given bytes; `nil` for generated content.
    private let given: [UInt8]?

    /// Makes generated content: byte i is a function of the seed and i.
    ///
    /// - Parameter count: length in bytes; a negative number counts as 0.
    package init(seed: UInt64 = 1, count: Int64) {
        self.seed = seed
        self.count = max(0, count)
        given = nil
    }

    /// Makes content of these bytes.
    package init(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        seed = 0
        count = Int64(bytes.count)
        given = bytes
    }

    /// Returns the bytes of a range, which may reach past the end of the content. Skips positions before the start.
    package func bytes(_ range: Range<Int64>) -> [UInt8] {
        let range = range.clamped(to: 0..<Int64.max)
        return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: range.count), from: range.lowerBound)
            initialized = range.count
        }
    }

    /// Whether the file at a path has this length and these bytes.
    ///
    /// - Throws: the error of the file system when the file cannot be read.
    package func matches(fileAt path: String) throws -> Bool {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }  // Ignores the error, because nothing was written.
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
        guard let base = buffer.baseAddress else { return }
        let offset = max(0, offset)
        if let given {
            let first = Int(min(offset, count))
            let length = min(given.count - first, buffer.count)
            given.withUnsafeBytes { bytes in
                if let source = bytes.baseAddress, length > 0 { memcpy(base, source + first, length) }
            }
            memset(base + length, 0, buffer.count - length)
            return
        }
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

    /// Writes words of a splitmix64 sequence, in the byte order of the machine, because content never leaves the
    /// machine.
    private func makeWords(_ words: UnsafeMutablePointer<UInt64>, count: Int, from first: UInt64) {
        // Spreads the seed first, because neighbouring seeds must not give the same sequence a few words apart.
        var state = (seed &+ 1) &* 0xD134_2543_DE82_EF95 &+ first &* 0x9E37_79B9_7F4A_7C15
        var index = 0
        // Uses a while loop and wrapping operators, because a debug build compiles them to plain instructions.
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
    /// Compares with `memcmp`, because in a debug build comparing element by element takes seconds per megabyte.
    fileprivate func elementsEqual(_ other: [UInt8], inBlockOf count: Int) -> Bool {
        withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                guard let left = mine.baseAddress, let right = theirs.baseAddress else { return count == 0 }
                return memcmp(left, right, count) == 0
            }
        }
    }
}
