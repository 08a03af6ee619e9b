internal import Hummingbird
internal import NIOCore

/// The writer of a body, passed to the one task that writes the body.
///
/// `@unchecked`: only that task writes. The closure of the body waits for the end of the task before it uses the writer
/// again.
final class SendableWriter: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ buffer: ByteBuffer) async throws { try await writer.write(buffer) }
}
