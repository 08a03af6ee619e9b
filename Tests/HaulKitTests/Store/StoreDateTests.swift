import Foundation
import GRDB
import Testing

@testable import HaulCore
@testable import HaulKit

struct StoreDateTests {
    private func isSame(_ date: Date) throws {
        let (text, library) = (try #require(StoreDate.text(date)), String.fromDatabaseValue(date.databaseValue))
        // The millisecond may be rounded up or down.
        let read = try #require(Date.fromDatabaseValue(text.databaseValue))
        #expect(text.utf8.count == library?.utf8.count)
        #expect(abs(read.timeIntervalSince(date)) < 0.002, "\(text) for \(library ?? "nothing")")
    }

    @Test(arguments: [0, 0.001, 0.0499, 1.5, 1.999, 951_868_799.999, 1_700_000_000.123, 253_402_300_000.5, -1.25])
    func writesADateAsTheLibraryDoes(_ seconds: Double) throws {
        for offset in [0, 0.25, -0.25, 1, 0] { try isSame(Date(timeIntervalSince1970: seconds + offset)) }
    }

    @Test func knowsTheLengthOfEachMonthAndYear() throws {
        // The years 1970 to 2105 include the leap day of 2000; 2100 has none.
        for day in stride(from: 0, to: 49_400, by: 1) {
            let date = Date(timeIntervalSince1970: Double(day) * 86400 + 86399.5)
            let text = try #require(StoreDate.text(date))
            #expect(
                text.dropLast(4)
                    == date.formatted(.iso8601.dateTimeSeparator(.space).timeZoneSeparator(.omitted)).dropLast(1)
            )
        }
        try isSame(Date(timeIntervalSince1970: 253_402_300_799.999))
    }
}
