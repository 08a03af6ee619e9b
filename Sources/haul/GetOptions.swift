public import ArgumentParser
import Foundation
public import HaulKit

/// Name, folder, sources and checks of a file.
struct GetOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: "Path of the file, below --directory. Fails if it exists, unless --on-conflict says otherwise.",
        completion: .file()
    )
    var output: String?

    @Option(name: [.short, .long], help: "Folder for the files.", completion: .directory)
    var directory: String = "."

    @Option(help: "Another URL of the same file. Repeatable.")
    var mirror: [String] = []

    @Option(help: "Digest that the file must have, as ALG:HEX (md5, sha1, sha256, sha512, git-sha1).")
    var checksum: ChecksumArgument?

    @Option(help: "What to do when the file exists: fail, rename, overwrite or skip.")
    var onConflict: DownloadRequest.ConflictPolicy?

    @Flag(help: "Set the file's modification time to the time that the server reports.")
    var remoteTime = false

    @Flag(help: "Resume a file for which the server names no version, if its length and blocks of it agree.")
    var resumeUnverified = false

    @Flag(help: "Fail instead of starting over when the URL has another version of the file.")
    var failOnChange = false

    func validate() throws {
        try Self.check(output: output, directory: directory)
        try Self.check(mirrors: mirror)
    }

    /// - Throws: `ValidationError` if a text is not the URL of a mirror.
    static func check(mirrors: [String]) throws {
        do { for text in mirrors { _ = try mirror(text) } } catch let complaint as Complaint {
            throw ValidationError("--mirror: \(complaint.sentence)")
        }
    }

    /// - Throws: `ValidationError` if `output` is not the path of a file or `directory` is empty.
    static func check(output: String?, directory: String?) throws {
        if let output, !FilePaths.isNameOfFile(output) {
            throw ValidationError(
                output.isEmpty
                    ? "--output takes the path of a file."
                    : "--output takes the path of a file, and \(output) names a folder: use --directory."
            )
        }
        if directory?.isEmpty == true { throw ValidationError("--directory takes the path of a folder.") }
    }

    /// Parses the URL of a mirror, which must be an http or https URL.
    static func mirror(_ text: String) throws -> SpelledURL {
        let mirror = try spelled(text)
        guard HTTPURL(text.trimmingCharacters(in: .whitespacesAndNewlines)) != nil else { throw unreadable }
        return mirror
    }

    /// Whether the options allow several files: `--output`, `--checksum` and `--mirror` are for a single file.
    var areForMany: Bool { output == nil && checksum == nil && mirror.isEmpty }

    /// The file that `--output` names, below `--directory` unless the path is absolute; without `--output`, the folder.
    private var destination: DownloadRequest.Destination {
        guard let output else { return .folder(path: directory) }
        let isWhole = directory == "." || output.hasPrefix("/")
        return .file(path: isWhole ? output : FilePaths.join(directory, output))
    }

    /// - Parameter text: a URL with optional mirrors after it, separated by tabs, or `haul-source:KEY`.
    func request(_ text: String) throws -> DownloadRequest {
        if let key = Self.key(text) { return try request(key: key) }
        let texts = text.utf8.split(separator: UInt8(ascii: "\t")).map { String($0) ?? "" }
        guard let first = texts.first else { throw Self.unreadable }
        let urls = try [Self.spelled(first)] + (texts.dropFirst() + mirror).map(Self.mirror)
        let url = urls[0]
        var request = DownloadRequest(url, to: destination)
        request.mirrors = urls.dropFirst().enumerated().map { Metalink.Source($1, priority: $0 + 1) }
        request.checksum = checksum?.checksum
        request.onConflict = onConflict
        apply(to: &request)
        return request
    }

    /// Makes a request without a URL: the refresh command prints the URL.
    private func request(key: String) throws -> DownloadRequest {
        var request = DownloadRequest(key: key, to: destination)
        request.mirrors = try mirror.map(Self.mirror).enumerated().map { Metalink.Source($1, priority: $0 + 1) }
        request.checksum = checksum?.checksum
        request.onConflict = onConflict
        apply(to: &request)
        return request
    }

    /// Returns the key after `haul-source:` with percent-encoding removed, or `nil` for another text.
    private static func key(_ text: String) -> String? {
        let scheme = "haul-source:"
        guard text.hasPrefix(scheme), text.count > scheme.count else { return nil }
        let key = String(text.dropFirst(scheme.count))
        return key.removingPercentEncoding ?? key
    }

    /// Makes a request for each file of a Metalink.
    ///
    /// - Throws: `ValidationError` if the Metalink has several files and an option is for a single file.
    func requests(_ metalink: Metalink) throws -> [DownloadRequest] {
        guard metalink.files.count == 1 || areForMany else {
            throw ValidationError(
                "--output, --checksum and --mirror are for a single file, and this Metalink has several."
            )
        }
        let mirrors = try mirror.map(Self.mirror)
        return metalink.files.map { file in
            var request = DownloadRequest(file, into: directory)
            request.mirrors += mirrors.map { Metalink.Source($0) }
            if output != nil {
                request.destination = destination
                request.onConflict = nil
            }
            request.checksum = checksum?.checksum ?? request.checksum
            request.onConflict = onConflict ?? request.onConflict
            apply(to: &request)
            return request
        }
    }

    private func apply(to request: inout DownloadRequest) {
        request.setsModificationTime = remoteTime
        request.resumesUnverified = resumeUnverified
        request.failsOnChange = failOnChange
    }

    static func url(_ text: String) throws -> URL { try spelled(text).url }

    static func spelled(_ text: String) throws -> SpelledURL {
        do throws(DownloadError) { return try SpelledURL(text) } catch { throw unreadable }
    }

    private static let unreadable = Complaint(DownloadError.noURL.message, .usage)
}

extension DownloadRequest.ConflictPolicy: ExpressibleByArgument {}
