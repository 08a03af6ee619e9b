import Foundation
import Testing

@testable import HaulCore

struct RetryAfterHeaderTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)

    @Test(arguments: [("0", 0), ("120", 120), ("00120", 120), ("31536000", 31_536_000)])
    func readsSeconds(_ text: String, _ seconds: Int64) {
        #expect(RetryAfterHeader.delay(text, now: now) == .seconds(seconds))
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:51:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT", "Sun Nov  6 08:51:37 1994",
    ])
    func readsADateAsTheTimeUntilThen(_ text: String) {
        #expect(RetryAfterHeader.delay(text, now: now) == .seconds(120))
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
    ])
    func takesAPastDateForNoDelay(_ text: String) {
        #expect(RetryAfterHeader.delay(text, now: now) == .zero)
    }

    @Test(arguments: [
        "31536001", "9223372036854775807", "9223372036854775808", "99999999999999999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ])
    func capsAnAbsurdDelay(_ text: String) {
        #expect(RetryAfterHeader.delay(text, now: now) == RetryAfterHeader.maximum)
    }

    @Test(arguments: ["", " ", "-1", "+1", "1.5", "1 ", " 1", "120s", "soon", "0x10", "١٢", "1e3", "120, 60", "1\0"])
    func refusesGarbage(_ text: String) {
        #expect(RetryAfterHeader.delay(text, now: now) == nil)
    }

    @Test func neverTraps() {
        let alphabet = [
            "0", "9", "120", "9223372036854775807", "-", "+", ".", " ", "Sun, 06 Nov 1994 08:49:38 GMT", "\0", "é",
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ]
        let clocks = [
            now, .distantPast, .distantFuture, Date(timeIntervalSince1970: .nan),
            Date(timeIntervalSince1970: .infinity),
            Date(timeIntervalSince1970: -.infinity),
        ]
        var read = 0
        for (index, text) in HostileStrings(of: alphabet, count: 4000, upTo: 4, seed: 4).enumerated() {
            guard let delay = RetryAfterHeader.delay(text, now: clocks[index % clocks.count]) else { continue }
            read += 1
            #expect(delay >= .zero)
            #expect(delay <= RetryAfterHeader.maximum)
        }
        #expect(read > 100)
    }
}
