internal import HaulKit

extension DownloadError {
    /// Returns how the fleet treats an item that ended with this error. The downloader has already repeated attempts
    /// that may succeed.
    func ending(retryAfter: Duration?) -> DownloadEnding {
        switch code {
        case .diskFull, .readOnly, .permissionDenied, .diskFailed, .tooManyOpenFiles, .storeFailed, .shutDown,
            .cancelled, .internalFault, .waitCancelled, .inUse, .sourceFailed:
            .notTried(pausesClaims: true)
        case .nameNotResolved, .connectionFailed, .connectionLost, .timedOut, .tlsFailed, .proxyFailed,
            .malformedResponse, .contentChanged, .checksumMismatch:
            .failed(failure, isRetryable: true, retryAfter: retryAfter)
        case .refusedByServer:
            .failed(failure, isRetryable: Self.isTemporary(status), retryAfter: retryAfter)
        case .invalidURL, .unsupportedScheme, .invalidMetalink, .invalidChecksum, .invalidHeader, .invalidTimetable,
            .invalidDestination, .addressDenied, .tooManyRedirects, .insecureRedirect, .unexpectedWebPage, .nameTooLong,
            .fileExists,
            .alreadyAdded, .invalidStream, .protectedStream, .incompleteStream, .programMissing,
            .invalidSet, .unprovedSet, .notFound:
            .failed(failure, isRetryable: false, retryAfter: nil)
        }
    }

    var failure: Failure {
        Failure(status.map { "\(code.rawValue)_\($0)" } ?? code.rawValue, description)
    }

    /// Whether the status means that a later request may succeed (RFC 9110 §15, RFC 6585 §4, RFC 8470 §5.2).
    private static func isTemporary(_ status: Int?) -> Bool {
        guard let status else { return true }
        return status == 408 || status == 425 || status == 429 || status >= 500 && status != 501 && status != 505
    }
}
