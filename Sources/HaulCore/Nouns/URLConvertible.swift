public import Foundation

extension DownloadRequest {
    /// A type that gives the URL of a download: `URL`, `String`, `URLComponents`, or a type of the application.
    public protocol URLConvertible: Sendable {
        /// The URL to download.
        ///
        /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` when the value has no URL.
        func downloadURL() throws(DownloadError) -> URL
    }
}

extension URL: DownloadRequest.URLConvertible {
    /// The URL itself.
    public func downloadURL() -> URL { self }
}

extension String: DownloadRequest.URLConvertible {
    /// Parses the text as a URL. Surrounding white space and a fragment are ignored. Escapes stay as they are, and
    /// characters that a URL cannot hold are escaped, as browsers do: `/a%20b c` becomes `/a%20b%20c`.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` when the text is not a URL.
    public func downloadURL() throws(DownloadError) -> URL { try SpelledURL(self).url }
}

/// A URL together with the spelling of the text that it was read from; see ``HTTPURL``.
package struct SpelledURL: Sendable, Hashable {
    package let url: URL
    package let target: String?
    package let earlierSpelling: String?

    /// Parses a text; surrounding white space is ignored. Drops the fragment, because two texts that differ only in it
    /// name the same file.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``.
    package init(_ text: String) throws(DownloadError) {
        let isTrimmed = [text.utf8.first, text.utf8.last].allSatisfy { $0.map { (0x21...0x7E).contains($0) } ?? false }
        let text = isTrimmed ? text : text.trimmingCharacters(in: .whitespacesAndNewlines)
        let withoutFragment = text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[..<$0]) } ?? text
        if let address = HTTPURL(withoutFragment) {
            (url, target) = (address.url, address.spelling)
            // Earlier versions used `URL(string:)`, which escapes every percent sign of a part that has anything to
            // escape. They kept the fragment.
            earlierSpelling =
                target == nil && text == url.absoluteString
                ? nil : URL(string: text).map(\.absoluteString).flatMap { [url] in $0 == url.absoluteString ? nil : $0 }
            return
        }
        // Another scheme, or none: the code that uses the URL reports the error.
        guard let url = URL(string: text), !url.isAskable else { throw DownloadError.noURL }
        (self.url, target, earlierSpelling) = (url, nil, nil)
    }

    /// Returns a line of a list as text. Bytes that are not UTF-8 are escaped one by one, because only the server knows
    /// their encoding.
    package static func text(_ line: ArraySlice<UInt8>) -> String {
        let escaped = FieldText.utf8(line, of: "location".utf8)
        return escaped.map { String(decoding: $0, as: UTF8.self) } ?? String(decoding: line, as: UTF8.self)
    }
}

extension URLComponents: DownloadRequest.URLConvertible {
    /// The URL of the components.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` when the components make no URL.
    public func downloadURL() throws(DownloadError) -> URL {
        guard let url else { throw DownloadError.noURL }
        return url
    }
}

extension DownloadError {
    package static func isNoHeader(_ name: String) -> DownloadError {
        DownloadError(
            .invalidHeader,
            "The header field \(URL.cut(name)) cannot be sent: its name or its value has characters that HTTP does not allow."
        )
    }

    package static let noURL = DownloadError(
        .invalidURL,
        "A URL cannot be read. It should begin with http:// or https://; what stands in it is not shown, since it may hold a password."
    )
}

extension DownloadRequest {
    /// Makes a request with its options in one expression. The URL may be of any type of
    /// ``DownloadRequest/URLConvertible``.
    ///
    /// ```swift
    /// let requests = try zip(links, zip(titles, tokens)).map { link, more in
    ///     try DownloadRequest(
    ///         link,
    ///         to: .folder(path: "Lessons"),
    ///         headers: ["Authorization": "Bearer \(more.1)"],
    ///         suggestedName: more.0
    ///     )
    /// }
    /// ```
    ///
    /// Each parameter is the property of its name, with the same default.
    ///
    /// - Parameters:
    ///   - source: the URL.
    ///   - destination: where the file is stored.
    ///   - headers: ``DownloadRequest/headers`` by name; sent in the order of the names.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL``, or ``DownloadError/Code/invalidHeader``
    ///   for a field that ``HeaderField/init(_:_:)`` refuses.
    public init(
        _ source: some DownloadRequest.URLConvertible,
        to destination: Destination,
        method: Method = .get,
        headers: [String: String] = [:],
        suggestedName: String? = nil,
        mirrorURLs: [URL] = [],
        checksum: Checksum? = nil,
        size: Int64? = nil,
        bytesPerSecond: Int64? = nil,
        maxConnections: Int? = nil,
        onConflict: ConflictPolicy? = nil,
        failsOnChange: Bool = false,
        resumesUnverified: Bool = false,
        adopts: Adoption? = nil,
        setsModificationTime: Bool = false,
        stream: Stream? = nil,
        allowsInsecureRedirects: Bool = false,
        key: String? = nil,
        group: String? = nil,
        owner: String? = nil,
        metadata: Metadata? = nil,
        priority: Int = 0,
        startsPaused: Bool = false,
        onDuplicate: PresencePolicy = .join
    ) throws(DownloadError) {
        if let text = source as? String {
            self.init(try SpelledURL(text), to: destination)
        } else {
            self.init(try source.downloadURL(), to: destination)
        }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard let field = HeaderField(name, value) else { throw .isNoHeader(name) }
            self.headers.append(field)
        }
        (self.method, self.suggestedName, self.mirrorURLs) = (method, suggestedName, mirrorURLs)
        (self.checksum, self.size) = (checksum, size)
        (self.bytesPerSecond, self.maxConnections) = (bytesPerSecond, maxConnections)
        self.onConflict = onConflict
        (self.failsOnChange, self.resumesUnverified, self.adopts) = (failsOnChange, resumesUnverified, adopts)
        self.setsModificationTime = setsModificationTime
        self.stream = stream
        self.allowsInsecureRedirects = allowsInsecureRedirects
        (self.key, self.group, self.owner, self.metadata) = (key, group, owner, metadata)
        (self.priority, self.startsPaused, self.onDuplicate) = (priority, startsPaused, onDuplicate)
    }
}
