import HaulTesting
import NIOCore
import Synchronization

@testable import HaulCore
@testable import HaulKit

extension Downloader.Configuration {
    /// Opens `connections` connections per file from the beginning, even for a small file.
    mutating func share(_ connections: Int = 4) {
        self.connections.maxPerDownload = connections
        self.connections.initial = connections
        self.connections.smallestPiece = 16 << 10
    }
}

extension FileResource {
    /// Returns this resource at a speed that leaves several connections time to work at once.
    func paced(_ bytesPerSecond: Int = 250_000) -> FileResource {
        var resource = self
        resource.bytesPerSecond = bytesPerSecond
        return resource
    }
}

extension TestRequest {
    /// Whether the request has a range with an end, as only additional connections have.
    var isBounded: Bool { range?.last != nil }
}

extension TestContent {
    /// Returns the digests of the content's pieces.
    func pieces(_ length: Int64 = 64 << 10, _ algorithm: DownloadRequest.Checksum.Algorithm = .sha256) -> PieceHashes? {
        let digests = stride(from: 0, to: count, by: Int64.Stride(length)).map { start in
            var hasher = DigestHasher(algorithm, size: min(length, count - start))
            bytes(start..<min(start + length, count)).withUnsafeBytes { hasher.update($0) }
            return hasher.finish()
        }
        return PieceHashes(algorithm, pieceLength: length, digests: digests)
    }

    /// The digest of the whole content.
    var digest: DownloadRequest.Checksum? {
        var hasher = DigestHasher(.sha256, size: count)
        bytes(0..<count).withUnsafeBytes { hasher.update($0) }
        return DownloadRequest.Checksum(.sha256, digest: hasher.finish())
    }
}

extension TestReply {
    /// Returns the reply with wrong bytes in the ranges `wrong`.
    func corrupted(in wrong: [Range<Int64>]) -> TestReply {
        var reply = self
        reply.steps = steps.flatMap { step -> [TestStep] in
            switch step {
            case .body(let range, let content):
                Self.parts(of: range, wrong).map { .body($0.range, of: $0.isWrong ? content.corrupt : content) }
            case .slow(let range, let content, let pace):
                Self.parts(of: range, wrong).map {
                    .slow($0.range, of: $0.isWrong ? content.corrupt : content, bytesPerSecond: pace)
                }
            default: [step]
            }
        }
        return reply
    }

    private static func parts(of range: Range<Int64>, _ wrong: [Range<Int64>]) -> [(range: Range<Int64>, isWrong: Bool)]
    {
        let corrupt = ByteSet(range).intersection(ByteSet(wrong))
        let right = ByteSet(range).subtracting(corrupt)
        let parts = corrupt.ranges.map { (range: $0, isWrong: true) } + right.ranges.map { (range: $0, isWrong: false) }
        return parts.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }
}

extension TestContent {
    fileprivate var corrupt: TestContent { TestContent(seed: seed &+ 1_000_003, count: count) }
}

extension TestReply {
    /// Returns the reply after a delay in which the earlier connections can bring bytes.
    func late(_ wait: Duration = .milliseconds(300)) -> TestReply {
        var reply = self
        reply.steps.insert(.wait(wait), at: 0)
        return reply
    }

    /// Returns the reply with a body that pauses after `count` bytes until the condition holds. Whatever the condition
    /// waits for then happens in the middle of the body, however busy the machine is.
    func held(after count: Int64 = 1000, until condition: @escaping @Sendable () -> Bool) -> TestReply {
        var reply = self
        reply.steps = steps.flatMap { step -> [TestStep] in
            switch step {
            case .body(let range, let content):
                let place = min(range.lowerBound + count, range.upperBound)
                return [
                    .body(range.lowerBound..<place, of: content), .waitUntil(condition),
                    .body(place..<range.upperBound, of: content),
                ]
            case .slow(let range, let content, let pace):
                let place = min(range.lowerBound + count, range.upperBound)
                return [
                    .slow(range.lowerBound..<place, of: content, bytesPerSecond: pace), .waitUntil(condition),
                    .slow(place..<range.upperBound, of: content, bytesPerSecond: pace),
                ]
            default: return [step]
            }
        }
        return reply
    }
}

/// Holds bodies back until enough requests have come. A busy machine may take longer to open the connections of a
/// download than a paced server takes to send the file.
final class Gathering: Sendable {
    private let count: Int
    private let names = Mutex<Set<String>>([])

    /// - Parameter count: number of requests with different names that release the bodies.
    init(of count: Int) { self.count = count }

    private var isComplete: Bool { names.withLock { $0.count >= count } }

    /// Counts the request of a reply, and returns the reply with a body that is held.
    func hold(_ reply: TestReply, named name: String) -> TestReply {
        names.withLock { _ = $0.insert(name) }
        return reply.held { [self] in isComplete }
    }

    /// Counts each request to a server.
    func hold(_ reply: TestReply, to request: TestRequest) -> TestReply {
        hold(reply, named: "\(request.requestNumber)")
    }
}
