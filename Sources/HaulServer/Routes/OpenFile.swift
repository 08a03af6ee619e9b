internal import CDispatch
internal import Foundation
internal import NIOCore
internal import NIOPosix

/// A file that is sent in answers.
protocol SentFile: Sendable {
    /// Length in bytes.
    var length: Int64 { get }
    var entityTag: String { get }
    /// Sends a range of the file, and waits while the client does not read.
    func send(_ range: Range<Int64>, to writer: SendableWriter) async throws
}

/// An open file that is being sent. Reads on threads that may block. Closes the file when its response is released,
/// even if the client leaves before the body begins.
final class OpenFile: SentFile {
    let length: Int64
    /// A tag of inode, size and modification time, which differs after each change of the file.
    let entityTag: String
    private let descriptor: Int32
    private static let chunk = 256 << 10

    init(_ path: String) async throws {
        (descriptor, length, entityTag) = try await NIOThreadPool.singleton.runIfActive {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { throw ServerError(String(cString: strerror(errno))) }
            var info = stat()
            guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
                Glibc.close(descriptor)
                throw ServerError("It is no regular file.")
            }
            let tag = "\"\(info.st_ino)-\(info.st_size)-\(info.st_mtim.tv_sec)-\(info.st_mtim.tv_nsec)\""
            return (descriptor, Int64(info.st_size), tag)
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    func send(_ range: Range<Int64>, to writer: SendableWriter) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let (start, count) = (offset, Int(min(Int64(Self.chunk), range.upperBound - offset)))
            let buffer = try await NIOThreadPool.singleton.runIfActive {
                var buffer = ByteBufferAllocator().buffer(capacity: count)
                let read = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
                    max(0, pread(self.descriptor, memory.baseAddress, count, Int(start)))
                }
                // The file became shorter. The answer ends early, which the client notices by `Content-Length`.
                guard read > 0 else { throw ServerError("The file ended early.") }
                return buffer
            }
            offset += Int64(buffer.readableBytes)
            try await writer.write(buffer)
        }
    }
}
