import ArgumentParser
import Foundation
import HaulKit
import HaulServer

/// The API requests of one `haul add`. Each has at most 1,000 URLs, or one Metalink.
struct AddParts {
    struct Part {
        var fields: [String: JSONValue]
        /// Names of the items for messages: the URL without secrets, after file and line if the item is from a list, or
        /// the path of a Metalink. Empty if the command names a single URL and nothing else.
        var names: [String]

        func place(_ index: Int) -> String? { names.indices.contains(index) ? names[index] : names.first }
    }

    struct Answer: Decodable {
        struct Item: Decodable {
            var download: DownloadRow?
            var existed: Bool
            var error: Problem?
        }
        var items: [Item]
    }

    private(set) var parts: [Part] = []
    /// Sentences about lines of a list that are no URLs.
    private(set) var unreadable: [String] = []
    private static let mostItems = 1000

    init(_ urls: [String], _ options: AddOptionGroup) throws {
        let texts = urls.filter { !MetalinkOption.isFile($0) }
        let metalinks = urls.filter(MetalinkOption.isFile) + options.metalink
        var items: [(item: JSONValue, name: String)] = []
        let common = try Self.common(options)
        for text in texts { items.append((try Self.item(text, options), URL.maskedText(text, knowing: nil))) }
        if let path = options.inputFile {
            let list = try InputList(path: path)
            for line in list.lines {
                let (place, name) = (list.place(line.number), Wanted.masked(line.text))
                do { items.append((try Self.item(line.text, options), "\(place): \(name)")) } catch let complaint
                    as Complaint
                { unreadable.append("\(place): \(name): \(complaint.sentence)") }
            }
        }
        guard items.count + unreadable.count + metalinks.count <= 1 || !options.isForOne else {
            throw ValidationError("--output, --checksum and --mirror are for a single file.")
        }
        let isForURLs =
            options.isForOne || !options.headers.isEmpty || options.limitRate != nil || options.streams.isGiven
        guard metalinks.isEmpty || !isForURLs else {
            throw ValidationError(
                "--output, --checksum, --mirror, --limit-rate and options for header fields and streams do not go with a Metalink."
            )
        }
        for start in stride(from: 0, to: items.count, by: Self.mostItems) {
            let some = items[start..<min(items.count, start + Self.mostItems)]
            var fields = common
            fields["items"] = .array(some.map(\.item))
            // A message about the only URL of a command need not name it.
            let isAlone = urls.count == 1 && options.inputFile == nil && metalinks.isEmpty
            parts.append(Part(fields: fields, names: isAlone ? [] : some.map(\.name)))
        }
        for path in metalinks {
            var fields = common
            let data = try OptionFile.contents(path, limit: Metalink.maximumBytes)
            fields["metalink"] = .string(String(decoding: data, as: UTF8.self))
            parts.append(Part(fields: fields, names: [path]))
        }
    }

    /// The fields for all items.
    private static func common(_ options: AddOptionGroup) throws -> [String: JSONValue] {
        var fields: [String: JSONValue] = [:]
        fields["folder"] = try folder(options).map { .string($0) }
        fields["group"] = options.group.map { .string($0) }
        fields["priority"] = options.priority.map { .integer(Int64($0)) }
        if options.paused { fields["paused"] = true }
        let onConflict = options.onConflict ?? (options.output == nil ? nil : .fail)
        fields["onConflict"] = onConflict.map { .string($0.rawValue) }
        return fields
    }

    /// Returns the absolute path of the folder, because the daemon has another working folder; `nil` if no option names
    /// a folder.
    static func folder(_ options: AddOptionGroup) throws -> String? {
        if let output = options.output, output.contains("/") {
            return URL(fileURLWithPath: try FilePaths.absolute(output)).deletingLastPathComponent().path
        }
        return try options.directory.map { path throws(DownloadError) in try FilePaths.absolute(path) }
    }

    /// - Parameter text: a URL, optionally followed by mirrors, separated by tabs.
    private static func item(_ text: String, _ options: AddOptionGroup) throws -> JSONValue {
        let texts = text.utf8.split(separator: UInt8(ascii: "\t")).map { String($0) ?? "" }
        guard let url = texts.first else { throw Complaint("The URL is empty.", .usage) }
        // Checks the URL here too, so that a line that is no URL is reported with its place and does not stop the rest
        // of the list.
        _ = try GetOptions.spelled(url)
        var fields: [String: JSONValue] = ["url": .string(url)]
        let mirrors = texts.dropFirst() + options.mirror
        if !mirrors.isEmpty { fields["mirrors"] = .array(mirrors.map { .string($0) }) }
        fields["name"] = options.output.flatMap { $0.split(separator: "/").last }.map { .string(String($0)) }
        fields["checksum"] = options.checksum.map { .string($0.checksum.description) }
        fields["bytesPerSecond"] = options.limitRate.map { .integer($0.bytes) }
        let headers = options.headers
        if !headers.isEmpty {
            fields["headers"] = .object(Dictionary(headers.map { ($0.name, .string($0.value)) }) { $1 })
        }
        fields["stream"] = try options.streams.stream(output: options.output).map(Self.json)
        return .object(fields)
    }

    private static func json(_ stream: DownloadRequest.Stream) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(stream))
    }
}
