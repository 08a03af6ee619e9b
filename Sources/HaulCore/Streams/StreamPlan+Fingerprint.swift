extension StreamPlan {
    /// A short value that tells whether a playlist read later lists the same film.
    package struct Fingerprint: Sendable, Hashable, Codable {
        package struct Track: Sendable, Hashable, Codable {
            package let track: StreamTrack
            /// Number of resources.
            package let count: Int
            /// The sequence number of the first segment.
            package let first: Int64
            /// 32 hexadecimal digits over the identities of all resources.
            package let digest: String
            package let isEnded: Bool
        }

        package let tracks: [Track]
    }

    /// The relation of this reading to an earlier one.
    package enum Continuation: Sendable, Hashable {
        /// The same resources.
        case same
        /// The same resources, and more behind them.
        case grown
        /// Other resources; a clause about the first difference.
        case different(String)
    }

    package var fingerprint: Fingerprint {
        Fingerprint(
            tracks: tracks.map {
                Fingerprint.Track(
                    track: $0.track,
                    count: $0.resources.count,
                    first: $0.firstNumber,
                    digest: $0.digest(ofFirst: $0.resources.count),
                    isEnded: $0.isEnded
                )
            }
        )
    }

    /// Tells whether this reading continues an earlier one. Indexes of resources stay the same unless it is
    /// ``Continuation/different(_:)``.
    package func continues(_ earlier: Fingerprint) -> Continuation {
        guard tracks.map(\.track) == earlier.tracks.map(\.track) else {
            return .different("it has other tracks")
        }
        var hasGrown = false
        for (track, before) in zip(tracks, earlier.tracks) {
            let count = track.resources.count
            guard track.firstNumber == before.first else {
                return .different("it begins with segment \(track.firstNumber), not \(before.first)")
            }
            guard count == before.count || count > before.count && !before.isEnded else {
                return .different("it lists \(count) resources, not \(before.count)")
            }
            guard before.count >= 0, track.digest(ofFirst: before.count) == before.digest else {
                return .different("it lists other segments")
            }
            hasGrown = hasGrown || count > before.count
        }
        return hasGrown ? .grown : .same
    }
}

extension TrackPlan {
    fileprivate var firstNumber: Int64 { resources.lazy.compactMap(\.identity.number).first ?? 0 }

    /// Hashes the identities of the first resources. The hash needs to find changes, not forgeries: the server that
    /// could forge one also chooses the segments.
    fileprivate func digest(ofFirst count: Int) -> String {
        var hash = PlanHash()
        for resource in resources.prefix(count) { hash.add(resource.identity) }
        return hash.text
    }
}

extension SegmentIdentity {
    /// Digest of all marks: differs for another segment. Finds changes, not forgeries.
    package var digest: UInt64 {
        var hash = PlanHash()
        hash.add(self)
        return UInt64(truncatingIfNeeded: hash.state)
    }
}

/// FNV-1a of 128 bits.
private struct PlanHash {
    private(set) var state: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d

    var text: String { (0..<16).map { UInt8(truncatingIfNeeded: state >> (120 - 8 * $0)) }.hexadecimal }

    /// Adds each field with its length, so that no two identities read alike.
    mutating func add(_ identity: SegmentIdentity) {
        add(number: identity.number ?? -1)
        add(identity.path)
        add(number: identity.range?.lower ?? -1)
        add(number: identity.range?.upper ?? -1)
        add(identity.keyPath)
        add(identity.vector)
    }

    private mutating func add(_ text: String?) {
        add(number: Int64(text?.utf8.count ?? -1))
        for byte in (text ?? "").utf8 { add(byte) }
    }

    private mutating func add(number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func add(_ byte: UInt8) {
        state = (state ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b
    }
}
