import Foundation
import Testing

@testable import HaulCore

struct DownloadIDTests {
    @Test func isATimeOrderedUUIDAndNoTwoAreTheSame() {
        let ids = (0..<2000).map { _ in DownloadID() }
        #expect(Set(ids).count == ids.count)
        for id in ids {
            let text = Array(id.description)
            #expect(text[14] == "7" && "89ab".contains(text[19]), "RFC 9562 §5.7: version and variant")
        }
        let times = ids.map { String($0.description.prefix(13)) }
        #expect(times == times.sorted())
        #expect(Set(ids.map { String($0.description.suffix(12)) }).count == ids.count, "the rest is random")
    }

    @Test func readsWhatItWrites() {
        let id = DownloadID()
        #expect(DownloadID(id.description) == id)
        #expect(DownloadID("no id") == nil)
    }

    @Test func isEncodedAsItsText() throws {
        let id = DownloadID()
        let data = try JSONEncoder().encode([id])
        #expect(String(decoding: data, as: UTF8.self) == "[\"\(id)\"]")
        #expect(try JSONDecoder().decode([DownloadID].self, from: data) == [id])
        let earlier = Data("[{\"rawValue\": \"\(id.rawValue)\"}]".utf8)
        #expect(try JSONDecoder().decode([DownloadID].self, from: earlier) == [id])
        for none in ["[\"no id\"]", "[1]", "[{}]"] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([DownloadID].self, from: Data(none.utf8)) }
        }
    }
}
