import Foundation
import NIOCore

@testable import HaulCore
@testable import HaulKit

/// The network as seen by one process of a life.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class LifeTransport: SourceReading, @unchecked Sendable {
    let schemes = HTTPURL.schemes
    private let world: World
    private let sites: [LifeSite]
    private var exchanges: [ObjectIdentifier: LifeExchange] = [:]
    private var isDead = false
    private var count = 0
    /// Bytes that a receiver has taken, with time and site.
    private(set) var delivered: [(at: Int64, site: Int, range: Range<Int64>)] = []
    /// Segments of films that a receiver has taken whole, with the time of the last byte.
    private(set) var segments: [(at: Int64, site: Int, place: LifeFilm.Place)] = []
    /// Segments of films that were asked for.
    private(set) var askedSegments: [(site: Int, place: LifeFilm.Place)] = []
    /// The ranges requested from each site, with the numbers of the connections.
    private var asked: [Int: [(connection: Int, range: Range<Int64>)]] = [:]

    init(_ world: World, _ sites: [LifeSite]) {
        self.world = world
        self.sites = sites
    }

    func end() {
        isDead = true
        for exchange in exchanges.values.sorted(by: { $0.number < $1.number }) { exchange.cancel() }
    }

    func check(_ url: URL) throws(DownloadError) { try HTTPURL.check(url) }

    func open(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        count += 1
        let exchange = LifeExchange(count, world, receiver) { [weak self] in self?.exchanges[ObjectIdentifier($0)] = nil
        }
        exchanges[ObjectIdentifier(exchange)] = exchange
        guard !isDead, let site = sites.first(where: { $0.serves(request.url) }) else {
            exchange.end(TransportError(.connectionFailed))
            return exchange
        }
        let range = request.firstByte..<max(request.firstByte, request.end ?? .max)
        asked[site.number, default: []].append((count, range))
        let answer = site.answer(request)
        world.trace("    by connection \(count)")
        guard site.film == nil else {
            askedSegments.append((site.number, LifeFilm.Place(path: request.url.path, first: Int(request.firstByte))))
            exchange.play(answer, to: request) { [weak self] range, _ in self?.note(range, of: answer, site.number) }
            return exchange
        }
        exchange.play(answer, to: request) { [weak self, count] in self?.note($0, site.number, $1 ? count : nil) }
        return exchange
    }

    /// Notes a segment of a film whose last byte is delivered.
    private func note(_ range: Range<Int64>, of answer: LifeAnswer, _ site: Int) {
        guard let place = answer.place, range.upperBound == answer.offset + Int64(answer.body.count) else { return }
        segments.append((world.now, site, place))
    }

    /// Notes delivered bytes. The last piece of a body may extend beyond the end that the receiver wanted. The bytes
    /// beyond it belong to a later connection and do not count, even if the process is killed.
    ///
    /// - Parameter refused: the number of the connection, if the receiver wants no more of it.
    private func note(_ range: Range<Int64>, _ site: Int, _ refused: Int?) {
        var end = range.upperBound
        if let refused {
            for (connection, others) in asked[site, default: []]
            where connection > refused && others.overlaps(range) { end = min(end, others.lowerBound) }
        }
        if range.lowerBound < end { delivered.append((world.now, site, range.lowerBound..<end)) }
    }

    func shutDown() async {}
}

/// One answer in progress, with the end that an HTTP client sees in its framing.
final class LifeExchange: Exchange, @unchecked Sendable {
    let number: Int
    private let world: World
    private var receiver: (any ResponseReceiver)?
    private let onEnd: (LifeExchange) -> Void
    private var isCancelled = false
    /// Whether the receiver wants no more bytes.
    private var isRefused = false

    init(_ number: Int, _ world: World, _ receiver: any ResponseReceiver, onEnd: @escaping (LifeExchange) -> Void) {
        self.number = number
        self.world = world
        self.receiver = receiver
        self.onEnd = onEnd
    }

    func cancel() {
        isCancelled = true
        if receiver != nil { world.trace("    connection \(number) is closed") }
        end(TransportError(.connectionLost, "cancelled"))
    }

    /// Reports the end of the answer once, on the event loop.
    func end(_ failure: TransportError?) {
        world.onLoop { [self] in
            guard let receiver else { return }
            self.receiver = nil
            onEnd(self)
            receiver.ended(failure)
        }
    }

    func play(
        _ answer: LifeAnswer,
        to request: TransportRequest,
        onDelivery: @escaping @Sendable (Range<Int64>, _ isLast: Bool) -> Void
    ) {
        world.timer(in: answer.latency) { [self, world] in
            world.onLoop { [self] in
                guard let receiver, !isCancelled else { return }
                guard let head = answer.head else { return self.end(answer.failure ?? TransportError(.connectionLost)) }
                receiver.headReceived(head, on: world.loop).whenComplete { [self] result in
                    switch result {
                    case .success: send(answer, from: 0, part: 0, onDelivery)
                    case .failure: end(TransportError(.connectionLost, "refused"))
                    }
                }
            }
        }
    }

    private func send(
        _ answer: LifeAnswer,
        from start: Int,
        part: Int,
        _ onDelivery: @escaping @Sendable (Range<Int64>, _ isLast: Bool) -> Void
    ) {
        guard start < answer.body.count else {
            world.timer(in: answer.failure?.kind == .stalled ? answer.stall : 0) { [self] in self.end(answer.failure) }
            return
        }
        let (size, pause) = answer.rhythm[part % answer.rhythm.count]
        let end = min(answer.body.count, start + size)
        world.timer(in: pause) { [self, world] in
            world.onLoop { [self] in
                guard let receiver, !isCancelled else { return }
                let bytes = ByteBuffer(bytes: answer.body[start..<end])
                let range = answer.offset + Int64(start)..<answer.offset + Int64(end)
                let future = receiver.bodyReceived(bytes, on: world.loop)
                world.trace("    connection \(number): \(range) arrive")
                guard let future else {
                    onDelivery(range, false)
                    return send(answer, from: end, part: part + 1, onDelivery)
                }
                // A refusal completes the future at once.
                future.whenFailure { [self] _ in isRefused = true }
                onDelivery(range, isRefused)
                future.whenComplete { [self] result in
                    switch result {
                    case .success: send(answer, from: end, part: part + 1, onDelivery)
                    case .failure: self.end(TransportError(.connectionLost, "stopped"))
                    }
                }
            }
        }
    }
}

/// The answer of a site to one request, as an HTTP client passes it on.
struct LifeAnswer: Sendable {
    var head: ResponseHead?
    var body: [UInt8] = []
    /// The offset of the body in the file.
    var offset: Int64 = 0
    /// Place of the segment whose whole content is the body; `nil` for any other body.
    var place: LifeFilm.Place?
    /// The error that ends the body; `nil` if the client sees a complete body.
    var failure: TransportError?
    var latency: Int64 = 0
    /// The size of each part of the body and the pause before it, repeated.
    var rhythm: [(size: Int, pause: Int64)] = [(16 << 10, 0)]
    /// How long the client waits for a silent connection, in nanoseconds.
    var stall: Int64 = 2_000_000_000
}
