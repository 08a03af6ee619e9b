/// The name of a queue, which is the name of its schema in PostgreSQL.
package struct QueueName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package static let standard = QueueName(checked: "haul")

    package var description: String { text }
    /// The name as a quoted SQL identifier.
    var quoted: String { text.quotedIdentifier }

    private init(checked text: String) { self.text = text }

    /// Checks the name.
    ///
    /// - Throws: ``FleetError/Code/invalidInput`` for a reserved or malformed name.
    package init(_ text: String) throws(FleetError) {
        let isTaken = text.hasPrefix("pg_") || ["public", "information_schema"].contains(text)
        guard text.wholeMatch(of: /[a-z][a-z0-9_-]{0,47}/) != nil, !isTaken else {
            throw FleetError(
                .invalidInput,
                "A queue is named by at most 48 lower-case letters, digits, hyphens and underlines, a letter first, and not pg_… or public."
            )
        }
        self.text = text
    }
}
