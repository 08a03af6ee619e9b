import HaulKit

/// The fields of a line before validation.
struct RawItem {
    enum Field: String, CaseIterable {
        case url, path, key, checksum, size, metadata, priority, mirrors, validator
    }

    static let longestURL = 16_384
    static let longestPath = 4096
    static let mostMirrors = 64

    var url: String?
    var path: String?
    var key: String?
    var checksum: String?
    var size: Int64?
    var priority: Int64?
    var mirrors: [String] = []
    var validator: String?
    /// The text from the list; JSON if ``isMetadataJSON``.
    var metadata: String?
    var isMetadataJSON = false
    /// Unknown columns and members, each as a member of a JSON object.
    var others: [String] = []

    /// - Parameter rule: which paths can be names at the destination.
    func checked(_ line: Int, _ rule: PathRule = .any) throws(LineError) -> NewItem {
        guard let url, !url.isEmpty else { throw LineError(line, "has no URL") }
        guard url.utf8.count <= Self.longestURL else {
            throw LineError(line, "has a URL of more than \(Self.longestURL) bytes")
        }
        try Self.check(url, line)
        if let path, path.utf8.count > Self.longestPath {
            throw LineError(line, "has a path of more than \(Self.longestPath) bytes")
        }
        if let path, !path.isEmpty, let fault = rule.fault(in: path) {
            throw LineError(line, "has the path \(RelativePath.quoted(path)), which \(fault)")
        }
        if let key, key.utf8.count > Self.longestURL {
            throw LineError(line, "has a key of more than \(Self.longestURL) bytes")
        }
        if let size, size < 0 { throw LineError(line, "has a size below zero") }
        guard mirrors.count <= Self.mostMirrors else {
            throw LineError(line, "has more than \(Self.mostMirrors) mirrors")
        }
        for mirror in mirrors {
            guard mirror.utf8.count <= Self.longestURL, Self.isWebURL(mirror) else {
                throw LineError(line, "has a mirror that is no http or https URL")
            }
        }
        guard let priority = Int16(exactly: priority ?? Int64(NewItem.defaultPriority)) else {
            throw LineError(line, "has a priority that is not between \(Int16.min) and \(Int16.max)")
        }
        return NewItem(
            key: key.flatMap { $0.isEmpty ? nil : $0 },
            url: url,
            path: path.flatMap { $0.isEmpty ? nil : $0 },
            checksum: try normalizedChecksum(line),
            size: size,
            metadata: allMetadata,
            priority: priority,
            mirrors: mirrors,
            validator: try checkedValidator(line)
        )
    }

    private static func check(_ url: String, _ line: Int) throws(LineError) {
        if S3Object.hasScheme(url) {
            guard S3Object(url) != nil else { throw LineError(line, "names no object, such as s3://BUCKET/KEY") }
            return
        }
        let parts = URLParts(url)
        guard parts.hasWebScheme else {
            throw LineError(line, "has a URL that does not begin with http://, https:// or s3://")
        }
        guard isReadable(url, parts) else { throw LineError(line, "has a URL that cannot be read") }
    }

    private static func isWebURL(_ url: String) -> Bool {
        let parts = URLParts(url)
        return parts.hasWebScheme && isReadable(url, parts)
    }

    private static func isReadable(_ url: String, _ parts: URLParts) -> Bool {
        parts.isPlain || (!url.utf8.contains { $0 <= 0x20 || $0 == 0x7F } && HostName(url: url) != nil)
    }

    /// Returns the URLs of a text in which blanks separate them.
    static func mirrors(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    private func normalizedChecksum(_ line: Int) throws(LineError) -> String? {
        guard let checksum, !checksum.isEmpty else { return nil }
        if Self.isNormalized(checksum) { return checksum }
        let isBare = checksum.utf8.count == 64 && checksum.utf8.allSatisfy { $0.hexadecimal != nil }
        do throws(DownloadError) {
            return try DownloadRequest.Checksum(isBare ? "sha256:" + checksum : checksum).description
        } catch {
            throw LineError(
                line,
                "has a checksum that is not ALGORITHM:DIGEST, such as sha256: and 64 hexadecimal digits"
            )
        }
    }

    /// Whether `checksum` is `sha256:` and 64 lower-case hexadecimal digits, the most frequent form.
    private static func isNormalized(_ checksum: String) -> Bool {
        let bytes = checksum.utf8
        let prefix = "sha256:".utf8
        guard bytes.count == prefix.count + 64, bytes.starts(with: prefix) else { return false }
        return bytes.dropFirst(prefix.count).allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }

    private func checkedValidator(_ line: Int) throws(LineError) -> String? {
        guard let validator, !validator.isEmpty else { return nil }
        guard SourceCondition(validator) != nil else {
            throw LineError(
                line,
                "has a validator that is neither an entity tag, such as \"1a2b\" in quotes, nor a date of HTTP"
            )
        }
        return validator
    }

    private var allMetadata: String? {
        guard !others.isEmpty else { return metadata }
        let own = metadata.map { ["\"metadata\":" + (isMetadataJSON ? $0 : JSONText.quoted($0))] } ?? []
        return "{" + (others + own).joined(separator: ",") + "}"
    }

    static func number(_ digits: ArraySlice<UInt8>, _ line: Int, _ field: Field) throws(LineError) -> Int64 {
        guard digits.count <= 20, let number = Int64(String(decoding: digits, as: UTF8.self)) else {
            throw LineError(line, "has a \(field.rawValue) that is no whole number")
        }
        return number
    }
}
