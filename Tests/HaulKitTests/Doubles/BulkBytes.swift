import Foundation
import NIOCore

/// What simulations do with many bytes at a time, by the C library: code that is built without optimisation, as tests are,
/// would take a hundred times as long over each byte.
extension [UInt8] {
    init(_ buffer: ByteBuffer) {
        self = buffer.withUnsafeReadableBytes { bytes in
            [UInt8](unsafeUninitializedCapacity: bytes.count) { copy, count in
                count = bytes.count
                if let source = bytes.baseAddress, let target = copy.baseAddress { memcpy(target, source, count) }
            }
        }
    }

    /// Whether the same bytes are there; false beyond the end of either.
    func agrees(with other: [UInt8], in range: Range<Int>) -> Bool {
        guard range.lowerBound >= 0, range.upperBound <= Swift.min(count, other.count) else { return false }
        guard !range.isEmpty else { return true }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { others in
                guard let one = mine.baseAddress, let two = others.baseAddress else { return false }
                return memcmp(one + range.lowerBound, two + range.lowerBound, range.count) == 0
            }
        }
    }

    func isSame(as other: [UInt8]) -> Bool { count == other.count && agrees(with: other, in: 0..<count) }

    /// Puts bytes there, after zeros where it is shorter than that.
    mutating func overwrite(with bytes: [UInt8], at offset: Int) {
        guard !bytes.isEmpty else { return }
        if offset == count { return append(contentsOf: bytes) }
        let end = offset + bytes.count
        if end > count { self = resized(to: end) }
        withUnsafeMutableBytes { mine in
            bytes.withUnsafeBytes { bytes in
                guard let target = mine.baseAddress, let source = bytes.baseAddress else { return }
                memcpy(target + offset, source, bytes.count)
            }
        }
    }

    /// With zeros at the end, or without what is there.
    func resized(to size: Int) -> [UInt8] {
        withUnsafeBytes { bytes in
            [UInt8](unsafeUninitializedCapacity: size) { copy, filled in
                let kept = Swift.min(size, bytes.count)
                if let source = bytes.baseAddress, let target = copy.baseAddress { memcpy(target, source, kept) }
                if let target = copy.baseAddress { memset(target + kept, 0, size - kept) }
                filled = size
            }
        }
    }

    /// Other bytes everywhere in the range, by the same mask.
    mutating func disguise(_ range: Range<Int>, by mask: UInt8) {
        withUnsafeMutableBytes { bytes in
            let words = UInt64(mask) &* 0x0101_0101_0101_0101
            var index = range.lowerBound
            while index + 8 <= range.upperBound {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                bytes.storeBytes(of: word ^ words, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < range.upperBound {
                bytes[index] ^= mask
                index += 1
            }
        }
    }
}
