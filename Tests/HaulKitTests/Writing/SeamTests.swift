import HaulTesting
import NIOCore
import NIOPosix
import Testing

@testable import HaulKit

/// Two connections bring one file under a weak validator, and their bytes are compared where they meet.
struct SeamTests {
    private static let length = 100_000
    private static let seam = 60_000
    private static let repeated = 16_384

    private let loop = MultiThreadedEventLoopGroup.singleton.any()
    private let file = MemoryFile()
    private let part: PartFile
    private let body = someBytes(Self.length, seed: 3)

    init() {
        part = PartFile(file, persisted: .zero) {}
        part.compareRepeats()
    }

    private var front: SegmentSink { SegmentSink(part, at: 0, limit: Int64(Self.seam), expecting: [], batchSize: 9000) }
    private var back: SegmentSink {
        let rest = Int64(Self.length - Self.seam)
        return SegmentSink(
            part,
            at: Int64(Self.seam),
            limit: rest,
            expecting: [],
            repeating: Int64(Self.repeated),
            batchSize: 9000
        )
    }

    /// Passes bytes on in pieces, waits where the sink asks for it, and returns the first failure.
    private func bring(_ bytes: [UInt8], to sink: SegmentSink) async throws -> WriteFailure? {
        var rest = ByteBuffer(bytes: bytes)
        while let piece = rest.readSlice(length: min(7000, rest.readableBytes)), piece.readableBytes > 0 {
            switch sink.take(piece, on: loop) {
            case .wait(let future): try await future.get()
            case .goOn: break
            case .enough, .overlapDiffers, .failed: rest.clear()
            }
        }
        return await withCheckedContinuation { continuation in sink.finish { continuation.resume(returning: $0) } }
    }

    private func bringFront(_ body: [UInt8]) async throws -> WriteFailure? {
        try await bring(Array(body[..<Self.seam]), to: front)
    }

    private func bringBack(_ body: [UInt8]) async throws -> WriteFailure? {
        try await bring(Array(body[(Self.seam - Self.repeated)...]), to: back)
    }

    /// Another version of the file, which differs in one byte.
    private func version(with place: Int) -> [UInt8] {
        var body = body
        body[place] ^= 1
        return body
    }

    @Test(arguments: [true, false]) func joinsWhatIsTheSameWhereItMeets(_ isFrontFirst: Bool) async throws {
        let failures =
            isFrontFirst
            ? try await [bringFront(body), bringBack(body)] : try await [bringBack(body), bringFront(body)]
        #expect(failures == [nil, nil])
        #expect(file.bytes == body)
        #expect(part.persisted.written.text == "0-\(Self.length)")
    }

    @Test(arguments: [true, false], [0, 1, 8000, repeated - 1])
    func claimsNothingOfTheSecondVersion(_ isFrontFirst: Bool, _ place: Int) async throws {
        let other = version(with: Self.seam - Self.repeated + place)
        if isFrontFirst {
            #expect(try await bringFront(body) == nil)
            #expect(try await bringBack(other) == .versionsDiffer)
            #expect(part.persisted.written.text == "0-\(Self.seam)")
        } else {
            #expect(try await bringBack(other) == nil)
            #expect(try await bringFront(body) == .versionsDiffer)
            #expect(part.persisted.written.prefix < Self.seam)
        }
    }

    @Test func claimsNothingBehindASeamThatIsNotComparedYet() {
        // The file is in memory, and the write thread does not get to work.
        let never = BlockingExecutor(async: { _, _ in }, makeQueue: { _, _ in SerialQueue { _ in } })
        let file = BufferedFile("/d/a.haulpart", capacity: Self.length)
        let part = PartFile(file, persisted: .zero, executor: never) {}
        part.compareRepeats()
        let half = Self.length / 2
        let sinks = [0, half].map { start in
            SegmentSink(
                part,
                at: Int64(start),
                limit: Int64(half),
                expecting: [],
                repeating: start == 0 ? 0 : Int64(Self.repeated),
                batchSize: Self.length
            )
        }
        _ = sinks[0].take(ByteBuffer(bytes: body[..<half]), on: loop)
        let other = version(with: half - 1)
        let intake = sinks[1].take(ByteBuffer(bytes: other[(half - Self.repeated)...]), on: loop)
        guard case .failed = intake else { return #expect(Bool(false), "\(intake)") }
        #expect(part.persisted.written.text == "0-\(half)")
    }

    /// A byte that only one connection brings cannot be compared.
    @Test func seesNoChangeBesideTheSeam() async throws {
        #expect(try await bringBack(version(with: Self.seam - Self.repeated - 1)) == nil)
        #expect(try await bringFront(body) == nil)
    }

    /// The bytes before a seam may come over several connections.
    @Test func comparesWhatASecondConnectionBringsForTheFirst() async throws {
        let other = version(with: Self.seam - 1)
        let middle = Self.seam - 5000
        #expect(try await bringBack(body) == nil)
        let first = SegmentSink(part, at: 0, limit: Int64(middle), expecting: [], batchSize: 9000)
        #expect(try await bring(Array(body[..<middle]), to: first) == nil)
        let second = SegmentSink(part, at: Int64(middle), limit: 5000, expecting: [], batchSize: 9000)
        #expect(try await bring(Array(other[middle..<Self.seam]), to: second) == .versionsDiffer)
        #expect(part.persisted.written.text == "0-\(middle),\(Self.seam)-\(Self.length)")
    }

    /// A connection that repeats the range of another one takes over behind what that one has written.
    @Test(arguments: [true, false]) func comparesWhatComesTwice(_ isSame: Bool) async throws {
        let half = SegmentSink(part, at: 0, limit: 30_000, expecting: [], batchSize: 9000)
        #expect(try await bring(Array(body[..<30_000]), to: half) == nil)
        #expect(try await bringFront(isSame ? body : version(with: 20_000)) == (isSame ? nil : .versionsDiffer))
        #expect(part.persisted.written.text == (isSame ? "0-\(Self.seam)" : "0-30000"))
    }

    /// Two connections that repeat the same bytes are compared with each other.
    @Test func comparesTwoConnectionsBeforeTheBytesCome() async throws {
        #expect(try await bringBack(body) == nil)
        #expect(try await bringBack(version(with: Self.seam - 1)) == .versionsDiffer)
    }

    @Test func forgetsTheSeamsWithTheVersion() async throws {
        #expect(try await bringBack(version(with: Self.seam - 1)) == nil)
        try await part.startOver()
        part.compareRepeats()
        #expect(try await bringFront(body) == nil)
        #expect(try await bringBack(body) == nil)
        #expect(file.bytes == body)
    }

    @Test func aBodyThatEndsBeforeItsRangeBringsNothing() async throws {
        let sink = back
        #expect(try await bring(Array(body[..<100]), to: sink) == nil)
        #expect(!sink.hasRepeatedAll)
        #expect(part.persisted.written.isEmpty)
    }
}

extension WriteFailure {
    var kind: DiskError.Kind? {
        if case .disk(let error) = self { return error.kind }
        return nil
    }
}
