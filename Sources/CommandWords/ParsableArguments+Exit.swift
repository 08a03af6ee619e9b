package import ArgumentParser
internal import Foundation
internal import HaulKit

extension ParsableArguments {
    /// Ends the process as `exit(withError:)` does, but masks user info and query of URLs in the message.
    ///
    /// - Parameter error: `nil` for success.
    package static func exit(maskingSecretsOf error: (any Error)?) -> Never {
        guard let error, exitCode(for: error) != .success else { exit(withError: error) }
        let text = URL.maskedText(fullMessage(for: error), knowing: nil)
        // `FileHandle` would trap if standard error accepts no data.
        let bytes = Array((text + "\n").utf8)
        if !text.isEmpty { _ = write(STDERR_FILENO, bytes, bytes.count) }
        Foundation.exit(exitCode(for: error).rawValue)
    }
}
