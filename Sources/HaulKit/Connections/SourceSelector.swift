internal import Foundation

/// Where the bytes of a download may come from, and what each source has shown of itself.
struct SourceSelector: Sendable, Equatable {
    struct Source: Sendable, Equatable {
        let url: URL
        /// How path and query were spelled, where `url` does not say it.
        let target: String?
        let origin: Origin
        let priority: Int
        /// Not asked any more: it refused, has another file, or sent wrong bytes.
        var isDropped = false
        /// Attempts in a row that failed.
        var failures = 0
        /// A piece of it had the right digest.
        var isProven = false
        /// What its own answers named as the version; sources may name one file differently.
        var validator: Validator?
        /// Of one connection, at its best.
        var bytesPerSecond: Double?

        init(_ url: URL, target: String? = nil, priority: Int) {
            self.url = url
            self.target = target
            self.priority = priority
            origin = Origin(url)
        }
    }

    private(set) var sources: [Source]
    /// What the first of them is asked by.
    var link = ExpiringURL()
    /// The one that is asked first after every interruption, and whose words on the version count.
    private(set) var home: Int
    /// Set when the whole came out wrong and it is unknown whose bytes they were: only the home source is asked from then on.
    private var keepsToHome = false

    /// - Parameter mirrors: further URLs of the same file, each with its priority: 1 is the best.
    init(_ url: URL, target: String? = nil, mirrors: [Metalink.Source] = []) {
        sources = [Source(url, target: target, priority: 0)]
        home = 0
        add(mirrors, insecureToo: true)
    }

    var url: URL { sources[home].url }
    /// The home source, where it is not the URL that the download was asked for.
    var mirror: URL? { home == 0 ? nil : url }
    var isAlone: Bool { keepsToHome || !sources.contains { !$0.isDropped && $0.url != url } }

    /// Takes up mirrors that became known on the way; those that are known already stay as they are.
    ///
    /// - Parameter insecureToo: whether a file of an `https` URL may come from an `http` mirror.
    mutating func add(_ mirrors: [Metalink.Source], insecureToo: Bool) {
        let isSecure = Origin(sources[0].url).scheme == "https"
        for mirror in mirrors.sorted(by: { $0.priority < $1.priority })
        where sources.count < Self.most && !sources.contains(where: { $0.url == mirror.url })
            && (insecureToo || !isSecure || Origin(mirror.url).scheme == "https")
        {
            sources.append(Source(mirror.url, target: mirror.target, priority: max(1, mirror.priority)))
        }
    }

    /// More mirrors than this are not worth remembering.
    static let most = 64

    func isMirror(_ index: Int) -> Bool { index != home }

    /// The first source has another URL now.
    ///
    /// - Parameter isSamePlace: it is the same resource, under another signature.
    mutating func replaceLink(_ url: URL, isSamePlace: Bool) {
        var source = Source(url, priority: sources[0].priority)
        if isSamePlace {
            source.isProven = sources[0].isProven
            source.validator = sources[0].validator
            source.bytesPerSecond = sources[0].bytesPerSecond
        }
        sources[0] = source
    }

    /// The first source is asked next.
    mutating func returnHome() { home = 0 }

    // MARK: What a source has shown

    mutating func drop(_ index: Int) { sources[index].isDropped = true }
    mutating func prove(_ index: Int) { sources[index].isProven = true }

    mutating func note(_ validator: Validator, of index: Int) {
        sources[index].validator = validator
        sources[index].failures = 0
    }

    mutating func note(_ bytesPerSecond: Double, of index: Int) {
        sources[index].bytesPerSecond = max(bytesPerSecond, sources[index].bytesPerSecond ?? 0)
    }

    /// After the home source failed: the next one to ask first, by priority. The first source is dropped only for good
    /// reasons, and never all of them.
    ///
    /// - Returns: false when there is no other that has failed less often.
    mutating func moveOn(droppingHome: Bool) -> Bool {
        sources[home].failures += 1
        if droppingHome { sources[home].isDropped = true }
        let fewest = sources[home].isDropped ? Int.max : sources[home].failures
        let candidates = sources.indices.filter {
            !sources[$0].isDropped && $0 != home && sources[$0].failures < fewest
        }
        guard let next = candidates.min(by: { rank($0) < rank($1) }) else {
            // The last one standing is not dropped: what it said is what the user is to hear.
            if !sources.contains(where: { !$0.isDropped }) { sources[home].isDropped = false }
            return false
        }
        home = next
        return true
    }

    /// The whole has the wrong digest. Where several sources may have had a part in that, the home source is to bring it alone;
    /// and if it was alone, it has the wrong file.
    ///
    /// - Returns: false when there is no other way to get it than the one that went wrong.
    mutating func discardPrimary() -> Bool {
        if keepsToHome { return moveOn(droppingHome: true) }
        guard !isAlone else { return false }
        keepsToHome = true
        return true
    }

    /// The user wants it tried again: every source may have changed its mind.
    mutating func renew() {
        home = 0
        keepsToHome = false
        for index in sources.indices {
            sources[index].isDropped = false
            sources[index].failures = 0
        }
    }

    private func rank(_ index: Int) -> (Int, Int, Int) { (sources[index].failures, sources[index].priority, index) }

    /// The source of a further connection. Each gets one before any gets a second; then the fastest for each connection it
    /// has already.
    ///
    /// - Parameters:
    ///   - open: connections that each source has now.
    ///   - needsProof: pieces can be checked, and a mirror gets no second connection before one was right.
    ///   - mayAskMirrors: whether a digest will show that the sources have the same file. Nothing else does: a tag names versions of
    ///     one resource (RFC 9110 §8.8.1).
    ///   - mayShareHome: whether the home source takes further connections at all.
    ///   - mayAskFirst: whether the first source has a link that may be used.
    ///   - hasSlot: whether the host has a free connection slot.
    func next(
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

    /// Connections that a mirror is given: it is somebody's kindness (RFC 6249 §7.1 has one at a time).
    private static let mostOfAMirror = 4

    mutating func noteFailure(of index: Int) { sources[index].failures += 1 }
}
