import Foundation

@testable import HaulCore
@testable import HaulKit

/// Columns of the store, which another version of Haul or a person may have written.
extension FuzzTarget {
    static let rows: [FuzzTarget] = [
        FuzzTarget(
            text: "requests in the store",
            [
                "{\"headers\":[{\"name\":\"A\",\"value\":\"b\"}],\"failsOnChange\":false,\"resumesUnverified\":false,\"setsModificationTime\":true,\"allowsInsecureRedirects\":false,\"size\":5}",
                "{\"headers\":[],\"failsOnChange\":false,\"resumesUnverified\":true,\"setsModificationTime\":true,\"allowsInsecureRedirects\":false,\"checksum\":\"sha256:00\",\"mirrors\":[{\"url\":\"http://a\",\"priority\":1}],\"target\":\"/a b\"}",
            ]
        ) { text in
            let decoder = JSONDecoder()
            guard let request = try? decoder.decode(DownloadRequest.self, from: Data(text.utf8)) else {
                return nil
            }
            let json = try? JSONEncoder.keepingSecrets().encode(request)
            guard let again = json.flatMap({ try? decoder.decode(DownloadRequest.self, from: $0) }) else {
                return "it cannot be read again"
            }
            if again != request { return "\(request) is read as \(again)" }
            guard let url = URL(string: "http://a.example/") else { return nil }
            let address = HTTPURL(url, target: request.target)
            return address.map { $0.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } } ?? true ? nil : "an odd target"
        },
        // Each input has a tag, a date and a type, as a server sends them.
        FuzzTarget(
            text: "columns of resources",
            ["\"a\"\nSun, 06 Nov 1994 08:49:37 GMT\ntext/html", "W/\"\u{7}\\\"\n\u{1}\n\u{E9}\"\\u0041", "\n\n"]
        ) { text in
            let parts = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            var resource = Resource(total: Int64(text.utf8.count))
            resource.validator = Validator(
                entityTag: parts.first.flatMap { EntityTag($0) },
                lastModified: parts.dropFirst().first,
                lastModifiedIsStrong: text.utf8.count % 2 == 0
            )
            resource.contentType = parts.dropFirst(2).first
            guard let column = try? ColumnTexts().of(resource) else { return "it cannot be written" }
            let again = try? JSONDecoder().decode(Resource.self, from: Data(column.utf8))
            return again == resource ? nil : "\(column) is read as \(again.map { "\($0)" } ?? "nothing")"
        },
        FuzzTarget(
            text: "files in the store",
            [
                "{\"allocated\":4096,\"born\":1,\"device\":2,\"inode\":3,\"kind\":\"file\",\"modified\":4,\"size\":5}",
                "{\"size\":-1}",
            ]
        ) { text in
            guard let status = try? JSONDecoder().decode(FileStatus.self, from: Data(text.utf8)) else { return nil }
            let again = try? JSONDecoder().decode(FileStatus.self, from: Data(ColumnTexts().of(status).utf8))
            return again == status ? nil : "\(status)"
        },
        FuzzTarget(text: "messages to webhooks", ["a.iso\n{\"a\":1}", "\u{1B}[0m\"\\\n[", "\u{2028}\n\"\u{FEFF}\""]) {
            text in
            let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let url = URL(string: "http://a.example/") else { return nil }
            var download = HookedDownload(id: DownloadID(), url: url, path: parts.first, bytes: 1)
            download.key = parts.first
            download.error = DownloadError(.internalFault, parts.first ?? "", cause: parts.last)
            download.metadata = parts.last.map { DownloadRequest.Metadata(json: $0) }
            let message = HookMessage(event: .failed, time: now, subject: .download(download))
            let object = try? JSONSerialization.jsonObject(with: Data(message.json))
            return object is [String: Any] ? nil : "\(String(decoding: message.json, as: UTF8.self)) is no JSON"
        },
    ]
}
