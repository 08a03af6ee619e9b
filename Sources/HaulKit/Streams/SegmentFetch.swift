internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import NIOCore
internal import Synchronization

/// Receives one segment: judges the answer, cuts the range out, decrypts, checks the kind of media, and passes the
/// bytes on in pieces.
///
/// The exchange calls it on one event loop; the lock only satisfies the compiler.
final class SegmentFetch: ResponseReceiver {
    /// Decryption of one segment: AES-128 in CBC mode with PKCS#7 padding.
    struct Cipher: Sendable {
        let key: SymmetricKey
        /// The vector of the next block: at first the vector of the segment, then the last encrypted block that was
        /// decrypted.
        var vector: [UInt8]
    }

    /// Passes bytes on. Its future completes when the receiver takes more bytes.
    typealias Pass = @Sendable (WriteBatch) -> EventLoopFuture<Void>

    private struct State {
        var failure: SegmentFailure?
        /// Number of bytes to skip before the wanted bytes of the body.
        var skipped: Int64 = 0
        /// Number of wanted bytes that are still to come; `nil` if the segment ends where the body ends.
        var missing: Int64?
        /// Whether the range is cut out of a whole file, so that the body may go on behind the wanted bytes.
        var isCutOut = false
        var cipher: Cipher?
        /// Bytes that have not been decrypted.
        var encrypted = ByteBuffer()
        /// Bytes that have not been passed on.
        var gathered = WriteBatch(offset: 0)
        /// Future of the piece that was passed on last.
        var pressure: EventLoopFuture<Void>?
        /// Number of wanted bytes received so far.
        var received: Int64 = 0
        /// Host that the request goes to.
        var host = "the server"
        var watch: SegmentMedia.Watch?
        var isFramed = true
        /// The answer with a range of a file; `nil` if its version is not compared.
        var head: ResponseHead?
    }
    private struct Enough: Error {}

    private let range: ByteRange?
    private let files: RangedFiles?
    private let mostBytes: Int64
    private let pass: Pass
    private let exchange = AwaitedExchange<Result<Int64, SegmentFailure>>()
    private let state: Mutex<State>

    /// Returns the least length of a piece in bytes; the last piece may be shorter. The first piece is smaller than the
    /// others, so that a player gets it early.
    private static func pieceLength(at offset: Int64) -> Int { offset == 0 ? 256 << 10 : 512 << 10 }
    /// Least number of encrypted bytes that are decrypted at once, except at the end of the segment.
    private static let cipherLength = 64 << 10
    /// Most bytes that are skipped in an answer without the range that was asked for.
    private static let mostSkipped: Int64 = 16 << 20

    /// - Parameters:
    ///   - range: the range that the request asks for; `nil` for everything.
    ///   - mostBytes: a longer body is a failure.
    ///   - watch: checks that the bytes are media; `nil` for no check.
    ///   - files: compares the versions of the files that ranges are cut out of; `nil` for no comparison.
    init(
        range: ByteRange?,
        mostBytes: Int64 = .max,
        cipher: Cipher?,
        watch: SegmentMedia.Watch?,
        files: RangedFiles? = nil,
        pass: @escaping Pass
    ) {
        (self.range, self.mostBytes, self.files) = (range, mostBytes, files)
        self.pass = pass
        state = Mutex(State(missing: range?.count, cipher: cipher, watch: watch))
    }

    /// Sends the request.
    ///
    /// - Returns: the number of bytes that were passed on, when the exchange has ended.
    func fetch(_ request: TransportRequest, over readers: SourceReaders) async -> Result<Int64, SegmentFailure> {
        if let host = request.url.host { state.withLock { $0.host = host } }
        return await withTaskCancellationHandler {
            await exchange.answer(to: request, over: readers, receiver: self)
        } onCancel: {
            exchange.cancel()
        }
    }

    /// `false` if only the closing of the connection marked the end of the answer, and no range was asked for.
    var isFramed: Bool { state.withLock(\.isFramed) }
    /// ``StreamSegmentEnd/programs`` of the segment.
    var programs: SegmentPrograms? { state.withLock { $0.watch?.programs } }
    /// ``StreamSegmentEnd/file`` of the answer.
    var file: UInt64 { state.withLock(\.head).map(RangedFiles.digest) ?? 0 }

    // MARK: ResponseReceiver

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let isGood = state.withLock { state in
            state.failure = judge(head, &state)
            return state.failure == nil
        }
        return isGood ? eventLoop.makeSucceededVoidFuture() : eventLoop.makeFailedFuture(Enough())
    }

    /// Judges an answer (RFC 9110 §14): a range comes as a 206 with exactly this range, or is cut out of a 200.
    private func judge(_ head: ResponseHead, _ state: inout State) -> SegmentFailure? {
        guard [200, 203, 206].contains(head.status) else { return SegmentFailure(refusedBy: head) }
        if let coding = head.contentCoding {
            return SegmentFailure(malformed: "it sent a content coding (\(coding))", head)
        }
        if head.isWebPage {
            let error = DownloadError(.unexpectedWebPage, "A web page came instead of a segment of the stream.")
            return SegmentFailure(error, isWorthRetrying: true)
        }
        guard let range else {
            state.isFramed = head.isFramed
            if let length = head.contentLength, length > mostBytes { return Self.tooLong(mostBytes) }
            return head.status == 206 ? .unaskedRange(head) : nil
        }
        if head.status == 206 {
            guard case .satisfied(let sent, _)? = head.contentRange, sent == range else {
                return .otherRange(head)
            }
        }
        if let failure = files?.judge(head) { return failure }
        if files != nil { state.head = head }
        if head.status == 206 { return nil }
        guard range.lower <= Self.mostSkipped else {
            let error = DownloadError(
                .incompleteStream,
                "The segments of this stream are ranges of one file, and \(head.url.host ?? "the server") sends no ranges."
            )
            return SegmentFailure(error, isWorthRetrying: false)
        }
        state.skipped = range.lower
        state.isCutOut = true
        return nil
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        var bytes = bytes
        let (piece, isEnough): (WriteBatch?, Bool) = state.withLock { state in
            guard state.failure == nil else { return (nil, true) }
            let skipping = min(Int64(bytes.readableBytes), state.skipped)
            bytes.moveReaderIndex(forwardBy: Int(skipping))
            state.skipped -= skipping
            var hasMore = state.isCutOut
            if let missing = state.missing {
                let wanted = Int(min(Int64(bytes.readableBytes), missing))
                hasMore = hasMore || bytes.readableBytes > wanted
                bytes = bytes.getSlice(at: bytes.readerIndex, length: wanted) ?? ByteBuffer()
                state.missing = missing - Int64(wanted)
            }
            state.received += Int64(bytes.readableBytes)
            if state.received > mostBytes { state.failure = Self.tooLong(mostBytes) }
            if state.failure == nil { take(&bytes, &state, isLast: false) }
            // Does not stop a body that ends with the range, so that the next segment can use its connection.
            let isEnough = state.failure != nil || state.missing == 0 && hasMore
            guard state.gathered.bytes >= Self.pieceLength(at: state.gathered.offset) else { return (nil, isEnough) }
            return (takePiece(&state), isEnough)
        }
        if isEnough, piece == nil { return eventLoop.makeFailedFuture(Enough()) }
        guard let piece else { return nil }
        let passed = pass(piece).hop(to: eventLoop)
        if isEnough { return passed.flatMapThrowing { throw Enough() } }
        // Waits for the piece before this one, so that the connection is read while the loop of the log takes a piece.
        return state.withLock { state in
            defer { state.pressure = passed }
            return state.pressure
        }
    }

    func ended(_ failure: TransportError?) {
        let continuation = exchange.ended()
        let (last, result): (WriteBatch?, Result<Int64, SegmentFailure>) = state.withLock { state in
            var last: WriteBatch?
            if state.failure == nil {
                // After the whole range, this receiver itself may have ended the exchange.
                let isWhole = failure == nil || state.missing == 0
                if !isWhole, let failure { state.failure = SegmentFailure(failure, host: state.host) }
                if isWhole, let missing = state.missing, missing > 0 {
                    state.failure = SegmentFailure(
                        TransportError(.connectionLost, "the range ended early"),
                        host: state.host
                    )
                }
            }
            if state.failure == nil {
                var none = ByteBuffer()
                take(&none, &state, isLast: true)
                state.failure = state.failure ?? notMedia(state.watch?.finish())
                if state.failure == nil, state.watch?.isHole == true { state.failure = Self.hole }
                if state.failure == nil, let head = state.head { state.failure = files?.take(head) }
            }
            if state.failure == nil, state.gathered.bytes > 0 { last = takePiece(&state) }
            return (last, state.failure.map { .failure($0) } ?? .success(state.gathered.offset))
        }
        guard let last else { return continuation?.resume(returning: result) ?? () }
        pass(last).whenComplete { _ in continuation?.resume(returning: result) }
    }

    // MARK: Bytes

    private func takePiece(_ state: inout State) -> WriteBatch {
        let piece = state.gathered
        state.gathered = WriteBatch(offset: piece.offset + Int64(piece.bytes))
        return piece
    }

    /// Decrypts bytes, checks and gathers them.
    private func take(_ bytes: inout ByteBuffer, _ state: inout State, isLast: Bool) {
        guard state.cipher != nil else { return gather(bytes, &state) }
        state.encrypted.writeBuffer(&bytes)
        let count = state.encrypted.readableBytes
        if isLast, let failure = Self.wrongLength(count) {
            state.failure = failure
            return
        }
        // Keeps the last block until the body has ended, because the last block of a segment has the padding.
        let length = isLast ? count : max(0, count - 1) / 16 * 16
        guard length > 0, isLast || length >= Self.cipherLength,
            let cipher = state.cipher
        else { return }
        // The library copies every other type of bytes into `Data` first.
        let encrypted = Data(state.encrypted.readableBytesView.prefix(length))
        state.encrypted.moveReaderIndex(forwardBy: length)
        state.encrypted.discardReadBytes()
        do throws(SegmentFailure) {
            let plain = try Self.plain(encrypted, cipher, isLast: isLast)
            state.cipher?.vector = Array(encrypted.suffix(16))
            gather(ByteBuffer(bytes: plain), &state)
        } catch { state.failure = error }
    }

    /// Decrypts a whole body.
    static func decrypted(_ bytes: [UInt8], _ cipher: Cipher) throws(SegmentFailure) -> [UInt8] {
        if let failure = wrongLength(bytes.count) { throw failure }
        return Array(try plain(Data(bytes), cipher, isLast: true))
    }

    /// Decrypts whole blocks.
    ///
    /// - Parameter isLast: whether the last block has the padding.
    private static func plain(_ bytes: Data, _ cipher: Cipher, isLast: Bool) throws(SegmentFailure) -> Data {
        do {
            let vector = try AES._CBC.IV(ivBytes: cipher.vector)
            return try AES._CBC.decrypt(bytes, using: cipher.key, iv: vector, noPadding: !isLast)
        } catch {
            // The library reports only that the padding is wrong, not why.
            throw undecipherable("its padding is wrong: the key is not that of the segment, or bytes are wrong")
        }
    }

    private static func wrongLength(_ count: Int) -> SegmentFailure? {
        count == 0 || count % 16 != 0 ? undecipherable("its length is no multiple of 16") : nil
    }

    private static func undecipherable(_ reason: String) -> SegmentFailure {
        ofBytes("A segment cannot be decrypted: \(reason).")
    }

    private func gather(_ bytes: ByteBuffer, _ state: inout State) {
        state.failure = state.failure ?? notMedia(state.watch?.take(bytes.readableBytesView))
        state.gathered.append(bytes)
    }

    /// The failure of a body that is too long. A body without an end would fill the disk.
    private static func tooLong(_ mostBytes: Int64) -> SegmentFailure {
        let error = DownloadError(
            .incompleteStream,
            "A segment is longer than \(QuantityText.bytes(mostBytes)), which none of this stream can be."
        )
        var failure = SegmentFailure(error, isWorthRetrying: false)
        failure.isTooLong = true
        return failure
    }

    /// The failure of a segment without media. Another request is not worth it, because the server would send the same
    /// answer again.
    private static let hole = SegmentFailure(
        DownloadError(
            .incompleteStream,
            "A segment has neither pictures nor sound, although the playlist gives it time in the film."
        ),
        isWorthRetrying: false
    )

    private func notMedia(_ reason: String?) -> SegmentFailure? {
        reason.map { Self.ofBytes("A segment is no media: \($0).") }
    }

    private static func ofBytes(_ message: String) -> SegmentFailure {
        var failure = SegmentFailure(DownloadError(.incompleteStream, message), isWorthRetrying: true)
        failure.isOfBytes = true
        return failure
    }
}
