/// What earlier downloads have learned of a host's connections.
struct KnownHost: Sendable, Equatable, Codable {
    /// The most that it was seen to allow; nil where it refused none.
    var limit: Int?
    /// The largest number that was clearly faster than half of it; nil if none was within the last hour.
    var worthwhile: Int?

    /// Connections that begin a large file there.
    private static let mostAtOnce = 4
    /// A smaller file is done before the number of its connections matters.
    private static let leastBytes: Int64 = 32 << 20

    /// How many to begin with: half of what was worthwhile for another file.
    func start(missing bytes: Int64) -> Int {
        guard let worthwhile, bytes >= Self.leastBytes else { return 1 }
        return max(1, min(worthwhile / 2, Self.mostAtOnce))
    }
}
