internal import Foundation
internal import NIOHTTP1

/// What is known of the representation that is being downloaded, from the answers so far.
struct Resource: Sendable, Hashable, Codable {
    /// Complete length in bytes; nil until a server said it or the body ended.
    var total: Int64?
    var validator: Validator
    var contentType: String?
    /// A content coding that came unasked. Bytes are kept as sent, and ranges of them cannot be relied on.
    var contentCoding: String?
    /// False once the server has shown that its ranges cannot be trusted.
    var hasUsableRanges: Bool
    /// The server advises against asking for ranges (RFC 9110 §14.3). It is asked for the rest of a file all the same, which
    /// costs nothing; but no connection that works is cut short for one that likely will not. Nil as false.
    var advisesAgainstRanges: Bool?
    /// False when only the closing of the connection marked the end: nothing proves that the body is whole.
    var isFramed: Bool
    /// The bytes on disk are another program's, and have not been compared with a server's yet. Nil as false.
    var isUnproved: Bool?
    /// The digest that the server announced (`Repr-Digest`, RFC 9530).
    var digest: DownloadRequest.Checksum?
    /// It was a mirror that announced it, for its own file: it proves nothing about bytes of another source. Nil as false.
    var isDigestOfMirror: Bool?
    /// The mirror that all this is known from; nil when it is the download's own URL.
    var mirror: URL?
    /// Where it is known from, without query and user info, where the application names links; nil where it never did.
    var place: URL?
    /// Where redirects led to for the bytes on disk, without user info; nil when none did.
    var redirectedTo: URL?

    init(total: Int64?, validator: Validator = Validator()) {
        self.total = total
        self.validator = validator
        self.hasUsableRanges = true
        self.isFramed = true
    }

    /// Reads what a 200 answer says.
    init(whole head: ResponseHead) {
        let length = head.contentLength
        self.init(total: length, validator: Validator(head))
        contentType = head.mediaType
        contentCoding = head.contentCoding
        if head.headers.first(name: "Accept-Ranges")?.lowercased() == "none" { advisesAgainstRanges = true }
        isFramed = length != nil || head.isFramed
        digest = head.digest
        redirectedTo = head.redirectedTo
    }

    /// Of a file that another program has begun.
    ///
    /// - Parameter total: as that program knew it.
    static func unproved(total: Int64?) -> Resource {
        var resource = Resource(total: total)
        resource.isUnproved = true
        return resource
    }

    /// The same once bytes of this answer may be joined to those on disk, which from then on are of the version that it names.
    /// Where it names none, bytes are compared before each resume.
    func proved(by head: ResponseHead) -> Resource {
        var resource = self
        resource.validator = Validator(head)
        resource.isUnproved = resource.validator.isEmpty ? true : nil
        resource.contentType = head.mediaType
        return resource
    }

    /// Whether an answer to a request for the same URL comes from the resource that the bytes on disk came from: redirects lead to the
    /// same place. Another host or path is another resource, whose tag may be the same by chance (RFC 9110 §8.8.1).
    func isServed(by head: ResponseHead) -> Bool {
        if redirectedTo == nil, !head.isRedirected { return true }
        return (redirectedTo ?? head.requested).isSamePlace(as: head.url)
    }
}
