internal import Foundation
internal import HaulKit

/// Header fields for the requests to some origins, from the worker's own environment and files. The queue does not have
/// them, so the database and its backups hold no token.
package struct OriginFields: Sendable {
    private let fields: [Origin: [HeaderField]]

    private init(_ fields: [Origin: [HeaderField]]) { self.fields = fields }

    /// Returns the access token of a model hub (`HF_TOKEN`) as a field for the origin of `HF_ENDPOINT`, else of the
    /// hub's standard address. The token file that the hub's own login command writes is not read, because it was made
    /// for other uses.
    ///
    /// - Returns: `nil` without a token.
    /// - Throws: ``FleetError/Code/invalidInput`` for an address or a token that cannot be used.
    package static func hub(_ environment: [String: String]) throws(FleetError) -> OriginFields? {
        let token = environment["HF_TOKEN"]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard !token.isEmpty else { return nil }
        let address = environment["HF_ENDPOINT"].flatMap { $0.isEmpty ? nil : $0 } ?? HubSource.defaultEndpoint
        guard let url = HTTPURL(address)?.url else {
            throw FleetError(.invalidInput, "HF_ENDPOINT is no http or https URL.")
        }
        guard let field = HeaderField("Authorization", "Bearer \(token)") else {
            throw FleetError(.invalidInput, "HF_TOKEN has characters that no header field can hold.")
        }
        return OriginFields([Origin(url): [field]])
    }

    /// Reads lines of an origin and a field, such as `https://data.example Authorization: Bearer …`.
    ///
    /// - Parameter file: the file's name, for messages. Messages have no value of a field.
    /// - Throws: ``FleetError/Code/invalidInput`` for any other line.
    package static func lines(_ text: String, of file: String) throws(FleetError) -> OriginFields {
        var fields: [Origin: [HeaderField]] = [:]
        let example = "https://data.example.org Authorization: Bearer …"
        for (origin, value, line) in try OriginLines(text, of: file, example: example).origins {
            guard let colon = value.firstIndex(of: ":"),
                let field = HeaderField(
                    value[..<colon].trimmingCharacters(in: .whitespaces),
                    value[value.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                )
            else { throw OriginLines.fault(line, of: file, example: example) }
            fields[origin, default: []].append(field)
        }
        return OriginFields(fields)
    }

    /// Returns the fields of both. For an origin that both have, those of `other` count.
    package func merging(_ other: OriginFields) -> OriginFields {
        OriginFields(fields.merging(other.fields) { $1 })
    }

    /// Returns the fields of a request; none for an origin without fields.
    func headers(for url: URL) -> [HeaderField] { fields[Origin(url)] ?? [] }
}
