import Foundation
import Testing

@testable import HaulCore

struct LinkExpiryTests {
    private func expiry(_ query: String) -> Int64? {
        LinkExpiry.date(in: link("https://files.example/a.iso?" + query)).map { Int64($0.timeIntervalSince1970) }
    }

    @Test(
        arguments: [
            // 2013-05-24 00:00:00 plus one day.
            (
                "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-Signature=a",
                1_369_440_000
            ),
            ("X-Goog-Date=20240229T235959Z&X-Goog-Expires=1&X-Goog-Signature=a", 1_709_251_200),
            ("x-amz-date=20130524T000000Z&x-amz-expires=86400", 1_369_440_000),
            ("Expires=1700000000&Signature=a&Key-Pair-Id=b", 1_700_000_000),
            ("GoogleAccessId=a&Expires=1700000000&Signature=b", 1_700_000_000),
            ("sv=2022&se=2030-01-01T00%3A00%3A00Z&sig=a", 1_893_456_000),
            ("se=2030-01-01&sig=a", 1_893_456_000),
            ("se=2030-01-01T01:00Z&sig=a", 1_893_459_600),
            ("se=2030-01-01T01:00:00.1234567%2B01:00&sig=a", 1_893_456_000),
            ("se=2029-12-31T19:00:00-05:00&sig=a", 1_893_456_000),
            // The earliest of two expiries counts.
            ("Expires=1800000000&se=2030-01-01&sig=a", 1_800_000_000),
        ] as [(String, Int64)]
    )
    func readsWhatServicesWrite(_ query: String, _ moment: Int64) {
        #expect(expiry(query) == moment)
    }

    @Test(arguments: [
        "", "a", "=", "&&&=&", "token=1700000000", "X-Amz-Expires=60", "X-Amz-Date=20130524T000000Z",
        "X-Amz-Date=20130524T000000Z&X-Amz-Expires=-5", "X-Amz-Date=20130524T000000Z&X-Amz-Expires=0",
        "X-Amz-Date=20130524T000000Z&X-Amz-Expires=9223372036854775807",
        "X-Amz-Date=20130524T000000Z&X-Amz-Expires=99999999999999999999999999",
        "X-Amz-Date=99991231T235959Z&X-Amz-Expires=86400",
        "X-Amz-Date=20131324T000000Z&X-Amz-Expires=60", "X-Amz-Date=20130024T000000Z&X-Amz-Expires=60",
        "X-Amz-Date=20130230T000000Z&X-Amz-Expires=60", "X-Amz-Date=20130524T240000Z&X-Amz-Expires=60",
        "X-Amz-Date=20130524T000000&X-Amz-Expires=60", "X-Amz-Date=20130524T000000ZZ&X-Amz-Expires=60",
        "X-Amz-Date=%00%FF&X-Amz-Expires=60", "X-Amz-Date=20130524T000000Z&X-Goog-Expires=60",
        "Expires=0", "Expires=-1", "Expires=3600", "Expires=1e9", "Expires= 1700000000", "Expires=+1700000000",
        "Expires=1700000000.5", "Expires=1700000000000", "Expires=99999999999999999999999999999999999999",
        "Expires=Thu,%2001%20Dec%202030%2016:00:00%20GMT", "Expires=\u{0661}\u{0667}",
        // A parameter that comes twice: it is unknown which value the server reads.
        "Expires=1700000000&Expires=1800000000", "Expires=1700000000&expires=1700000000",
        "se=2030-01-01", "se=2030-13-01&sig=a", "se=2030-01-01T&sig=a", "se=2030-01-01T00:00:00&sig=a",
        "se=2030-01-01T00:00:00+99:00&sig=a", "se=2030-01-01T00:00:00Zjunk&sig=a", "se=1899-01-01&sig=a",
        "se=9999-12-31T23:59:59-23:59&sig=a", "se=0000-01-01&sig=a",
    ])
    func knowsNothingOfWhatIsOdd(_ query: String) {
        #expect(expiry(query) == nil)
    }

    @Test func knowsNothingWithoutAQuery() {
        #expect(LinkExpiry.date(in: link("https://files.example/Expires=1700000000")) == nil)
        #expect(LinkExpiry.date(in: link("haul-source:a")) == nil)
    }

    @Test(arguments: UInt64(0)..<50)
    func survivesAnyQuery(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let words = [
            "X-Amz-Date", "X-Amz-Expires", "X-Goog-Date", "X-Goog-Expires", "Expires", "se", "sig", "=", "&", "%", "%4",
            "T",
            "Z", "-", ":", "+", ".", "20130524T000000Z", "2030-01-01", "9999", "99", "0", "9223372036854775807",
        ]
        for _ in 0..<200 {
            let query = (0..<Int.random(in: 0..<24, using: &random)).compactMap { _ in
                words.randomElement(using: &random)
            }
            guard let url = URL(string: "https://files.example/a?" + query.joined()) else { continue }
            // Every date read has a year of four digits, so that sums with the date cannot overflow.
            if let date = LinkExpiry.date(in: url) {
                #expect((946_684_800..<253_402_300_800).contains(date.timeIntervalSince1970), "seed \(seed): \(url)")
            }
        }
    }
}
