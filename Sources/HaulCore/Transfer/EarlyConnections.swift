/// Decides about the additional connections that are opened before their gain is measured. They save the seconds in
/// which one connection is measured; a server may give each connection only a part of the link.
enum EarlyConnections {
    /// Largest number of early connections of a download.
    private static let most = 3
    /// Number of additional connections of all downloads from which no early one is opened. Several downloads over one
    /// link would otherwise open three each.
    private static let mostOfAll = 4
    /// A file with more missing bytes gets its early connections with the head of its first answer.
    static let leastBytes: Int64 = 16 << 20
    /// Time after which a smaller file gets them if it is slow.
    static let patience: Duration = .milliseconds(200)
    private static let slow = 20e6
    /// Missing bytes, and remaining seconds, below which a smaller file gets none.
    private static let leastOfSmall: (bytes: Int64, seconds: Double) = (1 << 20, 0.5)

    /// Returns the number of early connections that a download may open.
    ///
    /// - Parameter additional: number of additional connections of all downloads; `nil` if unknown.
    static func allowed(besides additional: Int?) -> Int {
        guard let additional else { return 0 }
        return min(most, max(0, mostOfAll - additional))
    }

    /// Whether a file is so slow, and so much of it is missing, that early connections are of use.
    static func help(missing bytes: Int64, bytesPerSecond: Double) -> Bool {
        bytesPerSecond > 0 && bytesPerSecond < slow && bytes > leastOfSmall.bytes
            && Double(bytes) > bytesPerSecond * leastOfSmall.seconds
    }
}
