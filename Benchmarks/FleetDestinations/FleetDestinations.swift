import Crypto
import Foundation
import Logging

@testable import HaulFleet

/// Runs the destinations of a fleet without its queue, for `fleet/s3` of Acceptance and Benchmarks.
///
///     HaulFleetDestinations upload FILE s3://BUCKET/PREFIX KEY STATE      resumes the upload whose id is in STATE
///     HaulFleetDestinations folder ROOT COUNT BYTES                      creates and publishes COUNT files
@main
struct FleetDestinations {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        switch (words.first, words.count) {
        case ("upload", 5): try await upload(Array(words.dropFirst()))
        case ("folder", 4): try await folder(Array(words.dropFirst()))
        default:
            throw FleetError(.invalidInput, "Usage: upload FILE s3://BUCKET/PREFIX KEY STATE | folder ROOT COUNT BYTES")
        }
    }

    private static func upload(_ words: [String]) async throws {
        let (path, address, key, state) = (words[0], words[1], words[2], words[3])
        let environment = ProcessInfo.processInfo.environment
        let destination = try S3Destination(
            try S3Settings(address, environment: environment),
            stagingFolder: FileManager.default.currentDirectoryPath,
            credentials: S3CredentialCache(environment: environment),
            logger: Logger(label: "upload") { StreamLogHandler.standardError(label: $0) }
        )
        // The file STATE holds the digest and the upload id. A worker knows both from the download.
        let recorded = FileManager.default.contents(atPath: state).map { String(decoding: $0, as: UTF8.self) }
        let lines = recorded?.split(separator: "\n").map(String.init) ?? []
        var digest = lines.first.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
        if digest == nil {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            var hash = SHA256()
            while let block = try handle.read(upToCount: 1 << 20), !block.isEmpty { hash.update(data: block) }
            digest = Array(hash.finalize())
            try save(state, digest ?? [], nil)
        }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64 ?? 0
        let file = StagedFile(
            key: LeaseKey(item: 1, epoch: 1),
            stagedPath: path,
            path: key,
            bytes: size,
            sha256: digest ?? [],
            uploadID: lines.count > 1 ? lines[1] : nil
        )
        let start = ContinuousClock.now
        let prepared = try await destination.prepare(file) { id throws(FleetError) in
            do { try save(state, file.sha256, id) } catch { throw FleetError(.disk, "\(error)") }
            return true
        }
        let outcome = await destination.publish([prepared])[file.key]
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        guard case .published = outcome else {
            print("not published: \(String(describing: outcome))")
            exit(1)
        }
        print("published \(size) bytes in \(seconds) s")
    }

    private static func save(_ path: String, _ digest: [UInt8], _ id: String?) throws {
        let text = Data(digest).base64EncodedString() + "\n" + (id ?? "")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    private static func folder(_ words: [String]) async throws {
        guard let count = Int(words[1]), let bytes = Int(words[2]) else {
            throw FleetError(.invalidInput, "COUNT and BYTES must be numbers.")
        }
        let destination = try FolderDestination(root: words[0], worker: "benchmark")
        try await destination.check()
        let content = Data(repeating: 7, count: bytes)
        let digest = Array(SHA256.hash(data: content))
        let files = try (0..<count).map { number in
            let staged = "\(destination.stagingFolder)/\(number)"
            try content.write(to: URL(fileURLWithPath: staged))
            return PreparedFile(
                file: StagedFile(
                    key: LeaseKey(item: Int64(number), epoch: 1),
                    stagedPath: staged,
                    path: "out/\(number % 16)/\(number)",
                    bytes: Int64(bytes),
                    sha256: digest
                )
            )
        }
        sync()
        let start = ContinuousClock.now
        for first in stride(from: 0, to: count, by: 500) {
            let outcomes = await destination.publish(Array(files[first..<min(count, first + 500)]))
            for outcome in outcomes.values where outcome != .published(tag: nil) {
                print("not published: \(outcome)")
                exit(1)
            }
        }
        let microseconds = Double((ContinuousClock.now - start) / .microseconds(1))
        print("\(microseconds / Double(count)) us a file")
    }
}
