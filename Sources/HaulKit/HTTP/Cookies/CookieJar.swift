internal import Foundation
internal import Synchronization

/// The cookies of one run of a download, shared by all its connections and discarded with the run.
final class CookieJar: Sendable {
    private let cookies: Mutex<Cookies>
    private let collected: CookieCollection

    init(_ collected: CookieCollection) {
        self.collected = collected
        cookies = Mutex(collected.loaded)
    }

    /// Stores the cookies that an answer sets.
    ///
    /// - Parameter fields: the values of its `Set-Cookie` fields.
    func store(_ fields: [String], from url: URL) {
        guard !fields.isEmpty else { return }
        let now = Date()
        let new = fields.compactMap { Cookie($0, from: url, now: now) }
        cookies.withLock { cookies in
            for cookie in new { cookies.put(cookie, now: now) }
        }
        collected.put(new, now: now)
    }

    func field(for url: URL, own: [String]) -> String? {
        cookies.withLock { $0.field(for: url, own: own, now: Date()) }
    }
}

extension CookieJar: Equatable {
    static func == (left: CookieJar, right: CookieJar) -> Bool { left === right }
}

/// The cookies that every download begins with. With ``Downloader/Configuration/Network/collectsCookies``, also the
/// cookies that servers set in any download.
final class CookieCollection: Sendable {
    let loaded: Cookies
    private let isCollecting: Bool
    private let all: Mutex<Cookies>

    init(_ loaded: Cookies = Cookies(), isCollecting: Bool = false) {
        self.loaded = loaded
        self.isCollecting = isCollecting
        all = Mutex(loaded)
    }

    func put(_ cookies: [Cookie], now: Date) {
        guard isCollecting else { return }
        all.withLock { all in
            for cookie in cookies { all.put(cookie, now: now) }
        }
    }

    var cookies: Cookies { all.withLock(\.self) }
}
