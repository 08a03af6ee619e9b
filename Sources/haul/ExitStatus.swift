import ArgumentParser
import HaulKit

/// An error of the command or of the daemon's answer, with the exit status for it.
struct Complaint: Error {
    let sentence: String
    let status: ExitStatus
    /// The problem code of the daemon's answer; `nil` if the error has another cause.
    let problemCode: String?

    init(_ sentence: String, _ status: ExitStatus, problemCode: String? = nil) {
        self.sentence = sentence
        self.status = status
        self.problemCode = problemCode
    }
}

/// The exit statuses that scripts may rely on.
enum ExitStatus: Int32 {
    case complete = 0
    case otherFailure = 1
    case refusedByServer = 2
    case network = 3
    case disk = 4
    case checksum = 5
    case fileExists = 6
    case inUse = 7
    case usage = 64
    case interrupted = 130

    init(_ error: DownloadError) { self.init(error.code) }

    init(_ code: DownloadError.Code) {
        switch code {
        case .invalidURL, .unsupportedScheme, .invalidMetalink, .invalidChecksum, .invalidHeader,
            .invalidTimetable, .invalidDestination:
            self = .usage
        case .refusedByServer, .unexpectedWebPage, .invalidStream, .protectedStream, .incompleteStream,
            .invalidSet:
            self = .refusedByServer
        case .nameNotResolved, .connectionFailed, .connectionLost, .timedOut, .tlsFailed, .proxyFailed,
            .addressDenied, .tooManyRedirects, .insecureRedirect, .malformedResponse:
            self = .network
        case .diskFull, .diskFailed, .permissionDenied, .readOnly, .nameTooLong, .tooManyOpenFiles: self = .disk
        case .checksumMismatch, .unprovedSet: self = .checksum
        case .fileExists: self = .fileExists
        case .inUse, .alreadyAdded: self = .inUse
        case .shutDown, .cancelled, .waitCancelled: self = .interrupted
        case .contentChanged, .sourceFailed, .storeFailed, .notFound, .programMissing, .internalFault:
            self = .otherFailure
        }
    }

    var code: ExitCode { ExitCode(rawValue) }
}

/// Finds the exit status of a list: the status of the first entry of the list that did not complete.
struct StatusSummary {
    private var first: (position: Int, status: ExitStatus)?
    private var hasInterrupted = false

    mutating func note(_ status: ExitStatus, at position: Int) {
        if status == .interrupted { hasInterrupted = true }
        guard status != .complete, first.map({ position < $0.position }) ?? true else { return }
        first = (position, status)
    }

    /// - Parameter isInterrupted: whether a signal came. If so, one entry with ``ExitStatus/interrupted`` takes
    ///   precedence over all failures.
    func status(isInterrupted: Bool) -> ExitStatus {
        isInterrupted && hasInterrupted ? .interrupted : first?.status ?? .complete
    }
}
