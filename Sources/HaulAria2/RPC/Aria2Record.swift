internal import Crypto
internal import Foundation
package import HaulKit
internal import NIOCore

/// Data for aria2's clients in the metadata of a download: the GID that a client or a session file chose, the URIs, and
/// the options with which the download was added. Values that may be secret are only in the request.
package struct Aria2Record: Sendable {
    package var gid: GID?
    /// The URIs; empty if the URL of the request is the only one.
    package var uris: [String]
    private var options: [String: Aria2Value]
    /// Digests of the URL and of the header fields that an aria2 client or aria2's command line gave; `nil` if another
    /// client added the download.
    private var given: (url: String, fields: String)?

    package init(gid: GID?, uris: [String], options: Aria2Options, of request: DownloadRequest) {
        self.gid = gid
        self.uris = uris.count > 1 ? uris : []
        self.options = Self.kept(options)
        given = (Self.digest(request.url), Self.digest(request.headers))
    }

    /// The URIs of a download for a client. Masks a URL that came over another interface, perhaps later, because it may
    /// contain secrets.
    func shownURIs(of snapshot: DownloadSnapshot) -> [String] {
        if !uris.isEmpty { return uris }
        let (whole, masked) = (snapshot.url.absoluteString, snapshot.url.masked)
        return [whole == masked || given?.url == Self.digest(snapshot.url) ? whole : masked]
    }

    /// Returns the header fields of a request if they are those that came over aria2's interface. Other fields may
    /// contain the token of a hub or the cookies of a browser.
    func shownFields(of request: DownloadRequest) -> [HeaderField] {
        given?.fields == Self.digest(request.headers) ? request.headers : []
    }

    private static func digest(_ url: URL) -> String { digest(of: url.absoluteString) }

    private static func digest(_ fields: [HeaderField]) -> String {
        digest(of: fields.map { "\($0.name): \($0.value)\n" }.joined())
    }

    private static func digest(of text: String) -> String {
        Data(SHA256.hash(data: Data(text.utf8)).prefix(16)).base64EncodedString()
    }

    /// Replaces the options that a client has changed.
    mutating func change(_ changed: Aria2Options) { options.merge(Self.kept(changed)) { $1 } }

    private static func kept(_ options: Aria2Options) -> [String: Aria2Value] {
        let kept = options.filtered { !$0.isSecret && !inRequest.contains($0.name) }
        return kept.values.mapValues { list in .list(list.map { .text($0) }) }
    }

    /// Options that are read from the request, or that matter only for adding.
    private static let inRequest: Set<String> = ["header", "gid", "pause", "http-user", "http-passwd"]

    /// Reads the metadata of a download. Without metadata, or with an application's own metadata, the record is empty.
    package init(_ metadata: DownloadRequest.Metadata?) {
        (gid, uris, options, given) = (nil, [], [:], nil)
        guard let json = metadata?.json, json.utf8.count <= 1 << 20,
            case .structure(let members)? = Aria2JSONReader.value(of: Array(json.utf8))
        else { return }
        if case .text(let text)? = members["gid"] { gid = GID(text) }
        if case .list(let list)? = members["uris"] { uris = list.compactMap(\.optionText) }
        if case .structure(let options)? = members["aria2"] { self.options = options }
        if case .text(let url)? = members["url"], case .text(let fields)? = members["fields"] { given = (url, fields) }
    }

    /// The record in the form of ``DownloadRequest/metadata``.
    package var metadata: DownloadRequest.Metadata {
        var members: [String: Aria2Value] = ["aria2": .structure(options)]
        members["gid"] = gid.map { .text($0.description) }
        if !uris.isEmpty { members["uris"] = .list(uris.map { .text($0) }) }
        if let given { (members["url"], members["fields"]) = (.text(given.url), .text(given.fields)) }
        var buffer = ByteBuffer()
        buffer.writeJSON(.structure(members))
        return DownloadRequest.Metadata(json: String(buffer: buffer))
    }

    /// Returns the last value of an option; cheaper than ``allOptions``.
    func option(_ name: String) -> String? {
        guard case .list(let values)? = options[name], case .text(let text)? = values.last else { return nil }
        return text
    }

    /// All options, without unknown names and invalid values.
    var allOptions: Aria2Options {
        var result = Aria2Options()
        for case (let name, .list(let values)) in options {
            for value in values {
                // Leaves out an unknown name or an invalid value, because the store may have been edited.
                try? result.set(name, value.optionText ?? "")
            }
        }
        return result
    }
}
