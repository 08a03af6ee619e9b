internal import HaulKit

/// Asks a server for a file only if its version is no longer a known one (RFC 9110 §13.1).
struct SourceCondition: Sendable {
    let field: HeaderField

    /// - Parameter validator: an entity tag with its quotes, or the date of the last change as the server sent it.
    /// - Returns: `nil` for any other text.
    init?(_ validator: String) {
        let tag = EntityTag(validator)
        let field: HeaderField? =
            if tag.isWellFormed { HeaderField("If-None-Match", validator) } else if HTTPDate.parse(validator) != nil {
                HeaderField("If-Modified-Since", validator)
            } else { nil }
        guard let field else { return nil }
        self.field = field
    }

    /// Whether an error of a conditional download means that the server still has the known version.
    static func isUnchanged(_ error: DownloadError) -> Bool { error.code == .refusedByServer && error.status == 304 }
}
