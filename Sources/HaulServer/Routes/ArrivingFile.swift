internal import HaulKit
internal import NIOCore

/// The file of an unfinished download. Sends bytes that have been received, and waits for missing ones.
///
/// If the download stops, fails or starts over with another version, the answer ends early, which the client notices by
/// `Content-Length`.
struct ArrivingFile: SentFile {
    private let reader: DownloadReader
    /// Maximum size of one read: large enough for few calls, and small enough that a player gets its first bytes at
    /// once.
    private static let chunk = 256 << 10

    init(_ reader: DownloadReader) { self.reader = reader }

    var length: Int64 { reader.length }
    var entityTag: String { reader.entityTag }

    func send(_ range: Range<Int64>, to writer: SendableWriter) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(Int64(Self.chunk), range.upperBound - offset))
            let bytes = try await reader.read(at: offset, upTo: count)
            guard !bytes.isEmpty else { throw ServerError("The file ended early.") }
            offset += Int64(bytes.count)
            try await writer.write(ByteBuffer(bytes: bytes))
        }
    }
}
