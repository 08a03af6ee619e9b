import HaulKit

/// The text of an error as a command prints it: the library's message, and the option of the command that helps. Messages of the
/// library name no options, since applications have none.
enum ErrorAdvice {
    case get
    /// Has no options for file names.
    case repair

    func text(_ error: DownloadError) -> String {
        let sentences = [error.message, advice(error)].compactMap(\.self).joined(separator: " ")
        return error.cause.map { "\(sentences) (\($0))" } ?? sentences
    }

    private func advice(_ error: DownloadError) -> String? {
        switch (error.code, self) {
        case (.diskFull, _): "Run the same command again to resume."
        case (.tlsFailed, _): "--cacert names the certificate of an authority of your own."
        case (.refusedByServer, _) where error.wantsCredentials:
            "Put them into the URL, or use --netrc or --header."
        case (.nameTooLong, .get): "Choose a shorter name with --output."
        case (.fileExists, .get): "See --output and --on-conflict."
        default: nil
        }
    }
}
