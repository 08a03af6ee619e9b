internal import Foundation

/// Reads and writes a destination as the queue stores it: an absolute folder path or `s3://BUCKET/PREFIX`. S3 settings
/// follow as a query: `?endpoint=…&region=…&addressing=path`. The text never contains credentials.
package enum DestinationText {
    /// Makes the stored text of a destination.
    ///
    /// - Parameter text: from the user; may be a relative path.
    /// - Throws: ``FleetError/Code/invalidInput`` for a malformed destination or endpoint.
    package static func make(_ text: String, _ overrides: S3Overrides, currentFolder: String) throws(FleetError)
        -> String
    {
        guard text.hasPrefix("s3://") else {
            guard !text.isEmpty, !text.contains("://"), !text.lowercased().hasPrefix("s3:") else {
                throw FleetError(.invalidInput, "A destination is a folder or s3://BUCKET/PREFIX, not \(text).")
            }
            let path = text.hasPrefix("/") ? text : currentFolder + "/" + text
            // Removes `.` and superfluous slashes, because another spelling of a folder would be another destination.
            return "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        }
        guard !text.contains("@"), !text.contains("?") else {
            throw FleetError(
                .invalidInput,
                "A destination is s3://BUCKET/PREFIX without credentials and settings: those are options and the environment."
            )
        }
        if let endpoint = overrides.endpoint {
            let parts = URLComponents(string: endpoint)
            guard let parts, ["http", "https"].contains(parts.scheme), parts.host?.isEmpty == false, parts.user == nil,
                parts.password == nil
            else {
                throw FleetError(.invalidInput, "--endpoint is an http or https URL with a host, without credentials.")
            }
        }
        _ = try S3Settings(text, environment: [:])
        var parts = URLComponents()
        parts.queryItems = overrides.query
        return parts.queryItems?.isEmpty ?? true ? text : text + "?" + (parts.percentEncodedQuery ?? "")
    }

    /// Returns the S3 settings for `text`. `overrides` take precedence over the settings in `text`, and these over
    /// `environment`.
    static func s3(_ text: String, _ overrides: S3Overrides, environment: [String: String]) throws(FleetError)
        -> S3Settings
    {
        let parts = text.split(separator: "?", maxSplits: 1)
        var settings = try S3Settings(parts.first.map(String.init) ?? "", environment: environment)
        if parts.count > 1 {
            // Parses a URL, because setting `percentEncodedQuery` would trap on characters that no query may have.
            guard let query = URLComponents(string: "?\(parts[1])"), query.fragment == nil else {
                throw FleetError(.invalidInput, "The settings of the destination cannot be read: \(parts[1])")
            }
            try S3Overrides(query.queryItems ?? []).apply(to: &settings)
        }
        try overrides.apply(to: &settings)
        return settings
    }
}

/// S3 settings from the user or from the query of a destination. They take precedence over the environment.
package struct S3Overrides: Sendable, Hashable {
    package var endpoint: String?
    package var region: String?
    package var addressing: S3Settings.Addressing?
    /// Minimum size of a part in bytes.
    package var partSize: Int64?

    /// Permitted values of ``partSize`` in bytes. S3 allows parts of 5 MiB to 5 GiB.
    package static let partSizes: ClosedRange<Int64> = 5 << 20...5 << 30

    package init() {}

    private static func unreadable(_ name: String, _ value: String, _ reason: String) -> FleetError {
        FleetError(
            .invalidInput,
            "The setting \(name) of the destination cannot be read: \(RelativePath.quoted(value)). \(reason)"
        )
    }

    fileprivate init(_ query: [URLQueryItem]) throws(FleetError) {
        for item in query {
            let value = item.value ?? ""
            switch item.name {
            case "endpoint": endpoint = value
            case "region": region = value
            case "addressing":
                addressing = S3Settings.Addressing(rawValue: value)
                if addressing == nil {
                    let known = S3Settings.Addressing.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Self.unreadable(item.name, value, "It is one of \(known).")
                }
            case "part-size":
                partSize = Int64(value)
                guard let partSize, Self.partSizes.contains(partSize) else {
                    let bounds = "\(Self.partSizes.lowerBound) to \(Self.partSizes.upperBound)"
                    throw Self.unreadable(item.name, value, "It is a number of bytes from \(bounds).")
                }
            default:
                throw FleetError(
                    .invalidInput,
                    "The destination has an unknown setting, \(item.name): is this program too old?"
                )
            }
        }
    }

    fileprivate var query: [URLQueryItem] {
        [
            ("endpoint", endpoint), ("region", region), ("addressing", addressing?.rawValue),
            ("part-size", partSize.map(String.init)),
        ].compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
    }

    fileprivate func apply(to settings: inout S3Settings) throws(FleetError) {
        if let endpoint { settings.endpoint = endpoint }
        if let region { settings.region = region }
        if let addressing { settings.addressing = addressing }
        if let partSize { settings.partSize = partSize }
    }
}
