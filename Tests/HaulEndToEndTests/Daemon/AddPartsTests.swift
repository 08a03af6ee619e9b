import ArgumentParser
import Foundation
import HaulServer
import HaulTesting
import Testing

@testable import haul

/// Tests that `haul add` sends or refuses each of its options.
struct AddPartsTests {
    private static let url = "http://h.example/file.bin"
    private static let digest = String(repeating: "0", count: 32)
    /// Words for each option, besides those that name files to read.
    private static let words: [String: [String]] = [
        "output": ["--output", "other.bin"], "directory": ["--directory", "/other"],
        "mirror": ["--mirror", "http://m.example/file.bin"], "checksum": ["--checksum", "md5:\(digest)"],
        "on-conflict": ["--on-conflict", "skip"], "header": ["--header", "X-Key: a"],
        "user-agent": ["--user-agent", "Browser/1"], "referer": ["--referer", "http://page.example/"],
        "variant": ["--variant", "720p"], "audio": ["--audio", "de"], "subtitles": ["--subtitles", "de"],
        "container": ["--container", "mkv"], "allow-gaps": ["--allow-gaps"], "live-for": ["--live-for", "2h"],
        "live-from": ["--live-from", "now"], "no-stream": ["--no-stream"], "limit-rate": ["--limit-rate", "2M"],
        "group": ["--group", "films"], "priority": ["--priority", "3"], "paused": ["--paused"],
    ]

    private func sent(_ words: [String]) throws -> [[String: JSONValue]] {
        try AddParts([Self.url], try AddOptionGroup.parse(words)).parts.map(\.fields)
    }

    @Test func sendsEveryOption() async throws {
        try await TemporaryFolder.with { folder in
            try "http://h.example/other.bin\n".write(toFile: folder("list"), atomically: true, encoding: .utf8)
            try "<metalink/>".write(toFile: folder("other.meta4"), atomically: true, encoding: .utf8)
            var words = Self.words
            words["input-file"] = ["--input-file", folder("list")]
            words["metalink"] = ["--metalink", folder("other.meta4")]
            let options = AddOptionGroup.helpMessage().split(separator: "\n").compactMap { line in
                line.prefixMatch(of: #/  (?:-\w, )?--([a-z0-9-]+)/#).map { String($0.1) }
            }
            #expect(Set(options).subtracting(["help"]) == Set(words.keys))
            let plain = try sent([])
            for (option, given) in words {
                let fields = try sent(given)
                #expect(fields != plain, "--\(option)")
            }
        }
    }

    /// A folder in `--output` leaves nothing for `--directory` to say.
    @Test func refusesASecondFolder() throws {
        #expect(throws: (any Error).self) { try AddOptionGroup.parse(["-o", "sub/file.bin", "-d", "/other"]) }
        let fields = try sent(["-o", "file.bin", "-d", "/other"])
        #expect(fields.first?["folder"] == "/other")
    }
}
