internal import Foundation
internal import HaulKit

/// Header fields for the requests to one origin, from the worker's own environment. The queue does not have them, so
/// the database and its backups hold no token.
package struct OriginFields: Sendable {
    private let origin: Origin
    private let fields: [HeaderField]

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
        return OriginFields(origin: Origin(url), fields: [field])
    }

    /// Returns the fields of a request; none for another origin.
    func headers(for url: URL) -> [HeaderField] { Origin(url) == origin ? fields : [] }
}
