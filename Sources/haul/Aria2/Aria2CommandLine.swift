import HaulAria2
import HaulServer

/// aria2's command line, parsed as `getopt_long` does: a unique prefix of a name suffices, options may follow URIs, and
/// only an optional value needs `=`.
struct Aria2CommandLine: Equatable {
    /// An error in the command line: the sentence to print, and the option whose usage is printed with it.
    struct Failure: Error, Equatable {
        let sentence: String
        var option: String?
    }

    private(set) var options = Aria2Options()
    /// The arguments that are not options: URIs.
    private(set) var arguments: [String] = []
    /// `--haul-root`: the folders that RPC clients may save files in. An empty list allows any folder.
    private(set) var roots: [String] = []
    private(set) var wantsVersion = false
    /// The tag or word after `--help`, `#basic` for none; `nil` without `--help`.
    private(set) var help: String?

    /// Haul's own option, which aria2 does not have.
    private static let rootOption = "haul-root"

    /// - Parameter words: the arguments without the name of the program.
    init(_ words: [String]) throws(Failure) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                arguments += rest
                break
            } else if word.hasPrefix("--") {
                try readLong(word.dropFirst(2), &rest)
            } else if word.hasPrefix("-"), word != "-" {
                try readShort(word.dropFirst(), &rest)
            } else {
                arguments.append(word)
            }
        }
    }

    private mutating func readLong(_ text: Substring, _ rest: inout ArraySlice<String>) throws(Failure) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let (written, value) = (String(parts[0]), parts.count == 2 ? String(parts[1]) : nil)
        if written == Self.rootOption {
            roots.append(try needed(value, of: "--\(written)", &rest))
            return
        }
        let option = try Self.option(written)
        switch option.name {
        case "version": wantsVersion = true
        case "help": help = value ?? "#basic"
        default: try set(option, value, &rest)
        }
    }

    /// Returns the option with this name or with this unique prefix.
    private static func option(_ name: String) throws(Failure) -> Aria2Option {
        if let option = Aria2Option.named(name) { return option }
        let candidates = name.isEmpty ? [] : Aria2Option.all.filter { $0.name.hasPrefix(name) }
        guard let first = candidates.first else { throw Failure(sentence: "unrecognized option '--\(name)'") }
        guard candidates.count == 1 else {
            let names = candidates.map { "'--\($0.name)'" }.joined(separator: " ")
            throw Failure(sentence: "option '--\(name)' is ambiguous; possibilities: \(names)")
        }
        return first
    }

    /// Parses a word of one or several short options. After an option that takes a value, the rest of the word is the
    /// value.
    private mutating func readShort(_ text: Substring, _ rest: inout ArraySlice<String>) throws(Failure) {
        var text = text
        while let letter = text.popFirst() {
            guard let option = Aria2Option.named(letter) else {
                throw Failure(sentence: "invalid option -- '\(letter)'")
            }
            switch option.name {
            case "version": wantsVersion = true
            case "help":
                help = text.isEmpty ? "#basic" : String(text)
                return
            default:
                try set(option, text.isEmpty ? nil : String(text), &rest)
                return
            }
        }
    }

    private mutating func set(
        _ option: Aria2Option,
        _ given: String?,
        _ rest: inout ArraySlice<String>
    ) throws(Failure) {
        let value =
            option.takesOptionalValue ? given ?? "" : try needed(given, of: "option '--\(option.name)'", &rest)
        do throws(Aria2OptionError) { try options.set(option.name, value) } catch {
            throw Failure(sentence: "\(error.message)\n  -> \(error.detail)", option: option.name)
        }
    }

    private func needed(
        _ given: String?,
        of name: String,
        _ rest: inout ArraySlice<String>
    ) throws(Failure) -> String {
        if let given { return given }
        guard let next = rest.popFirst() else { throw Failure(sentence: "\(name) requires an argument") }
        return next
    }
}
