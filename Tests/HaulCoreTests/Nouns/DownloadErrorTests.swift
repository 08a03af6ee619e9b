import Foundation
import HaulCore
import Testing

/// Errors as an application sees them.
struct DownloadErrorTests {
    @Test func isMadeByAnApplication() throws {
        let error = DownloadError(
            code: .refusedByServer,
            message: "The server\nsaid no.",
            cause: "x\u{7}y",
            status: 404
        )
        #expect(error.message == "The server said no.")
        #expect(error.cause == "x?y")
        #expect(error.status == 404)
        let copy = try JSONDecoder().decode(DownloadError.self, from: JSONEncoder().encode(error))
        #expect(copy == error)
    }

    @Test func isShownByFoundation() {
        let error: any Error = DownloadError(code: .diskFull, message: "The disk is full.", cause: "ENOSPC")
        #expect(error.localizedDescription == "The disk is full.")
        #expect((error as? any LocalizedError)?.recoverySuggestion == "Free disk space, then resume the download.")
    }

    @Test(arguments: DownloadError.Code.allCases)
    func isACancellationOfTheDownloadOrOfTheWait(_ code: DownloadError.Code) {
        let isCancellation = [.cancelled, .waitCancelled].contains(code)
        #expect(DownloadError(code: code, message: "m").isCancellation == isCancellation)
    }

    @Test(arguments: DownloadError.Code.allCases)
    func suggestsASentenceOrNothing(_ code: DownloadError.Code) {
        let suggestion = DownloadError(code: code, message: "m").recoverySuggestion
        #expect(suggestion.map { $0.hasSuffix(".") || code == .invalidChecksum } ?? true)
        #expect(suggestion.map { !$0.contains("--") } ?? true, "a library knows no flags")
    }

    @Test(arguments: [(401, true), (404, true), (429, true), (503, true), (400, false), (nil, false)])
    func suggestsByTheStatusOfARefusal(_ status: Int?, _ isSuggested: Bool) {
        let error = DownloadError(code: .refusedByServer, message: "m", status: status)
        #expect((error.recoverySuggestion != nil) == isSuggested)
    }

    /// A file system without room for another file has kept nothing of this one.
    @Test(arguments: [("pwritev", true), ("open", false), ("mkdir", false)])
    func saysThatBytesAreKeptOnlyIfThereAreSome(_ call: String, _ areKept: Bool) {
        let sentence = DiskError(.full, call: call, path: "/d/a").sentence
        #expect(sentence.contains("/d/a") && sentence.contains("are on the disk are kept") == areKept)
    }
}
