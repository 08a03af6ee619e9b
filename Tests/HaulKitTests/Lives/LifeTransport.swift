import Foundation
import NIOCore
import NIOHTTP1

@testable import HaulKit

/// The network as one process of a life sees it.
///
/// Unchecked, as `World` is.
final class LifeTransport: Transport, @unchecked Sendable {
    private let world: World
    private let sites: [LifeSite]
    private var exchanges: [ObjectIdentifier: LifeExchange] = [:]
    private var isDead = false
    /// Bytes that a receiver was given, by site: when, and which.
    private(set) var delivered: [(at: Int64, site: Int, range: Range<Int64>)] = []

    init(_ world: World, _ sites: [LifeSite]) {
        self.world = world
        self.sites = sites
    }

    func end() {
        isDead = true
        for exchange in exchanges.values { exchange.cancel() }
    }

    func start(_ request: TransportRequest, receiver: any ResponseReceiver) -> any Exchange {
        let exchange = LifeExchange(world, receiver) { [weak self] in self?.exchanges[ObjectIdentifier($0)] = nil }
        exchanges[ObjectIdentifier(exchange)] = exchange
        guard !isDead, let site = sites.first(where: { $0.url == request.url }) else {
            exchange.end(TransportError(.connectionFailed))
            return exchange
        }
        let answer = site.answer(request)
        exchange.play(answer, to: request) { [weak self, world] range in
            self?.delivered.append((world.now, site.number, range))
        }
        return exchange
    }

    func shutDown() async {}
}

/// One answer on its way, with what the HTTP client makes of its framing.
final class LifeExchange: Exchange, @unchecked Sendable {
    private let world: World
    private var receiver: (any ResponseReceiver)?
    private let onEnd: (LifeExchange) -> Void
    private var isCancelled = false

    init(_ world: World, _ receiver: any ResponseReceiver, onEnd: @escaping (LifeExchange) -> Void) {
        self.world = world
        self.receiver = receiver
        self.onEnd = onEnd
    }

    func cancel() {
        isCancelled = true
        end(TransportError(.connectionLost, "cancelled"))
    }

    /// Says how it ended, once, on the loop.
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
        onDelivery: @escaping @Sendable (Range<Int64>) -> Void
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
        _ onDelivery: @escaping @Sendable (Range<Int64>) -> Void
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
                let first = answer.offset + Int64(start)
                let future = receiver.bodyReceived(bytes, on: world.loop)
                onDelivery(first..<first + Int64(end - start))
                guard let future else { return send(answer, from: end, part: part + 1, onDelivery) }
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

/// What a site answers to one request, after the client has looked at its framing.
struct LifeAnswer: Sendable {
    var head: ResponseHead?
    var body: [UInt8] = []
    /// Where in the file the body belongs.
    var offset: Int64 = 0
    /// How the body ends; nil where it ends as it should, as far as a client can tell.
    var failure: TransportError?
    var latency: Int64 = 0
    /// The size of each part of the body, and the pause before it; over and over.
    var rhythm: [(size: Int, pause: Int64)] = [(16 << 10, 0)]
    /// How long a connection that says nothing is waited for.
    var stall: Int64 = 2_000_000_000
}
