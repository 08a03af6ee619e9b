package import Foundation
internal import HTTPTypes
internal import HaulKit

/// A rule that chooses the folder, the group and the number of connections of new downloads.
///
/// A rule applies to a download that meets each of its conditions. A condition is met if one of its values fits.
package struct DownloadRule: Hashable, Sendable {
    /// Name for people; empty for none.
    package var name = ""
    /// Hosts of the URL, as the user wrote them. A name includes its subdomains.
    package var hosts: [String] = []
    /// Extensions of the file name, in lower case and without the first dot: `pdf`, `tar.gz`.
    package var extensions: [String] = []
    /// Media types in lower case: `application/pdf`, `video/*`.
    package var types: [String] = []
    /// Folder for the file, absolute or relative to the default folder; `nil` for no choice.
    package var folder: String?
    package var group: String?
    /// Maximum number of connections of the download; `nil` for no choice.
    package var connections: Int?
    /// ``hosts`` in the spelling of a URL's host.
    private var hostNames: [String] = []

    static let mostConnections = 64
    private static let mostValues = 200

    /// Reads a rule.
    ///
    /// - Parameter place: text before each field name in messages, such as `rules[0].`.
    /// - Throws: ``Problem`` for an unknown field, a wrong type or value, a rule without a condition, or a rule that
    ///   chooses nothing.
    package init(_ fields: [String: JSONValue], place: String) throws {
        var body = JSONBody(fields, place: place)
        name = try body.text("name", upTo: 200) ?? ""
        hosts = try Self.values("hosts", &body, place)
        extensions = try Self.values("extensions", &body, place).map {
            let text = $0.lowercased()
            return text.hasPrefix(".") ? String(text.dropFirst()) : text
        }
        types = try Self.values("types", &body, place).map {
            let text = $0.lowercased()
            return text.contains("/") ? text : text + "/*"
        }
        folder = try body.text("folder", upTo: 4095).flatMap { $0.isEmpty ? nil : $0 }
        group = try body.group()
        connections = try body.optional("connections")
        try body.finish()
        hostNames = try hosts.map { host in
            guard let name = Self.hostName(host) else {
                throw Problem.invalidField("\(place)hosts has \(HostCheck.printable(host)), which is no host name.")
            }
            return name
        }
        if let wrong = extensions.first(where: { $0.isEmpty || $0.contains("/") }) {
            throw Problem.invalidField(
                "\(place)extensions has \"\(HostCheck.printable(wrong))\", which is no extension of a file."
            )
        }
        if let wrong = types.first(where: { !Self.isType($0) }) {
            throw Problem.invalidField(
                "\(place)types has \(HostCheck.printable(wrong)), which is no media type like application/pdf or video/*."
            )
        }
        if let connections, !(1...Self.mostConnections).contains(connections) {
            throw Problem.invalidField("\(place)connections is a number from 1 to \(Self.mostConnections).")
        }
        guard !hosts.isEmpty || !extensions.isEmpty || !types.isEmpty else {
            throw Problem.invalidField("\(place)hosts, extensions and types are empty. A rule needs one of them.")
        }
        guard folder != nil || group != nil || connections != nil else {
            throw Problem.invalidField("\(place)folder, group and connections are missing. A rule needs one of them.")
        }
    }

    private static func values(_ field: String, _ body: inout JSONBody, _ place: String) throws -> [String] {
        let values = try body.optional(field, [String].self) ?? []
        guard values.count <= mostValues else {
            throw Problem.invalidField("\(place)\(field) has more than \(mostValues) values.")
        }
        return try values.map { value in
            if let problem = JSONBody.problem(of: value, "A value of \(place)\(field)", upTo: 253) { throw problem }
            return value.trimmingCharacters(in: .whitespaces)
        }
    }

    /// Returns a host in the spelling of a URL's host: in lower case, and in Punycode if it is not ASCII. Returns `nil`
    /// for any other text, such as a host with a port.
    static func hostName(_ text: String) -> String? {
        var name = text.lowercased()[...]
        if name.hasPrefix("*.") { name = name.dropFirst(2) } else if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        guard !name.isEmpty, !name.contains(where: { "/\\@?#%*".contains($0) || $0.isWhitespace }) else { return nil }
        let address = name.hasPrefix("[") && name.hasSuffix("]") ? name.dropFirst().dropLast() : name
        // Refuses a port.
        guard !address.contains(":") || IPAddress(String(address)) != nil else { return nil }
        let authority = address.contains(":") ? "[\(address)]" : String(name)
        // Drops the error, because the caller reports the text itself.
        guard let url = try? "http://\(authority)/".downloadURL(), url.port == nil else { return nil }
        return url.host.map(plain)
    }

    /// Returns the host of a URL in lower case, without a final dot.
    private static func plain(_ host: String) -> String {
        let name = host.lowercased()
        return name.count > 1 && name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    private static func isType(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return false }
        let isToken = { (part: Substring) in
            !part.isEmpty
                && part.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "!#$&^_.+-".utf8.contains(byte)
                }
        }
        return isToken(parts[0]) && (parts[1] == "*" || isToken(parts[1]))
    }
}

// MARK: - Matching

/// Properties of a new download that rules compare.
package struct RuleTarget: Hashable, Sendable {
    /// Host of the URL; empty if the URL has none.
    package var host: String
    /// The name that the file will probably have.
    package var name: String
    /// Media types in lower case, without parameters. A playlist also has the type of the film that it becomes.
    package var types: [String]

    /// - Parameters:
    ///   - name: the requested file name; `nil` for the name in the URL.
    ///   - type: the media type that a server stated; `nil` if no server was asked. `application/octet-stream` counts
    ///     as `nil`.
    package init(_ url: URL, name: String? = nil, type: String? = nil) {
        host = url.host ?? ""
        // Prefers the name in the URL to a requested name without an extension, because the extension tells the type.
        self.name = name.flatMap { $0.contains(".") ? $0 : nil } ?? FileName.from(url: url) ?? name ?? ""
        let stated = type?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() ?? ""
        let type = ["", "application/octet-stream"].contains(stated) ? FileType.named(self.name) : stated
        types = StreamPlaylist.mediaTypes.contains(type) ? [type, "video/mp4"] : [type]
    }
}

extension DownloadRule {
    package func matches(_ target: RuleTarget) -> Bool {
        (hostNames.isEmpty || Self.matches(hostNames, host: Self.plain(target.host)))
            && (extensions.isEmpty || Self.matches(extensions, name: target.name.lowercased()))
            && (types.isEmpty || target.types.contains { Self.matches(types, type: $0) })
    }

    private static func matches(_ names: [String], host: String) -> Bool {
        // An IP address has no subdomains.
        let isAddress = IPAddress(host) != nil
        return names.contains { host == $0 || !isAddress && host.hasSuffix("." + $0) }
    }

    private static func matches(_ extensions: [String], name: String) -> Bool {
        extensions.contains { name.hasSuffix("." + $0) && name.utf8.count > $0.utf8.count + 1 }
    }

    private static func matches(_ types: [String], type: String) -> Bool {
        types.contains { $0 == type || $0.hasSuffix("/*") && type.hasPrefix($0.dropLast()) }
    }
}

// MARK: - JSON

extension DownloadRule: Codable {
    package var json: JSONValue {
        var fields: [String: JSONValue] = [:]
        if !name.isEmpty { fields["name"] = .string(name) }
        for (key, values) in [("hosts", hosts), ("extensions", extensions), ("types", types)] where !values.isEmpty {
            fields[key] = .array(values.map { .string($0) })
        }
        fields["folder"] = folder.map { .string($0) }
        fields["group"] = group.map { .string($0) }
        fields["connections"] = connections.map { .integer(Int64($0)) }
        return .object(fields)
    }

    package init(from decoder: any Decoder) throws {
        try self.init(try [String: JSONValue](from: decoder), place: "A rule: ")
    }

    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
