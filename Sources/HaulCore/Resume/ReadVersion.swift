/// A version of a file, told from other versions of the same download by its length and validator.
package struct ReadVersion: Sendable, Equatable {
    /// Length of the file in bytes.
    package let total: Int64
    private let validator: Validator

    /// Returns `nil` if the file cannot be read by position: its length is unknown, it is the log of a film, or another
    /// program began it and no answer with a validator has been joined to its bytes.
    package init?(_ resource: Resource?, isFinished: Bool = false) {
        guard let resource, let total = resource.total else { return nil }
        guard isFinished || resource.stream?.isLog != true && resource.isUnproved != true else { return nil }
        (self.total, validator) = (total, resource.validator)
    }

    /// Whether the server names versions so that equal names mean equal bytes.
    package var isNamed: Bool { validator.isStrong }

    /// A short name, made from the validator.
    package var name: String {
        let text = (validator.entityTag?.text ?? "") + "\n" + (validator.lastModified ?? "")
        return String(StableHash.of(text.utf8), radix: 36)
    }

    /// Whether two files are of the same version for certain.
    package func isSame(as other: ReadVersion) -> Bool {
        total == other.total && validator.isStrong && validator == other.validator
    }
}
