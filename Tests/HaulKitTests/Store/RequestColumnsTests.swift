import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Options of requests, as the store keeps them.
struct RequestColumnsTests {
    private func text(_ options: some Encodable) throws -> String {
        let encoder = JSONEncoder.keepingSecrets()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(options), as: UTF8.self)
    }

    @Test func writesNoDefault() throws {
        let request = try DownloadRequest("https://h.example/a", to: .folder(path: "/d"))
        #expect(try text(request.options) == "{}")
    }

    @Test func theOptionsOfARowAreWhatHasNoColumnOfItsOwn() throws {
        let request = try DownloadRequest.full()
        var again = DownloadRequest(options: request.options, url: request.url, destination: request.destination)
        (again.key, again.group, again.owner) = (request.key, request.group, request.owner)
        (again.metadata, again.priority) = (request.metadata, request.priority)
        again.earlierSpelling = request.earlierSpelling
        #expect(again == request)
        let options = try text(request.options)
        for part in ["destination", "\"url\":\"https://u", "\"key\"", "group", "owner", "metadata", "priority\":-3"] {
            #expect(!options.contains(part))
        }
    }
}
