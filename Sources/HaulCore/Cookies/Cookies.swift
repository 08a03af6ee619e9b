public import Foundation

/// Cookies (RFC 6265), from a file or set by servers, as a value.
///
/// A cookie has at most 4 KiB, a host 180 cookies, the whole collection 3,000. The oldest cookies are dropped first.
public struct Cookies: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        var cookie: Cookie
        /// Rises with each new cookie. A cookie that replaces another one takes over the number of the replaced one.
        var number: Int
    }
    private var entries: [Cookie.Place: [Entry]] = [:]
    /// Number of cookies from files and servers together, at most 3,000.
    public private(set) var count = 0
    private var number = 0
    /// Number of cookies that ``init(contentsOf:)`` left out, because a browser of the Chromium family has encrypted
    /// their values.
    public private(set) var encryptedCount = 0

    package init() {}

    /// Reads a `cookies.txt` file in the format of Netscape, which curl, wget, aria2, yt-dlp and browsers write: seven
    /// fields in each line, separated by tabs. Other lines are ignored; `#HttpOnly_` at the start of a line is not a
    /// comment.
    public init(netscape text: String) {
        // Splits at LF and CR only, because a value may contain a Unicode line separator.
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if let cookie = CookieFile.read(Substring(line)) { insert(cookie, now: .distantPast) }
        }
        dropOldest()
    }

    /// Makes a collection from the cookies of a database, the least recently used first.
    package init(_ cookies: [Cookie], encryptedCount: Int) {
        for cookie in cookies { insert(cookie, now: .distantPast) }
        dropOldest()
        self.encryptedCount = encryptedCount
    }

    /// The text of a `cookies.txt` file, without expired cookies. Session cookies are included, as in curl.
    ///
    /// - Parameter now: the time that expiry is compared with.
    public func netscape(now: Date = Date()) -> String {
        let sorted = entries.values.joined().sorted { $0.number < $1.number }.map(\.cookie)
        return CookieFile.heading + sorted.filter { !$0.hasExpired(at: now) }.compactMap(CookieFile.write).joined()
    }

    package var isEmpty: Bool { count == 0 }

    package static let most = 3000
    private static let mostOfOnePlace = 180
    /// Largest number of bytes that the collection adds to a `Cookie` field. Servers refuse a much longer head.
    private static let mostFieldBytes = 8192

    /// Adds a cookie and removes the stored one with the same key. An expired cookie only removes the stored one.
    package mutating func put(_ cookie: Cookie, now: Date) {
        insert(cookie, now: now)
        dropOldest()
    }

    private mutating func insert(_ cookie: Cookie, now: Date) {
        var cookie = cookie
        if let known = vouched(cookie) {
            // A cookie that is not `Secure` must not replace one that is (RFC 6265bis §5.7).
            if known.isSecure, !cookie.isSecure { return }
            cookie.place = known.place
        }
        let key = cookie.key
        var list = entries[cookie.place] ?? []
        count -= list.count
        // A cookie that is set again keeps its position (RFC 6265 §5.3, step 11.3).
        let turn = list.first { $0.cookie.key == key }?.number
        list.removeAll { $0.cookie.key == key || $0.cookie.hasExpired(at: now) }
        if !cookie.hasExpired(at: now) {
            if list.count >= Self.mostOfOnePlace { list.removeFirst() }
            number += 1
            let index = turn.flatMap { turn in list.firstIndex { $0.number > turn } } ?? list.count
            list.insert(Entry(cookie: cookie, number: turn ?? number), at: index)
        }
        count += list.count
        entries[cookie.place] = list.isEmpty ? nil : list
    }

    /// Returns the cookie of a cookie file that a server's `cookie` replaces; `nil` if there is none. The caller gives
    /// the new cookie the place of the replaced one.
    private func vouched(_ cookie: Cookie) -> Cookie? {
        guard case .origin(let origin) = cookie.place else { return nil }
        for case .host(let host, let withSubdomains) in places(for: origin)
        where host == origin.host || host == cookie.domain {
            let place = Cookie.Place.host(host, withSubdomains: withSubdomains)
            let known = entries[place]?.first { $0.cookie.name == cookie.name && $0.cookie.path == cookie.path }
            if let known { return known.cookie }
        }
        return nil
    }

    private mutating func dropOldest() {
        let surplus = count - Self.most
        guard surplus > 0 else { return }
        let first = entries.values.joined().map(\.number).sorted()[surplus]
        for (place, list) in entries where list.contains(where: { $0.number < first }) {
            let kept = list.filter { $0.number >= first }
            entries[place] = kept.isEmpty ? nil : kept
        }
        count = Self.most
    }

    /// Returns the value of the `Cookie` field of a request (RFC 6265 §5.4); `nil` for none.
    ///
    /// - Parameter own: the user's `Cookie` fields for this origin. Their cookies are sent unchanged, in place of
    ///   stored cookies of the same name.
    package func field(for url: URL, own: [String] = [], now: Date) -> String? {
        if isEmpty, own.isEmpty { return nil }
        var pairs = own.flatMap { $0.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { !$0.isEmpty }
        let names = Set(pairs.map { $0.prefix { $0 != "=" } })
        var bytes = 0
        let matching = places(for: Origin(url)).flatMap { entries[$0] ?? [] }
            .filter { $0.cookie.isFor(url, now: now) && !names.contains($0.cookie.name[...]) }
        // Longer paths first, then older cookies.
        for cookie in matching.sorted(by: {
            ($1.cookie.path.utf8.count, $0.number) < ($0.cookie.path.utf8.count, $1.number)
        }).map(\.cookie) {
            let pair = "\(cookie.name)=\(cookie.value)"
            bytes += pair.utf8.count + 2
            guard bytes <= Self.mostFieldBytes else { break }
            pairs.append(pair)
        }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    private func places(for origin: Origin) -> [Cookie.Place] {
        let labels = origin.host.split(separator: ".", omittingEmptySubsequences: false)
        let domains = labels.indices.map { labels[$0...].joined(separator: ".") }
        return [.origin(origin), .host(origin.host, withSubdomains: false)]
            + domains.map { .host($0, withSubdomains: true) }
    }
}
