import ArgumentParser
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

/// Options for the sets of `haul add`, with the names that `haul sync` uses.
struct AddSetOptions: ParsableArguments {
    @Flag(help: "The arguments are sets: lists of digests, Metalinks, releases, or folders that their server lists.")
    var set = false

    @Option(help: "Take only names of the set that match, in gitignore's form: '*.safetensors'. Repeatable.")
    var select: [String] = []

    @Option(help: "Leave out names of the set that match, in the same form. Repeatable.")
    var except: [String] = []

    @Option(help: "Branch, tag or commit of an hf:// source.")
    var revision: String?

    @Flag(help: "Read every file of the set's folder, also where size and time say that it is unchanged.")
    var verify = false

    @Flag(help: "Remove files that an earlier sync brought and the set no longer has.")
    var delete = false

    func isSet(_ argument: String) -> Bool { set || HubReference.isReference(argument) }

    /// - Throws: `ValidationError` for options that do not go together.
    func check(_ arguments: [String], _ options: AddOptionGroup) throws {
        guard arguments.contains(where: isSet) else {
            guard select.isEmpty, except.isEmpty, revision == nil, !verify, !delete, !set else {
                throw ValidationError("--set, --select, --except, --revision, --verify and --delete are for sets.")
            }
            return
        }
        let isForFiles =
            options.isForOne || options.limitRate != nil || options.streams.isGiven || options.priority != nil
            || options.paused || options.onConflict != nil
        guard !isForFiles else {
            throw ValidationError(
                "Of the options for downloads, only --directory, --group and those for header fields go with a set."
            )
        }
        guard arguments.count(where: isSet) == 1 || options.directory == nil else {
            throw ValidationError("--directory holds one set: name one, or leave it out.")
        }
    }

    /// Returns the fields of the request for a set.
    func fields(_ source: String, _ options: AddOptionGroup) throws -> [String: JSONValue] {
        var fields: [String: JSONValue] = ["source": .string(source)]
        fields["folder"] = try AddParts.folder(options).map { .string($0) }
        fields["group"] = options.group.map { .string($0) }
        fields["revision"] = revision.map { .string($0) }
        if !select.isEmpty { fields["select"] = .array(select.map { .string($0) }) }
        if !except.isEmpty { fields["except"] = .array(except.map { .string($0) }) }
        if verify { fields["verify"] = true }
        if delete { fields["delete"] = true }
        let headers = options.headers
        if !headers.isEmpty {
            fields["headers"] = .object(Dictionary(headers.map { ($0.name, .string($0.value)) }) { $1 })
        }
        return fields
    }
}

/// Adds the sets of one `haul add`, and prints their beginnings and ends.
final class AddedSets {
    private let client: DaemonClient
    private let isJSON: Bool
    private let isQuiet: Bool
    private let isWatched: Bool
    private var rows: [SetRow] = []

    init(_ client: DaemonClient, isJSON: Bool, isQuiet: Bool, isWatched: Bool) {
        (self.client, self.isJSON, self.isQuiet, self.isWatched) = (client, isJSON, isQuiet, isWatched)
    }

    /// Adds the sets one after another. The daemon answers each request only after it has read the list of the set.
    ///
    /// - Returns: the status of the first set or file that could not be added.
    func add(_ wanted: [[String: JSONValue]]) async throws -> ExitStatus {
        var status = ExitStatus.complete
        for fields in wanted {
            do {
                let row: SetRow = try await client.value(.POST, "/api/v1/sets", fields)
                rows.append(row)
                print(row)
                if status == .complete, !isWatched, let fault = row.faults.first {
                    status = ExitStatus(problemCode: fault.error.code)
                }
            } catch let complaint as Complaint {
                guard wanted.count > 1 else { throw complaint }
                Output.error("\(Self.name(fields)): \(complaint.sentence)")
                if status == .complete { status = complaint.status }
            }
        }
        return status
    }

    private static func name(_ fields: [String: JSONValue]) -> String {
        guard case .string(let source)? = fields["source"] else { return "" }
        return SetSourceText.shown(source)
    }

    private func print(_ row: SetRow) {
        if isJSON {
            if !isWatched { JSONLine.print(row) }
        } else if isQuiet {
            Output.result(row.id.description)
        } else {
            let parts = [
                "\(Self.files(row.files)), \(row.unchanged) there already, \(row.wanted) to fetch",
                row.failed > 0 ? "\(row.failed) refused" : nil,
            ]
            Output.result(
                "\(row.id.short)  \(row.group): \(parts.compactMap(\.self).joined(separator: ", ")), in \(row.folder)"
            )
            for fault in row.faults { Output.error("\(fault.name): \(fault.error.message)") }
        }
    }

    private static func files(_ count: Int) -> String { count == 1 ? "1 file" : "\(count) files" }

    // MARK: Watching

    /// Waits for the ends of the sets, and prints them.
    ///
    /// - Returns: the status of the first set that is not whole; ``ExitStatus/complete`` if the sets are not watched.
    func watch() async throws -> ExitStatus {
        guard isWatched else { return .complete }
        var status = ExitStatus.complete
        for row in rows {
            let ended = try await end(of: row)
            printEnd(ended)
            if status == .complete { status = Self.status(ended) }
        }
        return status
    }

    private func end(of row: SetRow) async throws -> SetRow {
        while true {
            let now: SetRow = try await client.value(.GET, "/api/v1/sets/\(row.id)")
            if now.state.isEnd { return now }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private func printEnd(_ row: SetRow) {
        if isJSON { return JSONLine.print(row) }
        for fault in row.faults { Output.error("\(fault.name): \(fault.error.message)") }
        if let error = row.error { Output.error("\(row.name): \(error.message)") }
        guard !isQuiet else { return }
        switch row.state {
        case .whole:
            let unproved = row.files - row.proved
            let proof = unproved == 0 ? "proved" : "\(unproved) of them not proved"
            Output.result("\(row.id.short)  \(row.group): whole, \(Self.files(row.files)), \(proof)")
        case .incomplete:
            Output.result("\(row.id.short)  \(row.group): \(row.failed) of \(Self.files(row.files)) missing or wrong")
        case .failed, .listing, .running: Output.result("\(row.id.short)  \(row.group): failed")
        }
    }

    /// Returns the exit status of a set: that of its error if the set has failed, else that of its first fault. A wrong
    /// digest takes precedence over every other fault.
    private static func status(_ row: SetRow) -> ExitStatus {
        switch row.state {
        case .whole, .listing, .running: return .complete
        case .failed: return ExitStatus(problemCode: row.error?.code ?? "")
        case .incomplete:
            let codes = row.faults.map(\.error.code)
            if codes.contains("checksumMismatch") || codes.contains("notFound") { return .checksum }
            return ExitStatus(problemCode: codes.first ?? "")
        }
    }
}
