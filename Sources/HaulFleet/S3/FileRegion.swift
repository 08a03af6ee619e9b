internal import Foundation
internal import HaulKit
internal import NIOCore

/// A file region as a request body, read in blocks on threads that may block. Each iteration starts at the beginning,
/// so that a request can be repeated.
struct FileRegion: AsyncSequence, Sendable, Hashable {
    typealias Element = ByteBuffer

    /// Bytes per read. A request needs about twice as much memory.
    static let block = 512 << 10
    /// Bytes per write. Small slices let a slow connection count as alive: it must send one slice within the idle
    /// timeout.
    private static let slice = 64 << 10

    var path: String
    var range: Range<Int64>

    var count: Int64 { range.upperBound - range.lowerBound }

    func makeAsyncIterator() -> Iterator { Iterator(region: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let region: FileRegion
        private var file: OpenFile?
        private var offset: Int64
        private var buffer = ByteBuffer()

        fileprivate init(region: FileRegion) {
            self.region = region
            offset = region.range.lowerBound
        }

        mutating func next() async throws -> ByteBuffer? {
            if buffer.readableBytes == 0 {
                guard let block = try await block() else { return nil }
                buffer = block
            }
            return buffer.readSlice(length: Swift.min(FileRegion.slice, buffer.readableBytes))
        }

        private mutating func block() async throws -> ByteBuffer? {
            let range = offset..<Swift.min(offset + Int64(FileRegion.block), region.range.upperBound)
            guard !range.isEmpty else { return nil }
            let (opened, buffer) = try await BlockingExecutor.system.run {
                [file, path = region.path] () throws(FleetError) in
                do throws(SystemCalls.Errno) {
                    let opened = if let file { file } else { try OpenFile(path) }
                    return (opened, try opened.read(range))
                } catch { throw FileRegion.unreadable(path, error) }
            }
            file = opened
            guard buffer.readableBytes == range.count else { throw FileRegion.short(region.path) }
            offset = range.upperBound
            return buffer
        }
    }

    /// Computes the SHA-256 and, if asked, the MD5 of the region.
    func digests(withMD5: Bool) async throws(FleetError) -> PartDigest {
        let digest = try await BlockingExecutor.system.run { [self] () throws(FleetError) -> PartDigest? in
            do throws(SystemCalls.Errno) {
                let descriptor = try SystemCalls.openFile(path)
                defer { SystemCalls.close(descriptor) }
                var digest = PartDigest.Running(withMD5: withMD5)
                let count = try FileHash.read(descriptor, range) { digest.update($0) }
                return count == self.count ? digest.finish() : nil
            } catch { throw Self.unreadable(path, error) }
        }
        guard let digest else { throw Self.short(path) }
        return digest
    }

    /// Reads the whole region into memory.
    func bytes() async throws(FleetError) -> [UInt8] {
        let bytes = try await BlockingExecutor.system.run { [self] () throws(FleetError) in
            do throws(SystemCalls.Errno) {
                let descriptor = try SystemCalls.openFile(path)
                defer { SystemCalls.close(descriptor) }
                var bytes: [UInt8] = []
                bytes.reserveCapacity(range.count)
                _ = try FileHash.read(descriptor, range) { bytes += $0 }
                return bytes
            } catch { throw Self.unreadable(path, error) }
        }
        guard bytes.count == count else { throw Self.short(path) }
        return bytes
    }

    private static func unreadable(_ path: String, _ error: SystemCalls.Errno) -> FleetError {
        let failure = FleetError(
            .disk,
            "The staged file \(path) cannot be read: \(SystemCalls.describe(errno: error.code))."
        )
        return [EMFILE, ENFILE].contains(error.code) ? failure.blamingNoFile() : failure
    }

    private static func short(_ path: String) -> FleetError {
        FleetError(.disk, "The staged file \(path) is shorter than it was when it was complete.")
    }

    private final class OpenFile: Sendable {
        private let descriptor: Int32

        init(_ path: String) throws(SystemCalls.Errno) { descriptor = try SystemCalls.openFile(path) }

        deinit { SystemCalls.close(descriptor) }

        func read(_ range: Range<Int64>) throws(SystemCalls.Errno) -> ByteBuffer {
            var buffer = ByteBufferAllocator().buffer(capacity: range.count)
            var offset = range.lowerBound
            while offset < range.upperBound {
                let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Int(range.upperBound - offset))
                {
                    free throws(SystemCalls.Errno) in
                    try SystemCalls.read(
                        descriptor,
                        into: UnsafeMutableRawBufferPointer(rebasing: free[..<Int(range.upperBound - offset)]),
                        at: offset
                    )
                }
                guard count > 0 else { break }
                offset += Int64(count)
            }
            return buffer
        }
    }
}
