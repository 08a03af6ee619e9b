import Foundation

/// Downloads three files over a transport of its own and prints each request with its answer: `OwnTransport`.
///
/// The program uses Haul's rules without Haul's HTTP client, disk and store. An application with a `URLSession` of its
/// own does the same with `URLRequest` and `HTTPURLResponse` in place of ``Request`` and ``Answer``.
@main enum OwnTransport {
    static func main() {
        do {
            try continuesTheSameVersion()
            try startsOverWithAnotherVersion()
            try startsOverUnderAWeakTag()
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    /// The connection breaks twice. Each later request asks for the rest of the same version.
    private static func continuesTheSameVersion() throws {
        let file = ServedFile(tag: "\"v1\"", content: bytes(100_000, seed: 1))
        let server = ScriptedServer([
            Step(file: file, breaksAfter: 40_000), Step(file: file, breaksAfter: 30_000), Step(file: file),
        ])
        try download("the same version", from: server, expecting: file)
    }

    /// The file changes while the download is interrupted. `If-Range` makes the server send all of the new version.
    private static func startsOverWithAnotherVersion() throws {
        let old = ServedFile(tag: "\"v1\"", content: bytes(100_000, seed: 1))
        let new = ServedFile(tag: "\"v2\"", content: bytes(90_000, seed: 2))
        let server = ScriptedServer([Step(file: old, breaksAfter: 40_000), Step(file: new)])
        try download("another version", from: server, expecting: new)
    }

    /// A weak tag does not promise equal bytes. Haul's downloader compares blocks then; this program starts over.
    private static func startsOverUnderAWeakTag() throws {
        let file = ServedFile(tag: "W/\"v1\"", content: bytes(100_000, seed: 3))
        let server = ScriptedServer([Step(file: file, breaksAfter: 40_000), Step(file: file)])
        try download("a weak tag", from: server, expecting: file)
    }

    /// Makes attempts until the file is complete. Between two attempts everything known goes through JSON, as it does
    /// in an application that ends and starts again.
    private static func download(_ name: String, from server: any Transport, expecting file: ServedFile) throws {
        print("# \(name)")
        guard let url = URL(string: "https://files.example/lesson.mp4") else { throw Failure("no URL") }
        var download = OwnDownload(url: url)
        for _ in 0..<8 where !download.isComplete {
            try download.attempt(over: server)
            download = try JSONDecoder().decode(OwnDownload.self, from: JSONEncoder().encode(download))
            print("\(download.bytes.count) bytes on disk")
        }
        guard download.isComplete, download.bytes == file.content else { throw Failure("\(name): wrong bytes") }
        print("complete")
    }

    /// Returns bytes that differ from seed to seed.
    private static func bytes(_ count: Int, seed: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 + $0 * seed) }
    }
}

/// Reason why the program ends without its files.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
