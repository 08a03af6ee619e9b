import ArgumentParser
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints the settings of the daemon, or changes them while it runs.",
        discussion: """
            NAME=VALUE changes a setting that is live. Sizes may have a unit: speedLimit=2M. Lists are JSON. An empty VALUE takes \
            back folder, userAgent, proxy, rules and groups. Where the daemon listens, and below which folders it saves, is set \
            where it is started: haul serve --print-config.
            """
    )

    @Argument(help: "Settings to change, as NAME=VALUE.")
    var changes: [String] = []

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    private struct Answer: Decodable {
        struct Setting: Decodable {
            var value: JSONValue
            var live: Bool
            var description: String
        }
        var settings: [String: Setting]
    }

    func validate() throws {
        guard changes.allSatisfy({ $0.contains("=") && !$0.hasPrefix("=") }) else {
            throw ValidationError("Settings are changed as NAME=VALUE.")
        }
    }

    func run() async throws {
        try await daemon.run { client in
            var answer: Answer = try await client.value(.GET, "/api/v1/configuration")
            if !changes.isEmpty {
                let fields = try Dictionary(changes.map { try Self.change($0, answer) }) { $1 }
                answer = try await client.value(.PATCH, "/api/v1/configuration", fields)
            }
            if json {
                JSONLine.print(answer.settings.mapValues(\.value))
                return
            }
            let names = changes.isEmpty ? Set(answer.settings.keys) : Set(changes.map(Self.name))
            for (name, setting) in answer.settings.sorted(by: { $0.key < $1.key }) where names.contains(name) {
                Output.result(VisibleText.line("\(name)=\(Self.text(setting.value))"))
                if changes.isEmpty { Output.result("    \(setting.description)") }
            }
        }
    }

    private static func name(_ change: String) -> String { String(change.prefix { $0 != "=" }) }

    /// Returns name and value of a change; the value has the type of the setting.
    private static func change(_ change: String, _ present: Answer) throws -> (String, JSONValue) {
        let name = name(change)
        let text = String(change.dropFirst(name.count + 1))
        switch present.settings[name]?.value {
        case .bool:
            guard ["true", "false"].contains(text) else { throw Complaint("\(name) is true or false.", .usage) }
            return (name, .bool(text == "true"))
        case .integer:
            guard let number = ByteCount(text)?.bytes else { throw Complaint("\(name) is a number.", .usage) }
            return (name, .integer(number))
        case .array, .object:
            // Sends a text that is no JSON unchanged, and the daemon refuses it with its own sentence.
            return (name, text.isEmpty ? .null : JSONValue(text: text) ?? .string(text))
        default:
            // Sends the value of an unknown name too, and the daemon refuses the name with its own sentence.
            return (name, .string(name == "folder" && !text.isEmpty ? try FilePaths.absolute(text) : text))
        }
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .null: ""
        case .bool(let value): String(value)
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .string(let value): value
        case .array(let values): values.map(text).joined(separator: ", ")
        case .object: value.jsonText
        }
    }
}
