public import Foundation

/// The texts of `localizedDescription` and of alerts, in English.
extension DownloadError: LocalizedError {
    /// ``message``, without ``cause``.
    public var errorDescription: String? { message }

    /// Advice for the user; `nil` if no general advice fits.
    public var recoverySuggestion: String? {
        switch code {
        case .invalidChecksum: "Write the checksum as algorithm and hexadecimal digits: sha256:9f86d0…"
        case .invalidTimetable: "Write times with rates, such as 08:00,512k, or one rate for all day."
        case .invalidDestination, .nameTooLong: "Choose another file name."
        case .nameNotResolved, .connectionFailed, .connectionLost, .timedOut:
            "Check the network connection, then resume the download."
        case .proxyFailed: "Check the proxy settings, then resume the download."
        case .unexpectedWebPage: "Sign in to the network or to the site, then resume the download."
        case .refusedByServer: Self.recovery(fromStatus: status)
        case .contentChanged: "Remove the download and add it again to fetch the new version."
        case .diskFull: "Free disk space, then resume the download."
        case .permissionDenied, .readOnly: "Choose a folder that can be written to, or change its permissions."
        case .tooManyOpenFiles: "Run fewer downloads at once, or raise the limit of open files."
        case .fileExists: "Choose another file name, or a conflict policy that allows the existing file."
        case .inUse: "Wait until the other download or process has finished."
        case .checksumMismatch: "Check the expected checksum, or download the file from another source."
        case .unprovedSet: "Check the signature and the key ring, or get the list from its publisher."
        case .addressDenied: "Allow the address in the settings, or use another server."
        case .incompleteStream: "Resume the download later: only what is missing is fetched."
        case .programMissing: "See that the program is installed, then resume the download."
        // `invalidURL` has no advice, because the message of `noURL` says how a URL begins.
        case .invalidURL, .unsupportedScheme, .invalidHeader, .invalidMetalink, .invalidStream, .protectedStream,
            .invalidSet, .tlsFailed, .tooManyRedirects, .insecureRedirect, .malformedResponse, .sourceFailed,
            .diskFailed, .alreadyAdded, .storeFailed, .notFound, .cancelled, .waitCancelled, .shutDown, .internalFault:
            nil
        }
    }

    private static func recovery(fromStatus status: Int?) -> String? {
        switch status ?? 0 {
        case 401, 403: "Check the credentials, or get a new link."
        case 404, 410: "Check the URL."
        case 429, 500...: "Try again later."
        default: nil
        }
    }
}

extension DownloadError {
    /// Makes the error for an ID that the store does not have.
    package static func notFound(_ id: DownloadID) -> DownloadError {
        DownloadError(.notFound, "There is no download with the ID \(id).")
    }
}
