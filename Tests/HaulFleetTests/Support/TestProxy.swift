import Foundation
import Synchronization

@testable import HaulFleet

/// A TCP proxy on loopback that can lose answers and change its target server.
final class TestProxy: Sendable {
    private struct State {
        var target: Int
        /// Closes connections as soon as they are accepted.
        var isRefusing = false
        /// Drops the next answer that ends a transaction, and closes its connection.
        var losesNextAnswer = false
        /// Number of bytes that clients may still send before their connections end. `nil` means no limit.
        var remaining: Int?
        var accepted = 0
        var lost = 0
        /// Open connections. Closed only under the lock: a closed number may be a socket of another test.
        var sockets: Set<Int32> = []
        /// `nil` once the proxy is closed.
        var listener: Int32?
    }

    let port: Int
    private let state: Mutex<State>

    init(target: Int) throws {
        state = Mutex(State(target: target))
        port = try PostgresServer.freePort()
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard Self.withAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 128) == 0 else {
            throw PostgresServer.Failure(description: "The proxy cannot listen.")
        }
        state.withLock { $0.listener = listener }
        Thread.detachNewThread { [self] in accept(listener) }
    }

    var accepted: Int { state.withLock { $0.accepted } }
    var lostAnswers: Int { state.withLock { $0.lost } }
    func loseNextAnswer() { state.withLock { $0.losesNextAnswer = true } }
    func cut(afterSending bytes: Int) { state.withLock { $0.remaining = bytes } }
    func setTarget(_ port: Int) { state.withLock { $0.target = port } }
    func setRefusing(_ value: Bool) { state.withLock { $0.isRefusing = value } }

    /// Ends every connection.
    func cut() { state.withLock { for socket in $0.sockets { shutdown(socket, Int32(SHUT_RDWR)) } } }

    func close() {
        state.withLock { state in
            // The thread that accepts closes the listener.
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            state.listener = nil
        }
        cut()
    }

    private static func withAddress(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private func accept(_ listener: Int32) {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            if state.withLock({ $0.listener == nil }) {
                if client >= 0 { Foundation.close(client) }
                break
            }
            guard client >= 0 else { continue }
            let (target, isRefusing) = state.withLock { state in
                state.accepted += 1
                return (state.target, state.isRefusing)
            }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard !isRefusing, Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
                Foundation.close(client)
                Foundation.close(server)
                continue
            }
            state.withLock { $0.sockets.formUnion([client, server]) }
            let ends = Mutex(0)
            let done: @Sendable () -> Void = { [self] in
                let isLast = ends.withLock { ends in
                    ends += 1
                    return ends == 2
                }
                guard isLast else { return }
                state.withLock { state in
                    state.sockets.subtract([client, server])
                    Foundation.close(client)
                    Foundation.close(server)
                }
            }
            Thread.detachNewThread { [self] in
                pump(from: client, to: server, isAnswer: false)
                done()
            }
            Thread.detachNewThread { [self] in
                pump(from: server, to: client, isAnswer: true)
                done()
            }
        }
        Foundation.close(listener)
    }

    private func isUsedUp(_ count: Int) -> Bool {
        state.withLock { state in
            guard let remaining = state.remaining else { return false }
            state.remaining = remaining > count ? remaining - count : nil
            return remaining <= count
        }
    }

    private func pump(from source: Int32, to sink: Int32, isAnswer: Bool) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        var isLosing = false
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            if isAnswer, !isLosing, state.withLock({ $0.losesNextAnswer }) { isLosing = true }
            if isLosing {
                // These bytes are ReadyForQuery with the status idle: the transaction is committed.
                guard buffer[..<count].suffix(6).elementsEqual([0x5A, 0, 0, 0, 5, 0x49]) else { continue }
                state.withLock { state in
                    state.losesNextAnswer = false
                    state.lost += 1
                }
                break
            }
            if !isAnswer, isUsedUp(count) { break }
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes {
                    send(sink, $0.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break }
                sent += written
            }
            if sent < count { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
    }
}
