/// Decides about early connections: three at once after a short measurement of the first connection, because many servers
/// limit the speed of each connection, and doubling from one takes seconds.
enum EarlyConnections {
    /// Largest number of early connections of a download.
    private static let most = 3
    /// Number of additional connections of all downloads from which no early one is opened. Several downloads over one
    /// link would otherwise open three each.
    private static let mostOfAll = 4
    /// Time over which the first connection is measured.
    static let patience: Duration = .milliseconds(200)
    /// Bytes per second of a first connection that is fast enough.
    private static let fast = 100e6
    /// A file with fewer missing bytes gets early connections only if it is slow.
    private static let largeBytes: Int64 = 16 << 20
    private static let slow = 20e6
    /// Missing bytes, and remaining seconds, below which a file gets none.
    private static let least: (bytes: Int64, seconds: Double) = (1 << 20, 0.5)

    /// Returns the number of early connections that a download may open.
    ///
    /// - Parameter additional: number of additional connections of all downloads; `nil` if unknown.
    static func allowed(besides additional: Int?) -> Int {
        guard let additional else { return 0 }
        return min(most, max(0, mostOfAll - additional))
    }

    /// Whether a file is so slow, and so much of it is missing, that early connections may help.
    static func mayHelp(missing bytes: Int64, bytesPerSecond: Double) -> Bool {
        bytesPerSecond > 0 && bytesPerSecond < (bytes > largeBytes ? fast : slow) && bytes > least.bytes
            && Double(bytes) > bytesPerSecond * least.seconds
    }
}
