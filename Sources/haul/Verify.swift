import ArgumentParser
import HaulKit

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares a file with a digest.",
        discussion: "Exit status: 0 the digest is correct, 5 it is wrong, 4 the file cannot be read."
    )

    @Argument(help: "The file to verify.", completion: .file())
    var file: String

    @Argument(help: "The digest as ALG:HEX (md5, sha1, sha256, sha512, git-sha1).")
    var checksum: ChecksumArgument

    func run() async throws {
        do {
            let checksum = checksum.checksum
            let actual = try await DownloadRequest.Checksum.of(checksum.algorithm, file: file)
            guard actual == checksum else {
                Output.error("\(file) has the digest \(actual), not \(checksum).")
                throw ExitStatus.checksum.code
            }
            Output.result("\(file): right")
        } catch let error as DownloadError {
            Output.error("\(error)")
            throw ExitStatus(error).code
        }
    }
}

/// A digest as it was typed.
struct ChecksumArgument: ExpressibleByArgument {
    let checksum: DownloadRequest.Checksum

    init?(argument: String) {
        // `nil` makes the parser print its own sentence, which names the option and the text.
        guard let checksum = try? DownloadRequest.Checksum(argument) else { return nil }
        self.checksum = checksum
    }
}
