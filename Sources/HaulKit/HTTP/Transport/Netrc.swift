internal import Foundation

/// The user names and passwords of a `.netrc` file.
///
/// Haul sends them to the host that an entry names. The `default` entry is sent only to the origin of a URL that the
/// user named, never to one that a Metalink, a redirect, a `Link` field or a source provider chose.
public struct Netrc: Sendable {
    struct Entry: Sendable, Equatable {
        var login: String?
        var password: String?
    }

    private var machines: [String: Entry] = [:]
    private var fallback: Entry?
    /// Whether other users of the machine may read or write the file. Haul uses its passwords in either case; the
    /// application should warn the user.
    public private(set) var isReadableByOthers = false

    /// Reads a `.netrc` file. A relative path begins in the current folder.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/diskFailed`` when the file cannot be read, is larger
    ///   than 1 MiB, or is not in UTF-8.
    public init(contentsOfFile path: String) throws(DownloadError) {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: try FilePaths.absolute(path)))
            defer { try? handle.close() }  // the error does not matter: the file was only read
            var contents = Data()
            while contents.count <= Self.mostBytes, let part = try handle.read(upToCount: 1 << 16), !part.isEmpty {
                contents += part
            }
            data = contents
        } catch {
            throw DownloadError(.diskFailed, "\(path) cannot be read.", cause: "\(error.localizedDescription)")
        }
        guard data.count <= Self.mostBytes, let text = String(data: data, encoding: .utf8) else {
            throw DownloadError(.diskFailed, "\(path) cannot be read: it is too large, or no text in UTF-8.")
        }
        self.init(text)
        // If the system does not report the permissions, there is nothing to warn of.
        if let mode = try? SystemCalls.permissions(path) { isReadableByOthers = mode & 0o077 != 0 }
    }

    private static let mostBytes = 1 << 20

    /// Reads the text of a file. Unknown words are ignored, as in every reader of this format; macros (`macdef`) are
    /// skipped up to their empty line.
    package init(_ text: String) {
        var name: String?
        var entry = Entry()
        var isDefault = false
        var key: String?

        func store(_ netrc: inout Netrc) {
            if let name, netrc.machines[name] == nil { netrc.machines[name] = entry }
            if isDefault, netrc.fallback == nil { netrc.fallback = entry }
        }

        var isInMacro = false
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            if isInMacro {
                isInMacro = !line.allSatisfy(\.isWhitespace)
                continue
            }
            for word in Self.words(line) {
                // A word in place of a value is never a comment: passwords may begin with `#`.
                if key == nil, word.hasPrefix("#") { break }
                switch key {
                case "machine":
                    name = word.lowercased()
                    key = nil
                case "login":
                    entry.login = word
                    key = nil
                case "password":
                    entry.password = word
                    key = nil
                case "account": key = nil
                default:
                    switch word {
                    case "machine", "default":
                        store(&self)
                        (name, entry, isDefault) = (nil, Entry(), word == "default")
                        key = word == "machine" ? "machine" : nil
                    case "macdef": isInMacro = true
                    default: key = word
                    }
                }
                if isInMacro { break }
            }
        }
        store(&self)
    }

    /// Returns `user:password` for a host; `nil` if no entry with a user name applies.
    ///
    /// - Parameter isNamed: whether only an entry that names the host counts. Otherwise the `default` entry counts too.
    func credentials(host: String, isNamed: Bool = false) -> String? {
        guard let entry = machines[host.lowercased()] ?? (isNamed ? nil : fallback), let login = entry.login else {
            return nil
        }
        return "\(login):\(entry.password ?? "")"
    }

    /// Splits at white space. Words may be in double quotes with backslash escapes.
    private static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var rest = line.drop(while: \.isWhitespace)
        while let first = rest.first {
            var word = ""
            if first == "\"" {
                rest = rest.dropFirst()
                while let next = rest.popFirst(), next != "\"" {
                    word.append(next == "\\" ? rest.popFirst() ?? next : next)
                }
            } else {
                word = String(rest.prefix { !$0.isWhitespace })
                rest = rest.dropFirst(word.count)
            }
            words.append(word)
            rest = rest.drop(while: \.isWhitespace)
        }
        return words
    }
}
