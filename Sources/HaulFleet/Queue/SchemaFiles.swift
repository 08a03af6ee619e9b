internal import CHaulFleetSchema

/// The SQL files of the schema, from a table in the binary. The migrations and functions name no schema; the caller
/// sets the search path to the queue's schema.
enum SchemaFiles {
    /// The texts by path below `Sources/CHaulFleetSchema/schema`.
    static let texts: [String: String] = {
        let table = UnsafeBufferPointer(start: haul_schema_assets(), count: haul_schema_asset_count())
        return Dictionary(
            table.map { entry in
                let bytes = UnsafeBufferPointer(start: entry.bytes, count: entry.count)
                return (String(cString: entry.path), String(decoding: bytes, as: UTF8.self))
            },
            uniquingKeysWith: { first, _ in first }
        )
    }()

    /// The migrations from each version of the schema to the next, in order. A released migration must never change.
    static let migrations = folder("migrations")

    /// Names of all tables that a queue has or had, without partitions.
    static let tables = Set(
        ["version"] + migrations.flatMap { $0.matches(of: /CREATE TABLE ([a-z_]+)/).map { String($0.output.1) } }
    )

    /// Returns the texts that create all functions. The last one gives the functions their settings.
    static func functions() throws(FleetError) -> [String] {
        folder("functions") + [try text("function-settings.sql")]
    }

    /// Returns the statements that grant a right.
    static func grants(
        _ right: SchemaInstaller.Right,
        in queue: QueueName,
        to role: String
    ) throws(FleetError) -> String {
        try fill(text("grants/\(right.rawValue).sql"), ["queue": queue.text, "role": role])
    }

    /// Replaces each `:"name"` by a quoted identifier, as psql does.
    ///
    /// - Throws: ``FleetError/Code/statementFailed`` for a name without a value and for a value that is not used.
    static func fill(_ text: String, _ values: [String: String]) throws(FleetError) -> String {
        let variable = /:"([a-z_]+)"/
        let names = Set(text.matches(of: variable).map { String($0.output.1) })
        guard names == Set(values.keys) else {
            throw FleetError(
                .statementFailed,
                "A file of the schema has the variables \(names.sorted()) and gets values for \(values.keys.sorted())."
            )
        }
        return text.replacing(variable) { match in values[String(match.output.1)]?.quotedIdentifier ?? "" }
    }

    private static func text(_ path: String) throws(FleetError) -> String {
        guard let text = texts[path] else {
            throw FleetError(.statementFailed, "The program lacks the file \(path) of the schema.")
        }
        return text
    }

    private static func folder(_ name: String) -> [String] {
        texts.filter { $0.key.hasPrefix(name + "/") }.sorted { $0.key < $1.key }.map(\.value)
    }
}
