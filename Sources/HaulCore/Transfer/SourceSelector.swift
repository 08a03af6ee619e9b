package import Foundation

/// The sources of a download, with the failures, validator and speed observed for each.
package struct SourceSelector: Sendable, Equatable {
    package struct Source: Sendable, Equatable {
        package let url: URL
        /// Spelling of path and query; `nil` if `url` has the same spelling.
        package let target: String?
        package let origin: Origin
        package let priority: Int
        /// Whether the source is not asked any more, because it refused, has another file, or sent wrong bytes.
        var isDropped = false
        /// Number of consecutive attempts that failed.
        package var failures = 0
        /// Whether a piece from this source had the right digest.
        package var isProven = false
        /// Validator of the source's own answers. Sources may have different validators for one file.
        package var validator: Validator?
        /// Best speed of one connection.
        package var bytesPerSecond: Double?

        package init(_ url: URL, target: String? = nil, priority: Int) {
            self.url = url
            self.target = target
            self.priority = priority
            origin = Origin(url)
        }
    }

    package private(set) var sources: [Source]
    /// The link of the first source.
    package var link = ExpiringURL()
    /// Index of the primary source. It is asked first after every interruption, and its answers decide which version is
    /// downloaded.
    package private(set) var home: Int
    /// Whether only the primary source is asked, because the whole file was wrong and it is unknown who sent the wrong
    /// bytes.
    private var keepsToHome = false

    /// - Parameter mirrors: further URLs of the same file, each with its priority: 1 is the best.
    package init(_ url: URL, target: String? = nil, mirrors: [Metalink.Source] = []) {
        sources = [Source(url, target: target, priority: 0)]
        home = 0
        add(mirrors, insecureToo: true)
    }

    package var url: URL { sources[home].url }
    /// URL of the primary source; `nil` if that is the URL of the download.
    package var mirror: URL? { home == 0 ? nil : url }
    package var isAlone: Bool { keepsToHome || !sources.contains { !$0.isDropped && $0.url != url } }

    /// Adds mirrors that became known during the download. Known mirrors stay as they are.
    ///
    /// - Parameter insecureToo: whether a file of an `https` URL may come from an `http` mirror.
    package mutating func add(_ mirrors: [Metalink.Source], insecureToo: Bool) {
        let isSecure = Origin(sources[0].url).scheme == "https"
        for mirror in mirrors.sorted(by: { $0.priority < $1.priority })
        where sources.count < Self.most && !sources.contains(where: { $0.url == mirror.url })
            && (insecureToo || !isSecure || Origin(mirror.url).scheme == "https")
        {
            sources.append(Source(mirror.url, target: mirror.target, priority: max(1, mirror.priority)))
        }
    }

    /// Maximum number of sources of a download. More are not worth remembering.
    package static let most = 64

    package func isMirror(_ index: Int) -> Bool { index != home }

    /// Gives the first source another URL.
    ///
    /// - Parameter isSamePlace: whether the URL is the same resource under another signature.
    mutating func replaceLink(_ url: URL, isSamePlace: Bool) {
        var source = Source(url, priority: sources[0].priority)
        if isSamePlace {
            source.isProven = sources[0].isProven
            source.validator = sources[0].validator
            source.bytesPerSecond = sources[0].bytesPerSecond
        }
        sources[0] = source
    }

    /// Makes the first source the primary one.
    mutating func returnHome() { home = 0 }

    // MARK: What a source has shown

    package mutating func drop(_ index: Int) { sources[index].isDropped = true }
    package mutating func prove(_ index: Int) { sources[index].isProven = true }

    package mutating func note(_ validator: Validator, of index: Int) {
        sources[index].validator = validator
        sources[index].failures = 0
    }

    package mutating func note(_ bytesPerSecond: Double, of index: Int) {
        sources[index].bytesPerSecond = max(bytesPerSecond, sources[index].bytesPerSecond ?? 0)
    }

    /// Makes another source the primary one, because the present primary source failed. Takes the source with the
    /// fewest failures and, among several, the one with the best priority. Drops the failed source if `droppingHome` is
    /// `true`, unless it is the last one.
    ///
    /// - Returns: `false` if no other source has failed less often.
    mutating func moveOn(droppingHome: Bool) -> Bool {
        sources[home].failures += 1
        if droppingHome { sources[home].isDropped = true }
        let fewest = sources[home].isDropped ? Int.max : sources[home].failures
        let candidates = sources.indices.filter {
            !sources[$0].isDropped && $0 != home && sources[$0].failures < fewest
        }
        guard let next = candidates.min(by: { rank($0) < rank($1) }) else {
            // The last source is not dropped, because the user has to be told its answer.
            if !sources.contains(where: { !$0.isDropped }) { sources[home].isDropped = false }
            return false
        }
        home = next
        return true
    }

    /// Reacts to a wrong digest of the whole file. If several sources may have sent wrong bytes, the primary source has
    /// to bring the file alone. If it was alone already, it has the wrong file and another source follows.
    ///
    /// - Returns: `false` if nothing else can be tried.
    mutating func discardPrimary() -> Bool {
        if keepsToHome { return moveOn(droppingHome: true) }
        guard !isAlone else { return false }
        keepsToHome = true
        return true
    }

    /// Forgets drops and failures of all sources, because the user tries the download again.
    package mutating func renew() {
        home = 0
        keepsToHome = false
        for index in sources.indices {
            sources[index].isDropped = false
            sources[index].failures = 0
        }
    }

    private func rank(_ index: Int) -> (Int, Int, Int) { (sources[index].failures, sources[index].priority, index) }

    /// Returns the source of an additional connection. Each source gets one connection before any source gets a second.
    /// After that, the source is chosen whose best speed is highest when divided by its number of connections,
    /// including the new one.
    ///
    /// - Parameters:
    ///   - open: number of connections that each source has now.
    ///   - needsProof: whether pieces can be checked. Then a source gets no second connection before one of its pieces
    ///     was right. This does not apply to a primary source that is alone.
    ///   - mayAskMirrors: whether a digest will show that the sources have the same file. Nothing else shows it,
    ///     because a tag names versions of one resource (RFC 9110 §8.8.1).
    ///   - mayShareHome: whether the primary source may have additional connections.
    ///   - mayAskFirst: whether the first source has a link that may be used.
    ///   - hasSlot: whether the host has a free connection slot.
    package func next(
        open: [Int: Int],
        needsProof: Bool,
        mayAskMirrors: Bool,
        mayShareHome: Bool,
        mayAskFirst: Bool = true,
        hasSlot: (Origin) -> Bool
    ) -> Int? {
        let candidates = sources.indices.filter { index in
            let source = sources[index]
            if index == 0, !mayAskFirst { return false }
            if index != home, !mayAskMirrors { return false }
            if !hasSlot(source.origin) { return false }
            if source.isDropped || source.failures > 1 || (keepsToHome && index != home) { return false }
            if index == home, isAlone { return mayShareHome || open[index, default: 0] == 0 }
            let most = index == home ? (mayShareHome ? Int.max : 1) : Self.mostOfAMirror
            return open[index, default: 0] < (needsProof && !source.isProven ? 1 : most)
        }
        if let fresh = candidates.filter({ open[$0, default: 0] == 0 }).min(by: { rank($0) < rank($1) }) {
            return fresh
        }
        let known = sources.compactMap(\.bytesPerSecond).max() ?? 1
        return candidates.max { one, other in
            let share = { (index: Int) in (sources[index].bytesPerSecond ?? known) / Double(1 + open[index, default: 0])
            }
            return share(one) < share(other)
        }
    }

    /// Maximum number of connections to a mirror. It is small because mirrors serve voluntarily (RFC 6249 §7.1
    /// describes one for each mirror).
    private static let mostOfAMirror = 4

    mutating func noteFailure(of index: Int) { sources[index].failures += 1 }
}
