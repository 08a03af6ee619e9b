package import Foundation

/// The head of a final response, which `RangeResponse` judges.
package struct ResponseHead: Sendable, Equatable {
    package var status: Int
    package var headers: HeaderFields
    /// The URL that answered, after redirects.
    package var url: URL
    /// The URL that was requested first.
    package var requested: URL
    /// Source of the request's credentials; `nil` if the request had none.
    package var credentials: CredentialSource?
    /// Whether the body is the log of a stream, which a reader makes from a playlist and its segments.
    package var isStreamLog = false

    package init(status: Int, headers: HeaderFields, url: URL, requested: URL, credentials: CredentialSource? = nil) {
        self.status = status
        self.headers = headers
        self.url = url
        self.requested = requested
        self.credentials = credentials
    }

    package var isRedirected: Bool { url != requested }
    /// The URL that redirects led to, without user info; `nil` without redirects.
    package var redirectedTo: URL? { isRedirected ? url.withoutUserInfo() : nil }

    /// `Content-Length`, if it frames the body: digits only, equal in all lines, no transfer coding (RFC 9112 §6.3).
    package var contentLength: Int64? {
        guard !headers.contains(name: "Transfer-Encoding") else { return nil }
        let values = headers["Content-Length"]
        guard let text = values.first, values.allSatisfy({ $0 == text }), !text.isEmpty,
            text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int64(text)
    }

    package var isFramed: Bool { contentLength != nil || BodyFraming(headers) == .chunked }

    /// Type and subtype of `Content-Type` in lower case, without parameters; `nil` without the field.
    package var mediaType: String? {
        headers.first(name: "Content-Type").map { value in
            let type = value.utf8.prefix { $0 != UInt8(ascii: ";") }
            let front = type.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            let end = front.lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            return String(decoding: end.map { front[...$0] } ?? front.prefix(0), as: UTF8.self).lowercased()
        }
    }

    package var isWebPage: Bool { mediaType == "text/html" || mediaType == "application/xhtml+xml" }

    /// The content codings; `nil` for none or `identity`.
    package var contentCoding: String? {
        let codings = headers.elements(of: "Content-Encoding").map { $0.lowercased() }.filter {
            !$0.isEmpty && $0 != "identity"
        }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    package var contentRange: ContentRange? {
        let values = headers["Content-Range"]
        return values.count == 1 ? ContentRange(values[0]) : nil
    }

    package var digest: DownloadRequest.Checksum? {
        ReprDigest.checksum(reprDigest: headers["Repr-Digest"], digest: headers["Digest"])
    }
}

extension ResponseHead {
    /// Makes the head of an answer without redirects.
    package init(status: Int, fields: [(String, String)], url: URL) {
        self.init(status: status, headers: HeaderFields(fields), url: url, requested: url)
    }
}
