internal import NIOCore

/// One request on the way to the final response.
struct ExchangeStep: Sendable {
    var redirects: RedirectPolicy
    /// Untried paths to the server; `nil` until the paths are known.
    var paths: ArraySlice<ConnectionPath>?
    /// Whether the address of the first path has served a connection.
    var isProven = true
    /// Duration of the name lookup, which counts towards the time for connecting.
    var lookupTime: Duration = .zero
    /// Errors of the previous paths, over which no connection could be made.
    var failures: [TransportError] = []
    /// Whether all addresses have been tried at once. The first path then has the fastest address.
    var isRaced = false
    /// Number of repetitions of a request that the server did not receive.
    var repeats = 0
    /// Number of repetitions that answered an authentication challenge.
    var challenges = 0

    init(_ redirects: RedirectPolicy) { self.redirects = redirects }

    /// Returns the step that repeats a request which the server did not receive; `nil` if the request has failed.
    func next(after error: any Error, isConnected: Bool) -> ExchangeStep? {
        var next = self
        let paths = self.paths ?? []
        if let faster = error as? ConnectingWatch.FasterAddress {
            next.paths =
                paths.filter { $0.peer?.address == faster.address }
                + paths.filter { $0.peer?.address != faster.address }
            (next.isProven, next.lookupTime) = (false, .zero)
            next.isRaced = true
            return next
        }
        // Each repetition uses up a kept connection. There are at most as many kept connections as connections were
        // open at once, so after a few repetitions the request gets a new connection.
        if repeats < Self.mostRepeats(after: error) {
            next.repeats += 1
            return next
        }
        let failure = TransportError(error, from: paths.first?.source)
        guard !isConnected, paths.count > 1, failure.isOfAddress || TransportError.isOfOtherVersion(error) else {
            return nil
        }
        next.paths = paths.dropFirst()
        next.isProven = false
        if failure.isOfAddress { next.failures.append(failure) }
        return next
    }

    /// Returns the largest number of repetitions of a request that did not reach the server because the connection was
    /// closed. ``ResponseDecoder`` recognises a kept connection that was closed.
    private static func mostRepeats(after error: any Error) -> Int {
        if error is KeptConnectionClosed { return 16 }
        // The connection was closed before the request was written. That happens to new connections as well as to kept
        // ones.
        if case ChannelError.ioOnClosedChannel = error { return 1 }
        return 0
    }

    /// Returns the error of a failed request. If no path led to a connection, ``TransportError/told(of:)`` chooses one
    /// from the errors of all paths.
    func failure(_ error: any Error, over path: ConnectionPath, isConnected: Bool) -> TransportError {
        let last = TransportError(error, over: path, isConnected: isConnected)
        guard last.isOfConnecting || TransportError.isOfOtherVersion(error) else { return last }
        return TransportError.told(of: failures + [last])
    }
}
