import ArgumentParser
import Foundation
import HaulKit
import HaulServer
import NIOHTTP1

struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows all that the daemon knows of a download.",
        discussion: "Passwords, queries of URLs and values of header fields are not shown."
    )

    @Argument(help: "Id of the download, or at least four characters of its end or beginning.")
    var id: String

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var daemon: DaemonOptions

    func run() async throws {
        try await daemon.run { client in
            let id = try await client.id(id)
            let data = try await client.send(.GET, "/api/v1/downloads/\(id)")
            if json {
                JSONLine.print(Self.masked(try DaemonClient.decoded(JSONValue.self, data)))
                return
            }
            let lines = Self.lines(
                try DaemonClient.decoded(DownloadRow.self, data),
                try DaemonClient.decoded(DownloadDetails.self, data)
            )
            for line in lines { Output.result(VisibleText.line(line)) }
        }
    }

    /// Masks the URL of the page, as every printed URL. The daemon sends the whole URL, because other clients open it.
    private static func masked(_ row: JSONValue) -> JSONValue {
        guard case .object(var fields) = row, case .string(let page)? = fields["page"] else { return row }
        fields["page"] = URL(string: page).map { .string($0.masked) } ?? .null
        return .object(fields)
    }

    private static func lines(_ row: DownloadRow, _ details: DownloadDetails) -> [String] {
        var lines: [String] = []
        func add(_ name: String, _ value: String?) {
            guard let value, !value.isEmpty else { return }
            lines.append(name.padding(toLength: 13, withPad: " ", startingAt: 0) + value)
        }
        add("Id", row.id.description)
        add("Name", row.name)
        add("URL", details.requestURL)
        add("Redirected", details.finalURL)
        // Masked like every URL that is printed.
        add("Page", details.page.flatMap { URL(string: $0)?.masked })
        for mirror in details.mirrors { add("Mirror", mirror) }
        add("Path", row.path ?? row.folder)
        add("State", row.holdReason.map { "\(row.state.rawValue): \($0.rawValue)" } ?? row.state.rawValue)
        let isEstimate = row.stream != nil
        add(
            "Size",
            row.totalBytes.map {
                Format.bytes(row.receivedBytes, of: $0, isEstimate: isEstimate)
                    + (isEstimate ? " (estimate)" : " (\($0) bytes)")
            }
        )
        if row.totalBytes == nil { add("Received", Format.bytes(row.receivedBytes)) }
        add("Speed", DownloadTable.speed(row))
        add("Time left", row.secondsLeft.map { Format.time(.seconds($0)) })
        add("Next attempt", row.retryAt)
        add("Group", row.group)
        add("Priority", row.priority == 0 ? nil : String(row.priority))
        add("Speed limit", details.speedLimit.map { Format.speed(Double($0)) })
        add("Checksum", details.checksum)
        add("Header", details.headers.keys.sorted().joined(separator: ", "))
        add("Added", row.addedAt)
        add("Started", row.startedAt)
        add("Ended", row.endedAt)
        add("Proof", row.proof?.rawValue)
        for gap in row.gaps ?? [] { add("Gap", gap) }
        if let error = row.error {
            add("Error", [error.message, error.suggestion].compactMap(\.self).joined(separator: " "))
            add("Cause", error.cause)
        }
        for segment in details.segments {
            let range = "\(Format.bytes(segment.start)) to \(Format.bytes(segment.end))"
            add("Connection", "\(segment.host)  \(range)  \(Format.speed(Double(segment.bytesPerSecond)))")
        }
        for entry in details.log { add("Log", "\(entry.at)  \(entry.text)") }
        return lines
    }
}
