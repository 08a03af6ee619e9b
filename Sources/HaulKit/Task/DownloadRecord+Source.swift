internal import Foundation

/// The link of a download, and the header fields for its origin.
extension DownloadRecord {
    /// Header fields for the origin of the current link.
    var headers: [HeaderField] {
        guard let link else { return request.headers }
        // Fields for one origin are not sent to another.
        return link.headers ?? (Origin(request.url) == Origin(link.url) ? request.headers : [])
    }

    /// Whether somebody other than the user chose `origin`: a document named the URL, or `origin` is not that of the
    /// user's URL.
    func isChosenByOthers(_ origin: Origin) -> Bool {
        request.isChosenByDocument || Origin(request.url) != origin
    }

    /// Adopts a link that the application named.
    mutating func take(_ source: DownloadSource, now: Date) {
        let earlier = link?.url ?? request.url
        if !DownloadRequest.isPlaceholder(earlier), resource?.place == nil { resource?.place = earlier.place }
        var headers = link?.headers
        if let ofSource = source.headers {
            headers = ofSource
        } else if DownloadRequest.isPlaceholder(earlier) {
            // The fields of a request without a URL are for the first origin.
            headers = request.headers
        } else if Origin(earlier) != Origin(source.url) {
            headers = nil
        }
        link = Link(url: source.url, headers: headers)
        host = source.url.host?.lowercased()
        let moment = source.expiresAt ?? LinkExpiry.date(in: source.url)
        linkExpiresAt = moment.flatMap { $0 > now ? $0 : nil }
    }
}

extension DownloadRecord {
    /// Takes over the facts about the file. Keeps `assembling`, because the machine does not know whether a film is
    /// being put together beside its log.
    mutating func take(_ resource: Resource?) {
        let isAssembling = self.resource?.stream == .assembling && resource?.stream == .log
        self.resource = resource
        if isAssembling { self.resource?.stream = .assembling }
    }

    /// Whether the partial file is not the partial file of `earlier`. Two files may have the same path: the log of a
    /// film may still be at the path of the film, while the claimed ranges belong to the film.
    func hasOtherPart(than earlier: DownloadRecord) -> Bool {
        guard partPath == earlier.partPath, let part, let before = earlier.part else {
            return partPath != earlier.partPath
        }
        return !part.isSameFile(as: before)
    }
}
