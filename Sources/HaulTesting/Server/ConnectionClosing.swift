internal import Foundation
internal import NIOCore
internal import NIOSSL

/// The ways a connection ends other than `close`. All of them are to be called on the channel's event loop.
extension Channel {
    /// Closes the socket itself, past a TLS handler, which so gets no occasion to say goodbye.
    func closeTransport() {
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            tls.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }

    /// Ends the connection with a RST as soon as the peer's system has acknowledged everything written.
    ///
    /// A RST throws away what the socket still holds, so without the wait the peer would get a random part of it.
    /// A peer that takes nothing for a second is reset all the same.
    func resetWhenDelivered(unacknowledged before: Int = .max, patience: Int = 1000) {
        let left = unacknowledgedByteCount
        guard isActive, left > 0, patience > 0 else { return resetNow() }
        eventLoop.scheduleTask(in: .milliseconds(1)) {
            self.resetWhenDelivered(unacknowledged: left, patience: left < before ? 1000 : patience - 1)
        }
    }

    /// Ends the connection with a RST, whatever the socket still holds.
    func resetNow() {
        guard let provider = self as? any SocketOptionProvider else { return closeTransport() }
        provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            self.closeTransport()
        }
    }

    /// Sends a FIN and reads on, because closing a socket that holds something unread makes a RST of it.
    func closeLingering() {
        close(mode: .output, promise: nil)
        eventLoop.scheduleTask(in: .seconds(1)) { self.closeTransport() }
    }

    /// The bytes the socket holds that the peer's system has not acknowledged.
    private var unacknowledgedByteCount: Int {
        #if os(Linux)
            let count = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                socket in
                var count: CInt = 0
                return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
            }
            return count ?? 0
        #else
            // Elsewhere the end of the connection may overtake the last bytes.
            return 0
        #endif
    }
}
