import Foundation
import HaulKit

/// The blocks of the article about sets.
extension DocumentationSnippets {
    // MARK: Sets

    static func aModel(token: String?, downloader: Downloader) async throws {
        // snippet: Sets-1
        let source = try PublishedSet.hub("hf://org/model", token: token)
        let sync = try await downloader.sync(source, into: "models/model")
        print(sync.unchanged, "files were there,", sync.wanted, "are fetched")
        let report = try await sync.report()
        print(report.isWhole, report.revision ?? "", report.proofs)
        // end
    }

    static func aSignedRelease(list: URL, signature: URL, downloader: Downloader) async throws {
        // snippet: Sets-2
        let source = PublishedSet.checksumList(list, signature: .openPGP(signature, keyring: "publisher.gpg"))
        var options = SetOptions()
        options.select = ["*.iso"]
        let report = try await downloader.sync(source, into: "release", options: options).report()
        for fault in report.faults { print(fault.name, fault.error.message) }
        // end
    }

    static func compareAFolder(source: some SetSource, downloader: Downloader) async throws {
        // snippet: Sets-3
        let report = try await downloader.compare("release", with: source)
        if report.isWhole { print("\(report.files.count) files, signed by \(report.signedBy ?? "nobody")") }
        let receipt = try JSONEncoder().encode(report)
        try receipt.write(to: URL(fileURLWithPath: "receipt.json"))
        // end
    }

    static func theDigestOfOneFile(list: URL, url: URL, downloader: Downloader) async throws {
        // snippet: Sets-4
        let checksums = try await downloader.checksums(list)
        var request = DownloadRequest(url, to: .folder(path: "Downloads"))
        request.checksum = try checksums.checksum(of: request)
        let file = try await downloader.add(request).result()
        print(file.path)
        // end
    }

    // snippet: Sets-5
    struct CatalogueSource: SetSource {
        struct Entry: Decodable {
            var path: String
            var size: Int64
            var sha256: String
        }

        let catalogue: URL

        var location: URL? { catalogue }

        func list(_ documents: SetDocuments) async throws(DownloadError) -> FileSet {
            let document = try await documents.read(catalogue)
            let entries: [Entry]
            do { entries = try JSONDecoder().decode([Entry].self, from: Data(document.bytes)) } catch {
                throw DownloadError(code: .invalidSet, message: "The catalogue cannot be read.", cause: "\(error)")
            }
            let folder = document.url.deletingLastPathComponent()
            var files: [FileSet.File] = []
            for entry in entries {
                let checksum = try DownloadRequest.Checksum("sha256:" + entry.sha256)
                let url = folder.appending(path: entry.path)
                files.append(FileSet.File(name: entry.path, url: url, size: entry.size, checksum: checksum))
            }
            return FileSet(files: files, origin: catalogue.masked)
        }
    }
    // end
}
