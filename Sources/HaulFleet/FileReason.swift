internal import Foundation

/// Why a call of Foundation about files failed, in the system's words: Foundation's own sentence names the file a second time, and
/// on Linux it may be no more than the name of an error domain.
package enum FileReason {
    package static func text(_ error: any Error) -> String {
        let error = error as NSError
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
        for error in [underlying, error].compactMap(\.self) where error.domain == NSPOSIXErrorDomain {
            return String(cString: strerror(Int32(truncatingIfNeeded: error.code)))
        }
        return error.localizedDescription
    }
}
