internal import HaulKit

/// Asks a server for a file only if its version is no longer a known one (RFC 9110 §13.1).
struct SourceCondition: Sendable {
    /// Maximum length of a validator in bytes. Servers refuse long header fields.
    private static let longest = 1024

    let field: HeaderField

    /// - Parameter validator: an entity tag with its quotes, or the date of the last change as the server sent it.
    /// - Returns: `nil` for any other text, and for a very long one.
    init?(_ validator: String) {
        guard validator.utf8.count <= Self.longest else { return nil }
        let tag = EntityTag(validator)
        let field: HeaderField? =
            if tag.isWellFormed { HeaderField("If-None-Match", validator) } else if HTTPDate.parse(validator) != nil {
                HeaderField("If-Modified-Since", validator)
            } else { nil }
        guard let field else { return nil }
        self.field = field
    }

    /// Makes the condition of an item.
    ///
    /// - Returns: `nil` for an item without a known version, and for one with mirrors, because the version is that of
    ///   `url`, and not that of a mirror.
    init?(_ lease: LeasedItem) {
        guard lease.mirrors.isEmpty, let validator = lease.validator else { return nil }
        self.init(validator)
    }

    /// Returns the validator of a file by which the server of `lease.url` can be asked later; `nil` if the server named
    /// none, if another URL had the file, or if a mirror may have named it.
    static func validator(of file: CompletedDownload, _ lease: LeasedItem) -> String? {
        guard lease.mirrors.isEmpty, file.finalURL == nil, let validator = file.validator else { return nil }
        return SourceCondition(validator) == nil ? nil : validator
    }

    /// Whether an error of a conditional download means that the server still has the known version.
    static func isUnchanged(_ error: DownloadError) -> Bool { error.code == .refusedByServer && error.status == 304 }
}
