/// Decides whether bytes of an answer may be joined to those on disk. The decision depends on where the answer comes
/// from, and on what proves that the answer and the bytes on disk are of one file.
/// ``decision(from:to:overlap:isSameLength:)`` is the table in docs/design/resume.md.
package struct JoinTerms: Sendable, Equatable, Codable {
    /// Where the answer comes from, relative to the bytes on disk.
    package enum Source: String, Sendable, Equatable, Codable {
        /// The URL that the bytes on disk came from, or a URL that differs from it only in its query.
        case sameURL
        /// The same URL, which now redirects to another place. That place is another resource, with its own tags (RFC
        /// 9110 §8.8.1).
        case redirectedElsewhere
        /// Another place, which has the same file according to the application.
        case vouchedURL
        /// Another place: a mirror, or a URL that replaced the earlier one.
        case otherURL
    }

    package enum Decision: Sendable, Equatable {
        /// The bytes may be joined. If the bytes right before the first missing one were requested too, they are
        /// compared.
        case join
        /// The bytes may be joined once blocks from all over the file on disk agree.
        case joinIfBlocksAgree
        /// Nothing shows that the answer is of the version on disk.
        case unnamed
        /// The answer is of another version, or of another file.
        case changed
    }

    package var source = Source.sameURL
    /// Whether a digest will prove the whole file, wherever its parts come from.
    var hasDigest = false
    /// Whether bytes may be joined even if the answer names no version, as long as the compared bytes agree. `true` if
    /// the user allows this, if another program began the file, or if the application named the link and no version is
    /// known.
    var mayBeUnnamed = false

    /// - Parameters:
    ///   - known: validator of the version on disk.
    ///   - named: validator of the answer.
    ///   - overlap: bytes of the answer that are on disk too, and are compared.
    ///   - isSameLength: whether the answer gives the complete length, and this length is the known one.
    package func decision(from known: Validator, to named: Validator, overlap: Int64, isSameLength: Bool) -> Decision {
        switch (source, known.compare(named)) {
        case (.sameURL, .different), (.redirectedElsewhere, .different): .changed
        case (.sameURL, _) where hasDigest || known.isProven(by: named): .join
        // A server that had a strong validator for the version and has none any more may have another version.
        case (.sameURL, _) where !known.isStrong && known.agrees(with: named): .joinIfBlocksAgree
        case (.sameURL, _): mayBeUnnamed ? .joinIfBlocksAgree : .unnamed

        case (_, _) where hasDigest: .join
        // The same tag at two places may name two files, because servers make tags from a length and a date.
        case (.redirectedElsewhere, _) where mayBeUnnamed || known.agrees(with: named): .joinIfBlocksAgree
        case (.redirectedElsewhere, _): .unnamed
        case (_, .same): .joinIfBlocksAgree
        case (.vouchedURL, _) where overlap > 0 && isSameLength: .joinIfBlocksAgree
        case (_, .maybe) where overlap > 0 && known.lastModified != nil && known.lastModified == named.lastModified:
            .joinIfBlocksAgree
        case (_, _): .changed
        }
    }

    /// Returns the validator to record after bytes of the answer were joined. Without a digest this is `known`. With a
    /// digest it is `named` in two cases: if `known` is empty, or if the answer comes from another URL of the file and
    /// a non-empty `named` does not compare as `same`.
    package func name(_ known: Validator, _ named: Validator) -> Validator {
        guard hasDigest else { return known }
        if source == .sameURL || source == .redirectedElsewhere { return known.isEmpty ? named : known }
        return named.isEmpty || known.compare(named) == .same ? known : named
    }
}
