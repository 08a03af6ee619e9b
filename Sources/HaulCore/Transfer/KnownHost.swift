/// Facts that earlier downloads have learned about the connections of a host.
package struct KnownHost: Sendable, Equatable, Codable {
    /// Largest number of connections that the host was seen to allow; `nil` if it refused none.
    package var limit: Int?
    /// The largest number of connections that was clearly faster than half as many; `nil` if none was within the last
    /// hour.
    package var worthwhile: Int?
    /// Whether the host sent two versions of a file under one weak validator within the last day; `nil` means `false`.
    package var changesUnderOneName: Bool?

    package init(limit: Int? = nil, worthwhile: Int? = nil) {
        self.limit = limit
        self.worthwhile = worthwhile
    }

    /// Least number of missing bytes for which a download begins with the number of connections that was worthwhile for
    /// another file.
    private static let leastBytes: Int64 = 32 << 20

    /// Returns how many connections to begin with, and how many of them to open at once. The others are opened as the
    /// first ones get bytes.
    ///
    /// - Parameters:
    ///   - bytes: bytes of the file still to come.
    ///   - additional: number of additional connections of all downloads; `nil` if unknown.
    package func start(missing bytes: Int64, besides additional: Int?) -> (connections: Int, atOnce: Int) {
        guard let worthwhile, bytes >= Self.leastBytes else { return (1, 1) }
        // Other downloads may use the link by now, so only a download on its own begins with the whole number.
        let isAlone = additional == 0
        let atOnce = max(1, min(worthwhile / 2, isAlone ? Self.mostAlone / 2 : Self.mostBeside))
        return (isAlone ? max(atOnce, min(worthwhile, Self.mostAlone)) : atOnce, atOnce)
    }

    /// Maximum number of connections that a large file begins with: alone, and beside other downloads.
    private static let (mostAlone, mostBeside) = (16, 4)
}

/// Fact that is kept about each host.
package enum HostFact: CaseIterable, Sendable {
    case limit, worthwhile, changeUnderOneName

    package func set(_ count: Int, of host: inout KnownHost) {
        switch self {
        case .limit: host.limit = count
        case .worthwhile: host.worthwhile = count
        case .changeUnderOneName: host.changesUnderOneName = true
        }
    }

    package func forget(of host: inout KnownHost) {
        switch self {
        case .limit: host.limit = nil
        case .worthwhile: host.worthwhile = nil
        case .changeUnderOneName: host.changesUnderOneName = nil
        }
    }

    /// Age in seconds at which a fact is forgotten. The worthwhile number is forgotten sooner, because it also depends
    /// on the load of the network.
    package var lifetime: Double {
        switch self {
        case .limit, .changeUnderOneName: 24 * 3600
        case .worthwhile: 3600
        }
    }
}
