import Foundation
import NIOCore

/// Bulk operations of the simulations on bytes, with the functions of the C library. Tests are built without
/// optimisation, and a loop over the bytes would take a hundred times as long there.
extension [UInt8] {
    init(_ buffer: ByteBuffer) {
        self = buffer.withUnsafeReadableBytes { bytes in
            [UInt8](unsafeUninitializedCapacity: bytes.count) { copy, count in
                count = bytes.count
                if let source = bytes.baseAddress, let target = copy.baseAddress { memcpy(target, source, count) }
            }
        }
    }

    /// Returns whether both have equal bytes in `range`; `false` if `range` ends beyond either.
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

    /// Writes `bytes` at `offset`. Fills a gap before `offset` with zeros.
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

    /// Returns the bytes cut to `size`, or extended to `size` with zeros.
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

    /// Combines each byte in `range` with `mask` by exclusive or.
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
