import Crypto
import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// The bytes of shards.
@Suite struct ShardFormatTests {
    private func files(in folder: TemporaryFolder) throws -> [StagedFile] {
        try [
            ("a/Photo.JPG", "picture", "{\"label\":3}"), ("b", String(repeating: "x", count: 512), "plain"),
            ("c.json", "", nil),
        ]
        .enumerated().map { index, given in
            var file = try StagedFiles.make(Int64(index + 1), given.0, given.1, in: folder.path)
            (file.url, file.metadata) = ("http://user:secret@h/\(given.0)", given.2)
            return file
        }
    }

    private func run(_ arguments: [String], in folder: TemporaryFolder) async throws -> String {
        let output = folder("output")
        let descriptor = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        let process = try SystemCommand.start(
            arguments,
            environment: ["PATH": "/usr/bin:/bin"],
            outputs: (descriptor, descriptor)
        )
        close(descriptor)
        #expect(await FleetRig.end(of: process) == .exited(0))
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    @Test func tarReadsTheFilesAndTheirDescriptions() async throws {
        try await TemporaryFolder.with { folder in
            let shard = try ShardFile.build(files(in: folder), ShardSettings(.tar), in: folder.path)
            let path = folder(shard.summary.fileName)
            let names = try await run(["/usr/bin/tar", "-tf", path], in: folder).split(separator: "\n")
            #expect(
                names == [
                    "000000000001.jpg", "000000000001.json", "000000000002.bin", "000000000002.json",
                    "000000000003.data.json", "000000000003.json",
                ]
            )
            #expect(try await run(["/usr/bin/tar", "-xOf", path, "000000000001.jpg"], in: folder) == "picture")
            let first = try await run(["/usr/bin/tar", "-xOf", path, "000000000001.json"], in: folder)
            #expect(first.hasPrefix(#"{"bytes":7,"item":1,"path":"a/Photo.JPG","sha256":""#))
            #expect(first.hasSuffix(#"","url":"http://h/a/Photo.JPG","metadata":{"label":3}}"#))
            let second = try await run(["/usr/bin/tar", "-xOf", path, "000000000002.json"], in: folder)
            #expect(second.contains(#""metadata":"plain""#))
        }
    }

    @Test(arguments: ShardSettings.Format.allCases)
    func theIndexNamesTheBytesOfEachFile(_ format: ShardSettings.Format) async throws {
        try await TemporaryFolder.with { folder in
            var files = try files(in: folder)
            files.insert(try StagedFiles.make(9, "gone", "gone", in: folder.path), at: 1)
            try FileManager.default.removeItem(atPath: files[1].stagedPath)
            let shard = try ShardFile.build(files, ShardSettings(format), in: folder.path)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder(shard.summary.fileName)))
            #expect(shard.summary.bytes == bytes.count && shard.summary.sha256 == Array(SHA256.hash(data: bytes)))
            #expect(shard.items.map(\.key.item) == [1, 2, 3])
            #expect(shard.failures.keys.map(\.item) == [9])
            for item in shard.items {
                let content = bytes[Int(item.offset)..<Int(item.offset + item.bytes)]
                #expect(Array(SHA256.hash(data: content)) == item.sha256)
            }
        }
    }

    @Test func aWebArchiveHasARecordForEachFileAndItsDescription() async throws {
        try await TemporaryFolder.with { folder in
            let shard = try ShardFile.build(files(in: folder), ShardSettings(.warc), in: folder.path)
            var rest = try Data(contentsOf: URL(fileURLWithPath: folder(shard.summary.fileName)))[...]
            var records: [(fields: [String: String], body: Data)] = []
            while !rest.isEmpty {
                let end = try #require(rest.range(of: Data("\r\n\r\n".utf8)))
                var lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                #expect(lines.removeFirst() == "WARC/1.1")
                let fields = Dictionary(
                    uniqueKeysWithValues: lines.map { line in
                        let parts = line.split(separator: ":", maxSplits: 1)
                        return (String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces))
                    }
                )
                let length = try #require(Int(fields["Content-Length"] ?? ""))
                records.append((fields, Data(rest[end.upperBound..<end.upperBound + length])))
                rest = rest[(end.upperBound + length)...]
                #expect(rest.prefix(4) == Data("\r\n\r\n".utf8))
                rest = rest.dropFirst(4)
            }
            #expect(
                records.map { $0.fields["WARC-Type"] } == ["warcinfo"]
                    + Array(repeating: ["resource", "metadata"], count: 3).joined()
            )
            #expect(records[1].body == Data("picture".utf8) && records[1].fields["Content-Type"] == "image/jpeg")
            #expect(records[1].fields["WARC-Target-URI"] == "http://h/a/Photo.JPG")
            #expect(records[2].fields["WARC-Concurrent-To"] == records[1].fields["WARC-Record-ID"])
            #expect(Set(records.map { $0.fields["WARC-Record-ID"] }).count == records.count)
        }
    }

    @Test(arguments: [("", ""), ("f", "MY======"), ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI======")])
    func base32IsThatOfRFC4648(_ text: String, _ encoded: String) {
        #expect(Base32.text(Array(text.utf8)) == encoded)
    }

    @Test(arguments: [
        ("a.tar.gz", "gz"), ("a", "bin"), (".hidden", "bin"), ("a.", "bin"), ("d.x/a", "bin"), ("a.ÄÖ", "bin"),
        ("a.j/../b.PNG", "png"), ("a.elevenchars", "bin"), ("x.JSON", "data.json"),
    ])
    func endingsAreShortLettersAndDigits(_ path: String, _ ending: String) {
        #expect(TarFormat.ending(of: path) == ending)
    }

    @Test func aSizeOfEightGibibytesIsWrittenInBaseTwoHundredFiftySix() {
        let file = StagedFile(
            key: LeaseKey(item: 1, epoch: 1),
            stagedPath: "",
            path: "a.bin",
            bytes: 1 << 33,
            sha256: []
        )
        let header = TarFormat(date: Date()).head(of: file)
        #expect(Array(header[124..<136]) == [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0])
    }
}
