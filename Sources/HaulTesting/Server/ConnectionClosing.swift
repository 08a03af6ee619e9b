internal import Foundation
internal import NIOCore
internal import NIOSSL

/// Functions that end a connection in other ways than `close`. Callers must be on the channel's event loop.
extension Channel {
    /// Closes the socket below a TLS handler, which therefore sends no close_notify.
    func closeTransport() {
        // A connection without TLS has no such handler.
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            tls.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }

    /// Ends the connection with a RST as soon as the peer's system has acknowledged everything written.
    ///
    /// A RST discards the bytes that the socket still holds. Without the wait the peer would get a random part of them.
    /// A peer that acknowledges nothing for a second is reset all the same.
    func resetWhenDelivered(unacknowledged before: Int = .max, patience: Int = 1000) {
        let left = unacknowledgedByteCount
        guard isActive, left > 0, patience > 0 else { return resetNow() }
        eventLoop.scheduleTask(in: .milliseconds(1)) {
            self.resetWhenDelivered(unacknowledged: left, patience: left < before ? 1000 : patience - 1)
        }
    }

    /// Ends the connection with a RST and discards the bytes that the socket still holds.
    func resetNow() {
        guard let provider = self as? any SocketOptionProvider else { return closeTransport() }
        provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            self.closeTransport()
        }
    }

    /// Sends a FIN and reads on for a second, because closing a socket with unread bytes sends a RST.
    func closeLingering() {
        close(mode: .output, promise: nil)
        eventLoop.scheduleTask(in: .seconds(1)) { self.closeTransport() }
    }

    /// Number of bytes in the socket that the peer's system has not acknowledged.
    private var unacknowledgedByteCount: Int {
        #if os(Linux)
            // Fails if the socket is closed already. Then no byte is left.
            let count = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
                socket in
                var count: CInt = 0
                return ioctl(socket, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
            }
            return count ?? 0
        #else
            // On other systems the end of the connection may overtake the last bytes.
            return 0
        #endif
    }
}
