internal import Foundation

/// aria2's configuration file. Lines have the form `name=value`; `#` begins a comment line.
package struct Aria2ConfigurationFile: Sendable, Equatable {
    package private(set) var options = Aria2Options()
    /// Lines without a known option of aria2. As in aria2, they only cause a warning.
    package private(set) var unknownOptions: [String] = []

    private static let longest = 4 << 20

    package init(path: String) throws(Aria2Error) {
        try self.init(Aria2TextFile.contents(path, limit: Self.longest))
    }

    /// - Throws: ``Aria2Error`` with code ``Aria2ErrorCode/badOption`` for an invalid value of an option.
    package init(_ text: some Collection<UInt8>) throws(Aria2Error) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard line.first != UInt8(ascii: "#") else { continue }
            let text = try Aria2TextFile.option(line).trimmingCharacters(in: .whitespacesAndNewlines)
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmingCharacters(in: .whitespaces)
            guard parts.count == 2, Aria2Option.named(name) != nil else {
                unknownOptions.append(text)
                continue
            }
            do throws(Aria2OptionError) {
                try options.set(name, parts[1].trimmingCharacters(in: .whitespaces))
            } catch { throw Aria2Error(error) }
        }
    }

    /// Returns the path of the file as aria2 finds it: `~/.aria2/aria2.conf` if the file exists, else
    /// `aria2/aria2.conf` in `$XDG_CONFIG_HOME` or `~/.config`.
    ///
    /// - Parameter exists: returns whether a path has a file.
    package static func path(
        home: String,
        environment: [String: String],
        exists: (String) -> Bool
    ) -> String {
        let old = home + "/.aria2/aria2.conf"
        if exists(old) { return old }
        let configured = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (configured ?? home + "/.config") + "/aria2/aria2.conf"
    }
}
