/// The reason why a call failed, or why a download ended without its file: a stable code, a message for people, and the
/// cause that the layer below reported.
///
/// A failed download keeps its bytes, and ``Download/resume()`` continues with them. After ``Code/checksumMismatch``
/// the bytes are set aside under another name, and ``Download/resume()`` starts over.
public struct DownloadError: Error, Sendable, Hashable, Codable {
    /// Stable codes of errors. New cases may be added; scripts should treat an unknown code like ``internalFault``.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// The input cannot be used. `invalidURL`: no URL that can be requested. `unsupportedScheme`: a scheme other
        /// than `http` and `https`. `invalidMetalink`, `invalidChecksum`: a Metalink document or a checksum that cannot
        /// be read. `invalidHeader`: a header field that HTTP does not allow. `invalidTimetable`: a text that is no
        /// ``Timetable``.
        case invalidURL, unsupportedScheme, invalidMetalink, invalidChecksum, invalidHeader, invalidTimetable
        /// The requested name or folder cannot be used, such as a name that ends in `.haulpart`.
        case invalidDestination
        /// The connection failed. `nameNotResolved`: DNS. `connectionFailed`: no connection was made. `connectionLost`:
        /// the connection broke. `timedOut`: the server did not answer or stopped sending. `tlsFailed`: TLS.
        /// `proxyFailed`: the proxy.
        case nameNotResolved, connectionFailed, connectionLost, timedOut, tlsFailed, proxyFailed
        /// The server has an address that ``Downloader/Configuration/Network/deniedAddresses`` contains.
        case addressDenied
        /// The server's answer cannot be used. `tooManyRedirects`: more than 10 redirects, or a loop.
        /// `insecureRedirect`: a redirect from https to http. `malformedResponse`: an answer that is not proper HTTP,
        /// or a redirect to something other than an http or https URL.
        case tooManyRedirects, insecureRedirect, malformedResponse
        /// The server did not send the file. `refusedByServer`: an error status (``DownloadError/status``).
        /// `unexpectedWebPage`: a web page in place of the file. `contentChanged`: a file of another version or length.
        case refusedByServer, unexpectedWebPage, contentChanged
        /// The stream cannot be stored as a file. `invalidStream`: a playlist that cannot be used, or no such variant
        /// or track. `protectedStream`: the playlist requires a player with its own protection, which Haul never
        /// circumvents. `incompleteStream`: a segment is missing. `programMissing`: a program that the film or the
        /// check of a signature needs is not installed, cannot be run, or was ended by a signal.
        case invalidStream, protectedStream, incompleteStream, programMissing
        /// The set of files cannot be used. `invalidSet`: a list, a tree or an index that cannot be read, or a name in
        /// it that leaves the folder. `unprovedSet`: the signature of the list is missing, wrong or by somebody else,
        /// or the list does not name the file.
        case invalidSet, unprovedSet
        /// The ``SourceProvider`` returned no usable URL.
        case sourceFailed
        /// The system refused an operation. `diskFull`: no space or quota is left. `diskFailed`: an error of the disk.
        /// `permissionDenied`: no permission. `readOnly`: a read-only file system. `nameTooLong`: a name that is too
        /// long. `tooManyOpenFiles`: the process may not open another file or socket.
        case diskFull, diskFailed, permissionDenied, readOnly, nameTooLong, tooManyOpenFiles
        /// `fileExists`: the final name is taken. `inUse`: another download or another process uses the download, its
        /// file or the store. `alreadyAdded`: the downloader already has the download. `checksumMismatch`: the file has
        /// the wrong digest. `storeFailed`: the store cannot be used.
        case fileExists, inUse, alreadyAdded, checksumMismatch, storeFailed
        /// The store has no download with the given ID: it was never added, or it was cancelled or removed.
        case notFound
        /// The download was cancelled, or removed together with its file.
        case cancelled
        /// The waiting task was cancelled. The downloads that it waited for are not affected.
        case waitCancelled
        /// `shutDown`: ``Downloader/shutDown()`` was called. `internalFault`: a defect of Haul.
        case shutDown, internalFault
    }

    /// The stable code; branch on this, not on the message.
    public let code: Code
    /// One or two sentences for people, in English: what happened and what to do. Contains no secrets, line breaks,
    /// control characters or invisible characters.
    public let message: String
    /// The report of the layer below, without line breaks, control characters and invisible characters; `nil` if it
    /// adds nothing.
    public let cause: String?
    /// The status code (RFC 9110 §15) of the response that refused the download or its URL; `nil` for every other
    /// error.
    public let status: Int?

    /// Makes an error for tests, for previews, and for a ``SourceProvider`` that throws one.
    ///
    /// Line breaks, control characters and invisible characters are removed from the texts.
    ///
    /// - Parameters:
    ///   - code: the stable code.
    ///   - message: one or two sentences for a person, without secrets.
    ///   - cause: the report of the layer below; `nil` if it adds nothing.
    ///   - status: the response status, for ``Code/refusedByServer``.
    public init(code: Code, message: String, cause: String? = nil, status: Int? = nil) {
        self.init(code, message, cause: cause, status: status)
    }

    /// Whether the download, or the wait for it, was cancelled: ``Code/cancelled`` or ``Code/waitCancelled``. An
    /// application need not show such an error.
    public var isCancellation: Bool { code == .cancelled || code == .waitCancelled }

    package init(_ code: Code, _ message: String, cause: String? = nil, status: Int? = nil) {
        self.code = code
        // Removes invisible characters, because message and cause may quote a server, a program or a file name.
        self.message = VisibleText.line(message)
        self.cause = cause.map(VisibleText.line)
        self.status = status
    }
}

extension DownloadError: CodedByKeys {
    package enum Keys: String, CodingKey { case code, message, cause, status }

    /// Removes invisible characters from message and cause, as the other initialisers do.
    package init(values: KeyedDecodingContainer<Keys>) throws {
        self.init(
            try values.decode(Code.self, forKey: .code),
            try values.decode(String.self, forKey: .message),
            cause: try values.decodeIfPresent(String.self, forKey: .cause),
            status: try values.decodeIfPresent(Int.self, forKey: .status)
        )
    }

    package func write(to values: inout KeyedEncodingContainer<Keys>, keepsSecrets: Bool) throws {
        try values.encode(code, forKey: .code)
        try values.encode(message, forKey: .message)
        try values.encodeIfPresent(cause, forKey: .cause)
        try values.encodeIfPresent(status, forKey: .status)
    }
}

extension DownloadError: CustomStringConvertible {
    /// The message, with the cause in parentheses where there is one.
    public var description: String { cause.map { "\(message) (\($0))" } ?? message }
}

extension DownloadError {
    package init(_ error: DiskError) {
        let code: Code =
            switch error.kind {
            case .full, .quotaExceeded: .diskFull
            case .readOnly: .readOnly
            case .permissionDenied: .permissionDenied
            case .nameTooLong: .nameTooLong
            case .tooManyOpenFiles: .tooManyOpenFiles
            case .alreadyExists: .fileExists
            case .inputOutput, .notFound, .isSymbolicLink, .notAFolder, .notAFile, .fileTooLarge, .replaced, .cutShort,
                .other:
                .diskFailed
            }
        self.init(code, error.sentence)
    }

    package init(refusedWith status: Int, credentials: CredentialSource? = nil) {
        let advice =
            switch status {
            case 401: Self.refusal(of: credentials)
            case 403: "It does not allow this download; the link may have expired."
            case 404: "There is no such file at this URL."
            case 410: "The file is gone for good."
            case 407: "That is a proxy's answer, and it is not the proxy that Haul asks."
            case 429: "It asks for fewer requests; try again later."
            case 500...: "The fault is on its side; try again later."
            default: "Haul cannot use this answer."
            }
        self.init(
            .refusedByServer,
            "The server answered \(status)\(Self.reason(status)). \(advice)",
            status: status
        )
    }

    private static let wantsCredentials = "It requires a user name and password."

    /// Whether the server answered a request without credentials with 401.
    package var wantsCredentials: Bool { status == 401 && message.hasSuffix(Self.wantsCredentials) }

    /// Returns a sentence that names the source of the refused credentials, but not the credentials.
    private static func refusal(of credentials: CredentialSource?) -> String {
        switch credentials {
        case nil: wantsCredentials
        case .url: "It did not accept the user name and password of the URL."
        case .netrc: "It did not accept the user name and password of .netrc."
        case .header: "It did not accept the Authorization header field of the request."
        }
    }

    private static func reason(_ status: Int) -> String {
        let known: [Int: String] = [
            204: "No Content", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
            405: "Method Not Allowed", 407: "Proxy Authentication Required", 408: "Request Timeout", 410: "Gone",
            416: "Range Not Satisfiable", 425: "Too Early", 429: "Too Many Requests", 500: "Internal Server Error",
            502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        ]
        return known[status].map { " " + $0 } ?? ""
    }
}
