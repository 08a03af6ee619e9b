import ArgumentParser
import HaulFleet
import HaulKit

/// Exit statuses, with the same numbers as those of `haul`.
enum FleetExitStatus: Int32 {
    case otherFailure = 1
    case refusedByServer = 2
    case unreachable = 3
    case disk = 4
    case unproved = 5
    case usage = 64
    case interrupted = 130

    init(_ error: FleetError) {
        self =
            switch error.code {
            case .databaseUnreachable, .destinationUnreachable: .unreachable
            case .disk: .disk
            case .invalidInput: .usage
            case .cancelled: .interrupted
            case .databaseRefused, .statementFailed, .workerUnknown, .destinationRefused: .otherFailure
            }
    }

    init(_ error: DownloadError) {
        self =
            switch error.code {
            case .invalidDestination, .invalidURL, .unsupportedScheme, .invalidHeader: .usage
            case .refusedByServer, .invalidSet, .invalidMetalink: .refusedByServer
            case .nameNotResolved, .connectionFailed, .connectionLost, .timedOut, .tlsFailed, .proxyFailed: .unreachable
            case .unprovedSet: .unproved
            case .tooManyOpenFiles, .diskFailed, .diskFull, .permissionDenied, .readOnly: .disk
            default: .otherFailure
            }
    }

    var code: ExitCode { ExitCode(rawValue) }
}
