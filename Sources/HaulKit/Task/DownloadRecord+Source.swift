internal import Foundation

/// The link of a download, and what may be sent to its origin.
extension DownloadRecord {
    /// The header fields that go to the origin of the present link.
    var headers: [HeaderField] {
        if let headers = wishes.linkHeaders { return headers }
        guard let link = wishes.link.flatMap(URL.init(string:)) else { return wishes.headers }
        // What was meant for one origin is not for another to hear.
        return URL(string: url).map { Origin($0) == Origin(link) } == true ? wishes.headers : []
    }

    /// Whether an origin is another than that of a URL that the user named.
    func isChosenByOthers(_ origin: Origin) -> Bool {
        wishes.isChosenByDocument == true || URL(string: url).map { Origin($0) != origin } ?? true
    }

    /// Takes over a link that the application named.
    mutating func take(_ source: DownloadSource, now: Date) {
        let earlier = URL(string: wishes.link ?? url)
        if let earlier, !DownloadRequest.isPlaceholder(earlier), resource?.place == nil {
            resource?.place = earlier.place
        }
        if let headers = source.headers {
            wishes.linkHeaders = headers
        } else if let earlier, DownloadRequest.isPlaceholder(earlier) {
            // There was nobody else that they can have been meant for.
            wishes.linkHeaders = wishes.headers
        } else if earlier.map({ Origin($0) != Origin(source.url) }) ?? true {
            wishes.linkHeaders = nil
        }
        wishes.link = source.url.absoluteString
        host = source.url.host?.lowercased()
        let moment = source.expiresAt ?? LinkExpiry.date(in: source.url)
        linkExpiresAt = moment.flatMap { $0 > now ? $0 : nil }
    }
}
