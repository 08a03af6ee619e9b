package import Foundation

/// Stage of a film that is made from a stream.
package enum StreamStage: String, Sendable, Hashable, Codable {
    /// The partial file is a log (``StreamLog``). The reader of the stream decides where the log ends.
    case log
    /// The film is being put together beside the log. The stage stays if the run ends before the film is complete.
    case assembling
    /// The partial file is the film.
    case film

    /// Whether the partial file is a log.
    package var isLog: Bool { self != .film }
}

/// Facts about the representation that is being downloaded, from the answers so far: the version that the bytes on disk
/// belong to.
///
/// A value: an application with its own HTTP client keeps it beside the partial file, for example as JSON, and makes
/// the next request from it with ``RangeRequest/resuming(_:at:isPlain:)``. The encoded form may hold the query of a URL
/// that a redirect led to, so it is as secret as that URL.
public struct Resource: Sendable, Hashable, Codable {
    /// Complete length in bytes; `nil` until a server gave it or the body ended.
    public package(set) var total: Int64?
    package var validator: Validator
    package var contentType: String?
    /// The content coding that the server applied although none was requested; `nil` for none. Bytes are kept as sent,
    /// and no range of them is requested.
    package var contentCoding: String?
    /// `false` once the server has shown that its ranges cannot be trusted.
    package var hasUsableRanges: Bool
    /// Whether the server advises against range requests (RFC 9110 §14.3); `nil` means `false`. An interrupted download
    /// requests the missing bytes all the same, because a refusal costs nothing. But the server gets no additional
    /// connections, because their range requests would probably fail.
    var advisesAgainstRanges: Bool?
    /// `false` if only the closing of the connection marked the end, so that nothing proves that the body is whole.
    package var isFramed: Bool
    /// Whether the bytes on disk come from another program and no answer with a validator has been joined to them yet;
    /// `nil` means `false`.
    var isUnproved: Bool?
    /// The digest that the server announced (`Repr-Digest`, RFC 9530).
    package var digest: DownloadRequest.Checksum?
    /// Whether a mirror announced the digest, for its own file. Such a digest proves nothing about bytes of another
    /// source. `nil` means `false`.
    var isDigestOfMirror: Bool?
    /// Stage of a film from a stream; `nil` for every other file.
    package var stream: StreamStage?
    /// Identity of the film's log while the finished film has not replaced the log yet; otherwise `nil`.
    package var log: FileStatus?
    /// Gaps of a finished film, one line each for people; `nil` for a film without gaps.
    package var gaps: [String]?
    /// Segments that a finished film lacks; `nil` for a film without gaps, and for a recording.
    package var missing: FilmGaps?
    /// Audio tracks of a finished film that end clearly before the film, one line each for people; `nil` if none does.
    package var shortSounds: [String]?
    /// The mirror that these facts come from; `nil` if they come from the download's own URL.
    package var mirror: URL?
    /// The URL that these facts come from, without query and user info. `nil` if the application has never supplied a
    /// link in addition to the request (``ExpiringURL/isVouchedFor``).
    package var place: URL?
    /// The URL that redirects led to for the bytes on disk, without user info; `nil` if there was no redirect.
    package var redirectedTo: URL?

    /// Missing parts of a finished film, one line each for people.
    package var gapLines: [String] { (gaps ?? []) + (shortSounds ?? []) }

    package init(total: Int64?, validator: Validator = Validator()) {
        self.total = total
        self.validator = validator
        self.hasUsableRanges = true
        self.isFramed = true
    }

    /// Reads the head of a 200 answer.
    package init(whole head: ResponseHead) {
        let length = head.contentLength
        self.init(total: length, validator: Validator(head))
        contentType = head.mediaType
        contentCoding = head.contentCoding
        if head.headers.first(name: "Accept-Ranges")?.lowercased() == "none" { advisesAgainstRanges = true }
        isFramed = length != nil || head.isFramed
        digest = head.digest
        redirectedTo = head.redirectedTo
        if head.isStreamLog { stream = .log }
    }

    /// Returns this resource with the length that an earlier answer has named, if the body of the present answer ends
    /// only with the connection and the validators agree. A version has one length, so a shorter body is a part of the
    /// file. Without a validator in common, the body may be of another version, and the length stays unknown. A length
    /// at which the connection of an earlier answer ended does not count, because nothing proves it.
    func withLength(of earlier: Resource?) -> Resource {
        guard let earlier, let length = earlier.total, earlier.isFramed, !isFramed, stream == nil,
            earlier.stream == nil, contentCoding == earlier.contentCoding, earlier.validator.agrees(with: validator)
        else { return self }
        var resource = self
        (resource.total, resource.isFramed) = (length, true)
        return resource
    }

    /// Returns the resource of a file that another program has begun.
    ///
    /// - Parameter total: complete length, if the other program knew it.
    package static func unproved(total: Int64?) -> Resource {
        var resource = Resource(total: total)
        resource.isUnproved = true
        return resource
    }

    /// Returns the resource of a file that another program began, after bytes of this answer may be joined to those on
    /// disk. The bytes on disk are then of the version that the answer names. If the answer names none, bytes are
    /// compared before each resume.
    func proved(by head: ResponseHead) -> Resource {
        var resource = self
        resource.validator = Validator(head)
        resource.isUnproved = resource.validator.isEmpty ? true : nil
        resource.contentType = head.mediaType
        return resource
    }

    /// Returns whether an answer to a request for the same URL comes from the resource of the bytes on disk: whether
    /// redirects lead to the same place. Another host or path is another resource, whose tag may be the same by chance
    /// (RFC 9110 §8.8.1).
    func isServed(by head: ResponseHead) -> Bool {
        if redirectedTo == nil, !head.isRedirected { return true }
        return (redirectedTo ?? head.requested).isSamePlace(as: head.url)
    }
}
