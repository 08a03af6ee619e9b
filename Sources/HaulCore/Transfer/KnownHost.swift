/// Facts that earlier downloads have learned about the connections of a host.
package struct KnownHost: Sendable, Equatable, Codable {
    /// Largest number of connections that the host was seen to allow; `nil` if it refused none.
    package var limit: Int?
    /// The largest number of connections that was clearly faster than half as many; `nil` if none was within the last
    /// hour.
    package var worthwhile: Int?

    package init(limit: Int? = nil, worthwhile: Int? = nil) {
        self.limit = limit
        self.worthwhile = worthwhile
    }

    /// Maximum number of connections that a large file begins with.
    private static let mostAtOnce = 4
    /// Least number of missing bytes for which a download begins with several connections. A smaller file is done
    /// before their number matters.
    private static let leastBytes: Int64 = 32 << 20

    /// Returns how many connections to begin with: half of the number that was worthwhile for another file.
    package func start(missing bytes: Int64) -> Int {
        guard let worthwhile, bytes >= Self.leastBytes else { return 1 }
        return max(1, min(worthwhile / 2, Self.mostAtOnce))
    }
}

/// Fact that is kept about each host.
package enum HostFact: CaseIterable, Sendable {
    case limit, worthwhile

    package func set(_ count: Int, of host: inout KnownHost) {
        switch self {
        case .limit: host.limit = count
        case .worthwhile: host.worthwhile = count
        }
    }

    /// Age in seconds at which a fact is forgotten. The worthwhile number is forgotten sooner, because it also depends
    /// on the load of the network.
    package var lifetime: Double {
        switch self {
        case .limit: 24 * 3600
        case .worthwhile: 3600
        }
    }
}
