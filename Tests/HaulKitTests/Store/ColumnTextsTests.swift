import Foundation
import GRDB
import Testing

@testable import HaulCore
@testable import HaulKit

/// Checks that Foundation's decoder reads the hand-written texts of the columns.
struct ColumnTextsTests {
    private static let validators = [
        Validator(), Validator(entityTag: EntityTag("\"a\\b/ü\u{1F98A}\"")), Validator(entityTag: EntityTag("W/\"\"")),
        Validator(lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", lastModifiedIsStrong: true),
        Validator(
            entityTag: EntityTag("\"x\""),
            lastModified: "quote \" backslash \\ tab \t line \n nul \u{0} del \u{7F}"
        ),
    ]

    @Test(arguments: validators, [nil, 0, Int64.max])
    func readsBackAResource(_ validator: Validator, _ total: Int64?) throws {
        var resource = Resource(total: total, validator: validator)
        for type in [nil, "", "text/plain", "odd \"type\""] {
            resource.contentType = type
            let text = try ColumnTexts().of(resource)
            #expect(try JSONDecoder().decode(Resource.self, from: Data(text.utf8)) == resource, "\(text)")
        }
    }

    @Test func readsBackAResourceThatSaysMore() throws {
        var resource = Resource(total: 5)
        resource.contentCoding = "gzip"
        (resource.hasUsableRanges, resource.isFramed) = (false, false)
        resource.digest = DownloadRequest.Checksum(.md5, digest: Array(repeating: 7, count: 16))
        resource.mirror = URL(string: "http://mirror.test/")
        let text = try ColumnTexts().of(resource)
        #expect(try JSONDecoder().decode(Resource.self, from: Data(text.utf8)) == resource)
    }

    @Test func readsBackTheStatusOfAFile() throws {
        let status = FileStatus(
            kind: .file,
            size: .max,
            allocated: 0,
            device: .max,
            inode: .max,
            born: .min,
            modified: -1
        )
        let text = ColumnTexts().of(status)
        #expect(try JSONDecoder().decode(FileStatus.self, from: Data(text.utf8)) == status)
    }
}
