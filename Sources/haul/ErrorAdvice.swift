import HaulKit

/// Appends advice about options to the message of a ``DownloadError``. HaulKit's messages name no options, because
/// applications have none.
enum ErrorAdvice {
    /// - Parameter allowsGaps: whether `--allow-gaps` is given.
    case get(allowsGaps: Bool)
    /// Advice for `haul repair`, which has no options for file names.
    case repair
    /// Advice for `haul sync`, which names its files itself.
    case sync

    func text(_ error: DownloadError) -> String {
        let sentences = [error.message, advice(error)].compactMap(\.self).joined(separator: " ")
        return error.cause.map { "\(sentences) (\($0))" } ?? sentences
    }

    private func advice(_ error: DownloadError) -> String? {
        switch (error.code, self) {
        case (.diskFull, _): "Run the same command again to resume."
        case (.refusedByServer, .sync) where error.status == 401 || error.status == 403:
            "HF_TOKEN gives the access token of a model hub; for other servers use --netrc or --header."
        case (.tlsFailed, _): "--cacert names the certificate of an authority of your own."
        case (.refusedByServer, _) where error.wantsCredentials:
            "Put them into the URL, or use --netrc or --header."
        case (.nameTooLong, .get): "Choose a shorter name with --output."
        case (.fileExists, .get): "See --output and --on-conflict."
        case (.incompleteStream, .get(allowsGaps: true)): "Run the same command again."
        case (.incompleteStream, .get): "Run the same command again, or take what is there with --allow-gaps."
        default: nil
        }
    }
}
