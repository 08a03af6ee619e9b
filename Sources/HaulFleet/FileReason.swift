internal import Foundation

/// Finds the system's reason for a failed file operation of Foundation. Foundation's own sentence repeats the file
/// name, and on Linux may only name an error domain.
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
