internal import CHaulCommand
package import HaulKit

/// The arguments of a command, as `main` gets them.
///
/// Swift's own `CommandLine.arguments` is empty if /proc is not mounted and a preloaded library has moved the
/// environment.
package struct CommandWords: Sendable, Equatable {
    /// The name by which the program was started.
    package let program: String
    package let arguments: [String]

    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` if the system passes no
    ///   arguments at all, or if a path in an environment variable, or an argument other than a URL, is not UTF-8.
    package init() throws(DownloadError) {
        var count: Int32 = 0
        var words = UnsafePointer(haul_command_words(&count))
        if words == nil {
            count = CommandLine.argc
            words = UnsafeRawPointer(CommandLine.unsafeArgv).assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self)
        }
        try PathText.check(variables: Self.variables)
        try self.init(
            (0..<Int(count)).compactMap { words?[$0] }.map { word in
                [UInt8](UnsafeRawBufferPointer(start: word, count: Self.length(word)))
            }
        )
    }

    /// - Parameter words: the program's name, then the arguments.
    package init(_ words: [[UInt8]]) throws(DownloadError) {
        guard let program = words.first else {
            throw DownloadError(
                code: .invalidDestination,
                message: "The arguments of the command cannot be read: the system hands none to it."
            )
        }
        // Replaces invalid UTF-8: only the program's name matters, and no message shows the path.
        self.program = String(decoding: program, as: UTF8.self)
        var arguments: [String] = []
        arguments.reserveCapacity(words.count - 1)
        for word in words.dropFirst() { arguments.append(try Self.text(word)) }
        self.arguments = arguments
    }

    /// Environment variables that contain paths.
    private static let variables = [
        "HOME", "HAUL_STATE_DIR", "HAUL_SOCKET", "HAUL_DIRECTORY", "HAUL_ROOT", "HAUL_CONFIG", "HAUL_ARIA2_SECRET_FILE",
        "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY", "RUNTIME_DIRECTORY", "XDG_STATE_HOME", "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR", "XDG_DOWNLOAD_DIR",
    ]

    private static func length(_ word: UnsafePointer<CChar>) -> Int {
        var length = 0
        while word[length] != 0 { length += 1 }
        return length
    }

    /// Returns the error for an argument that is not UTF-8. Hides the value of a field or an option, which may be a
    /// password.
    private static func refusal(_ word: [UInt8]) -> DownloadError {
        guard let end = word.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") }) else {
            return PathText.refusal("An argument", word)
        }
        return DownloadError(
            code: .invalidDestination,
            message: "An argument is not UTF-8: \(PathText.shown(word[...end]))***. Haul takes arguments in UTF-8 only."
        )
    }

    /// Returns the text of an argument. A URL keeps its non-UTF-8 bytes as escapes; any other argument with such bytes
    /// is refused, because it could be a path.
    private static func text(_ word: [UInt8]) throws(DownloadError) -> String {
        if let text = PathText.text(word) { return text }
        let start = String(decoding: word.prefix(8), as: UTF8.self).lowercased()
        guard start.hasPrefix("http://") || start == "https://" else { throw refusal(word) }
        return SpelledURL.text(word[...])
    }
}
