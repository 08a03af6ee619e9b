internal import NIOCore

/// One request on the way to the final response.
struct ExchangeStep: Sendable {
    var redirects: RedirectPolicy
    /// The ways to the server that are left to try; `nil` until they are known.
    var ways: ArraySlice<Way>?
    /// Whether the address of the first way has served a connection.
    var isProven = true
    /// Duration of the name lookup, which counts towards the time for connecting.
    var lookupTime: Duration = .zero
    /// Errors of the previous ways, over which no connection could be made.
    var failures: [TransportError] = []
    /// Whether all addresses have been tried at once. The first way then has the fastest address.
    var isRaced = false
    /// Number of repetitions of a request that the server did not receive.
    var repeats = 0
    /// Number of repetitions that answered an authentication challenge.
    var challenges = 0

    init(_ redirects: RedirectPolicy) { self.redirects = redirects }

    /// Returns the step that repeats a request which the server did not receive; `nil` if the request has failed.
    func next(after error: any Error, isConnected: Bool) -> ExchangeStep? {
        var next = self
        let ways = self.ways ?? []
        if let faster = error as? ConnectingWatch.FasterAddress {
            next.ways =
                ways.filter { $0.peer?.address == faster.address }
                + ways.filter { $0.peer?.address != faster.address }
            (next.isProven, next.lookupTime) = (false, .zero)
            next.isRaced = true
            return next
        }
        // Each repetition uses up a kept connection. There are as many of these as connections were open at once.
        if repeats < Self.mostRepeats(after: error) {
            next.repeats += 1
            return next
        }
        let failure = TransportError(error, from: ways.first?.source)
        guard !isConnected, ways.count > 1, failure.isOfAddress || TransportError.isOfOtherVersion(error) else {
            return nil
        }
        next.ways = ways.dropFirst()
        next.isProven = false
        if failure.isOfAddress { next.failures.append(failure) }
        return next
    }

    /// Returns how often a request is repeated that the server did not receive because the connection was closed.
    private static func mostRepeats(after error: any Error) -> Int {
        if error is KeptConnectionClosed { return 16 }
        // The connection was closed before the request was written. That happens to new connections as well as to kept
        // ones.
        if case ChannelError.ioOnClosedChannel = error { return 1 }
        return 0
    }

    /// Returns the error of a failed request. If no way led to a connection, the errors of all ways count.
    func failure(_ error: any Error, over way: Way, isConnected: Bool) -> TransportError {
        let last = TransportError(error, over: way, isConnected: isConnected)
        guard last.isOfConnecting || TransportError.isOfOtherVersion(error) else { return last }
        return TransportError.told(of: failures + [last])
    }
}
