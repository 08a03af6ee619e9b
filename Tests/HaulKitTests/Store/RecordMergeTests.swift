import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// What a record keeps when a request for the same download is added.
struct RecordMergeTests {
    private func request(root: String?) throws -> DownloadRequest {
        var request = try DownloadRequest("https://h.example/a", to: .file(path: "/set/a"))
        request.root = root
        return request
    }

    @Test func keepsTheRootOfASetsFile() throws {
        var record = DownloadRecord(DownloadID(), try request(root: "/set"), createdAt: Date())
        _ = record.merge(try request(root: nil))
        #expect(record.request.root == "/set")
    }

    @Test func takesTheRootOfASet() throws {
        var record = DownloadRecord(DownloadID(), try request(root: nil), createdAt: Date())
        _ = record.merge(try request(root: "/set"))
        #expect(record.request.root == "/set")
    }
}
