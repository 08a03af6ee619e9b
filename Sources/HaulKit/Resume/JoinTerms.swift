/// What decides whether bytes of an answer may be joined to those on disk: where the answer comes from, and what proves that both are
/// of one file. ``decision(from:to:overlap:isSameLength:)`` is the table in docs/design.md, "May these bytes be joined".
struct JoinTerms: Sendable, Equatable, Codable {
    /// Where the answer comes from, seen from the bytes on disk.
    enum Source: String, Sendable, Equatable, Codable {
        /// The URL that they came from, or one that differs from it in its query only.
        case sameURL
        /// The same URL, which redirects to another place now: another resource, of which the tags are another's too (RFC 9110
        /// §8.8.1).
        case redirectedElsewhere
        /// Another place, of which the application says that it has the same file.
        case vouchedURL
        /// Another place: a mirror, or a URL that replaced the earlier one.
        case otherURL
    }

    enum Decision: Sendable, Equatable {
        /// The bytes may be joined; those right before the first missing one are compared if they were asked for.
        case join
        /// The bytes may be joined once blocks from all over what is on disk agree.
        case joinIfBlocksAgree
        /// Nothing shows that the answer is of the version on disk.
        case unnamed
        /// The answer is of another version, or of another file.
        case changed
    }

    var source = Source.sameURL
    /// A digest will prove the whole, wherever its parts come from.
    var hasDigest = false
    /// The user wants bytes joined even where an answer names no version, if those that are compared agree.
    var mayBeUnnamed = false

    /// - Parameters:
    ///   - known: how the version on disk was named.
    ///   - named: how the answer names its version.
    ///   - overlap: bytes of the answer that are on disk too, and are compared.
    ///   - isSameLength: the answer says how long the whole is, and that is as known.
    func decision(from known: Validator, to named: Validator, overlap: Int64, isSameLength: Bool) -> Decision {
        switch (source, known.compare(named)) {
        case (.sameURL, .different), (.redirectedElsewhere, .different): .changed
        case (.sameURL, _) where hasDigest || known.isProven(by: named): .join
        // Who had a strong name for the version and has none any more has perhaps another version.
        case (.sameURL, _) where !known.isStrong && known.agrees(with: named): .joinIfBlocksAgree
        case (.sameURL, _): mayBeUnnamed ? .joinIfBlocksAgree : .unnamed

        case (_, _) where hasDigest: .join
        // One name at two places may be the name of two files: servers make tags of a length and a date.
        case (.redirectedElsewhere, _) where mayBeUnnamed || known.agrees(with: named): .joinIfBlocksAgree
        case (.redirectedElsewhere, _): .unnamed
        case (_, .same): .joinIfBlocksAgree
        case (.vouchedURL, _) where overlap > 0 && isSameLength: .joinIfBlocksAgree
        case (_, .maybe) where overlap > 0 && known.lastModified != nil && known.lastModified == named.lastModified:
            .joinIfBlocksAgree
        case (_, _): .changed
        }
    }

    /// How the version on disk is named once bytes of the answer were joined to it: a digest lets a new name count at once, in place of
    /// none, and of the other place's.
    func name(_ known: Validator, _ named: Validator) -> Validator {
        guard hasDigest else { return known }
        if source == .sameURL || source == .redirectedElsewhere { return known.isEmpty ? named : known }
        return named.isEmpty || known.compare(named) == .same ? known : named
    }
}
