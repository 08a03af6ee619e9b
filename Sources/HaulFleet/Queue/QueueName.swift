/// The name of a queue, which is the name of its schema in PostgreSQL.
package struct QueueName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package static let standard = QueueName(checked: "haul")

    package var description: String { text }
    /// As an identifier in SQL.
    var quoted: String { text.quotedIdentifier }

    private init(checked text: String) { self.text = text }

    /// - Throws: ``FleetError/Code/invalidInput``.
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
