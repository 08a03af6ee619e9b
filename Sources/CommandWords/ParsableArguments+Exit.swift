package import ArgumentParser
internal import Foundation
internal import HaulKit

extension ParsableArguments {
    /// Ends the process as `exit(withError:)` does. What is said of a wrong argument shows a URL in it without user info and query.
    ///
    /// - Parameter error: `nil` for success.
    package static func exit(maskingSecretsOf error: (any Error)?) -> Never {
        guard let error, exitCode(for: error) != .success else { exit(withError: error) }
        let text = URL.maskedText(fullMessage(for: error), knowing: nil)
        // FileHandle would trap where standard error takes nothing.
        let bytes = Array((text + "\n").utf8)
        if !text.isEmpty { _ = write(STDERR_FILENO, bytes, bytes.count) }
        Foundation.exit(exitCode(for: error).rawValue)
    }
}
