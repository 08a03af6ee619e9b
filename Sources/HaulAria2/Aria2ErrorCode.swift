package import HaulKit

/// aria2's exit statuses, which its RPC also returns as the `errorCode` of a download.
package enum Aria2ErrorCode: Int, Sendable, Codable, CaseIterable {
    case complete = 0
    case unknown = 1
    case timeout = 2
    case notFound = 3
    case tooManyNotFound = 4
    case tooSlow = 5
    case network = 6
    case unfinished = 7
    case cannotResume = 8
    case diskFull = 9
    case pieceLengthChanged = 10
    case sameFile = 11
    case sameTorrent = 12
    case fileExists = 13
    case renameFailed = 14
    case openFailed = 15
    case createFailed = 16
    case fileInputOutput = 17
    case folderFailed = 18
    case nameResolution = 19
    case metalink = 20
    case ftp = 21
    case badResponse = 22
    case tooManyRedirects = 23
    case authorization = 24
    case bencoding = 25
    case torrent = 26
    case magnet = 27
    case badOption = 28
    case overloaded = 29
    case badRequest = 30
    case reserved = 31
    case checksum = 32

    /// Returns the code of a failed download.
    package init(_ error: DownloadError) {
        self =
            switch error.code {
            case .refusedByServer: Self.refusal(error.status)
            case .invalidURL, .unsupportedScheme, .sourceFailed, .addressDenied, .connectionFailed, .tlsFailed,
                .proxyFailed:
                .unknown
            case .invalidMetalink: .metalink
            case .invalidChecksum, .invalidHeader, .invalidTimetable: .badOption
            case .invalidDestination, .nameTooLong, .permissionDenied, .readOnly: .createFailed
            case .nameNotResolved: .nameResolution
            case .connectionLost: .network
            case .timedOut: .timeout
            case .tooManyRedirects, .insecureRedirect: .tooManyRedirects
            case .malformedResponse, .unexpectedWebPage, .invalidStream, .protectedStream, .invalidSet:
                .badResponse
            case .incompleteStream: .notFound
            case .contentChanged: .cannotResume
            case .diskFull: .diskFull
            case .diskFailed: .fileInputOutput
            case .tooManyOpenFiles: .openFailed
            case .fileExists: .fileExists
            case .inUse, .alreadyAdded: .sameFile
            case .checksumMismatch, .unprovedSet: .checksum
            case .cancelled, .waitCancelled, .shutDown: .unfinished
            case .notFound, .storeFailed, .programMissing, .internalFault: .unknown
            }
    }

    private static func refusal(_ status: Int?) -> Self {
        switch status {
        case 404: .notFound
        case 401, 407: .authorization
        case 429, 503: .overloaded
        case 504: .timeout
        default: .badResponse
        }
    }
}
