extension StreamPlan {
    /// Name of the film's version: equal only for the same resources. Has the number and the digest of the resources of
    /// each track.
    package var version: String {
        tracks.map { "\($0.track.rawValue)-\($0.resources.count)-\($0.digest)" }.joined(separator: ".")
    }
}

extension TrackPlan {
    /// Hash of the identities of the resources in 32 hexadecimal digits. The hash needs to find changes, not forgeries,
    /// because the server chooses the segments anyway.
    fileprivate var digest: String {
        var hash = PlanHash()
        let shared = sharedPlaces
        for resource in resources {
            hash.add(resource.identity)
            if shared.contains(SharedPlace(resource)) { hash.add(SegmentIdentity.query(resource.url)) }
        }
        return hash.text
    }

    /// The places that several resources have, so that only queries tell these resources apart.
    private var sharedPlaces: Set<SharedPlace> {
        guard resources.contains(where: { SegmentIdentity.query($0.url) != nil }) else { return [] }
        var seen: Set<SharedPlace> = []
        return Set(resources.map { SharedPlace($0) }.filter { !seen.insert($0).inserted })
    }
}

/// Path and range of a resource.
private struct SharedPlace: Hashable {
    let path: String
    let range: ByteRange?

    init(_ resource: StreamResource) { (path, range) = (resource.identity.path, resource.identity.range) }
}

extension StreamVariant {
    /// Hash of resolution, bandwidth and codecs in 32 hexadecimal digits. It distinguishes variants of a film whose
    /// segments have the same identities.
    package var mark: String {
        var hash = PlanHash()
        hash.add(number: Int64(resolution?.width ?? -1))
        hash.add(number: Int64(resolution?.height ?? -1))
        hash.add(number: bandwidth)
        for codec in codecs { hash.add(codec) }
        return hash.text
    }
}

extension SegmentIdentity {
    /// Digest of all fields of the identity. Finds changes, not forgeries.
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

    /// Adds each text with its length, so that two different identities never add the same bytes.
    mutating func add(_ identity: SegmentIdentity) {
        add(number: identity.number ?? -1)
        add(identity.path)
        add(number: identity.range?.lower ?? -1)
        add(number: identity.range?.upper ?? -1)
        add(identity.keyPath)
        add(identity.vector)
    }

    mutating func add(_ text: String?) {
        add(number: Int64(text?.utf8.count ?? -1))
        for byte in (text ?? "").utf8 { add(byte) }
    }

    mutating func add(number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func add(_ byte: UInt8) {
        state = (state ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b
    }
}
