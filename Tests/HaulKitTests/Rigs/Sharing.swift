import HaulTesting
import NIOCore

@testable import HaulCore
@testable import HaulKit

extension Downloader.Configuration {
    /// So many connections a file from the beginning, however small it is.
    mutating func share(_ connections: Int = 4) {
        self.connections.maxPerDownload = connections
        self.connections.initial = connections
        self.connections.smallestPiece = 16 << 10
    }
}

extension FileResource {
    /// The same at a pace that gives several connections the time to work beside each other.
    func paced(_ bytesPerSecond: Int = 250_000) -> FileResource {
        var resource = self
        resource.bytesPerSecond = bytesPerSecond
        return resource
    }
}

extension TestRequest {
    /// Whether it can only be one of a further connection: a stretch with an end.
    var isBounded: Bool { range?.last != nil }
}

extension TestContent {
    /// The digests of its pieces.
    func pieces(_ length: Int64 = 64 << 10, _ algorithm: DownloadRequest.Checksum.Algorithm = .sha256) -> PieceHashes? {
        let digests = stride(from: 0, to: count, by: Int64.Stride(length)).map { start in
            var hasher = DigestHasher(algorithm)
            bytes(start..<min(start + length, count)).withUnsafeBytes { hasher.update($0) }
            return hasher.finish()
        }
        return PieceHashes(algorithm, pieceLength: length, digests: digests)
    }

    /// What the whole must be.
    var digest: DownloadRequest.Checksum? {
        var hasher = DigestHasher(.sha256)
        bytes(0..<count).withUnsafeBytes { hasher.update($0) }
        return DownloadRequest.Checksum(.sha256, digest: hasher.finish())
    }
}

extension TestReply {
    /// The same with other bytes where `wrong` says so: right in form, and corrupt.
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
    /// The same, once the connections before it have brought something.
    func late(_ wait: Duration = .milliseconds(300)) -> TestReply {
        var reply = self
        reply.steps.insert(.wait(wait), at: 0)
        return reply
    }
}
