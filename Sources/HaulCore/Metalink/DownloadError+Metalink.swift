extension DownloadError {
    /// Error for a Metalink document that cannot be used.
    ///
    /// - Parameter reason: a clause that ends the sentence.
    package static func invalidMetalink(_ reason: String, cause: String? = nil) -> DownloadError {
        DownloadError(.invalidMetalink, "This Metalink document cannot be used: \(reason).", cause: cause)
    }
}
