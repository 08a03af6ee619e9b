import Foundation
import Testing

@testable import HaulCore

struct MachineRetryTests {
    // MARK: Budgets

    @Test(arguments: [0, 1, 2, 5])
    func givesUpEarlyWhileNobodyHasAnswered(_ budget: Int) {
        var driver = MachineDriver {
            $0.retry.attemptsBeforeFirstAnswer = budget
            $0.retry.attempts = 10
        }
        driver.connect()
        for _ in 0..<budget {
            driver.breakOff(.nameNotResolved)
            #expect(driver.place == .backingOff)
            driver.wakeUp()
        }
        driver.breakOff(.nameNotResolved)
        #expect(driver.place == .failed && driver.error?.code == .nameNotResolved)
    }

    @Test func neverTriesMoreOftenBeforeTheFirstAnswerThanAfterIt() {
        var driver = MachineDriver {
            $0.retry.attemptsBeforeFirstAnswer = 5
            $0.retry.attempts = 0
        }
        driver.connect()
        driver.breakOff()
        #expect(driver.place == .failed)
    }

    @Test func countsARefusalAsAnAnswer() {
        var driver = MachineDriver {
            $0.retry.attemptsBeforeFirstAnswer = 1
            $0.retry.attempts = 4
        }
        driver.connect()
        for _ in 0..<3 {
            driver.answer(.answer(503))
            driver.wakeUp()
        }
        // The server is now down, but its earlier answers proved that it is the right one.
        driver.breakOff(.connectionRefused)
        #expect(driver.place == .backingOff)
        driver.wakeUp()
        driver.breakOff(.connectionRefused)
        #expect(driver.place == .failed)
    }

    /// The reader of a stream ends an attempt by such a failure, before its head and behind it.
    @Test(arguments: [false, true]) func waitsAsLongAsAFailureOfASourceReaderSays(_ hasBegun: Bool) {
        var driver = MachineDriver()
        driver.connect()
        if hasBegun { driver.answer(.whole) }
        let failure = TransportError(retrying: DownloadError(.incompleteStream, "", status: 503), after: .seconds(77))
        driver.send(.connectionEnded(driver.id, .failed(failure, nil)))
        #expect(driver.place == .backingOff && driver.wait == .seconds(77))
    }

    @Test func startsTheCountAnewWithEachByteOfProgress() {
        var driver = MachineDriver { $0.retry.attempts = 1 }
        driver.connect()
        driver.answer(.whole)
        for step in 1...20 as ClosedRange<Int64> {
            driver.breakOff(at: step)
            #expect(driver.place == .backingOff)
            driver.wakeUp()
            driver.answer(.rest(from: step))
        }
        driver.breakOff(at: 20)
        driver.wakeUp()
        driver.answer(.rest(from: 20))
        driver.breakOff(at: 20)
        #expect(driver.place == .failed)
    }

    @Test func doesNotCountTheSameGroundTwiceAsProgress() {
        var driver = MachineDriver { $0.retry.attempts = 2 }
        driver.connect()
        driver.answer(.whole)
        driver.breakOff(at: 400)
        var attempts = 0
        while driver.place == .backingOff, attempts < 50 {
            attempts += 1
            driver.wakeUp()
            // The server ignores ranges. Each answer starts at 0 and never gets further.
            driver.answer(.whole)
            if driver.place == .connecting { driver.answer(.whole) }
            driver.breakOff(at: 400)
        }
        #expect(driver.place == .failed && attempts < 5)
    }

    @Test func countsProgressInANewVersionFromItsStart() {
        var driver = MachineDriver { $0.retry.attempts = 1 }
        driver.connect()
        driver.answer(.whole)
        driver.breakOff(at: 900)
        driver.wakeUp()
        driver.answer(.whole(of: "b"))
        for step in [10, 20, 30, 40] as [Int64] {
            driver.breakOff(at: step)
            #expect(driver.place == .backingOff, "at \(step)")
            driver.wakeUp()
            driver.answer(.rest(from: step, of: "b"))
        }
    }

    @Test(arguments: [TransportError.Kind.tlsRefused, .proxyRefused, .tooManyRedirects, .insecureRedirect, .invalidURL])
    func doesNotRetryWhatWaitingCannotMend(_ kind: TransportError.Kind) {
        var driver = MachineDriver(at: .connecting)
        #expect(driver.breakOff(kind) == [.checkpoint, .releaseFile, .report])
        #expect(driver.place == .failed)
    }

    @Test func resumingGivesTheFullBudgetAgain() {
        var driver = MachineDriver { $0.retry.attemptsBeforeFirstAnswer = 0 }
        driver.connect()
        driver.breakOff()
        driver.send(.resumeRequested)
        #expect(driver.place == .queued && driver.machine.patience.failures == 0)
    }

    // MARK: Waits

    @Test(arguments: [(5, 5), (0, 0), (-7, 0), (10_000, 300)])
    func waitsAsLongAsTheServerAsksWithinReason(_ asked: Int, _ waited: Int) {
        var driver = MachineDriver(at: .connecting)
        driver.answer(.answer(503), retryAfter: .seconds(asked))
        #expect(driver.wait == .seconds(waited))
        guard case .backingOff(let until, _) = driver.state else {
            Issue.record("\(driver.state)")
            return
        }
        #expect(until == Instant.start + .seconds(waited))
    }

    @Test func pausesAndCancelsItsWait() {
        var driver = MachineDriver(at: .backingOff)
        let timer = driver.timer
        #expect(driver.send(.pauseRequested).first == .cancelTimer(timer))
        #expect(driver.wakeUp().isEmpty)
    }

    // MARK: Links that expire

    @Test func renewsAnExpiredLinkBehindARedirectTwice() {
        let expired = ResponseHead.answer(403, from: "https://cdn.example/a.iso?signature=old")
        var driver = MachineDriver(at: .connecting)
        for _ in 0..<RetryBudget.mostRenewals {
            driver.answer(expired)
            #expect(driver.place == .backingOff)
            driver.wakeUp()
        }
        driver.answer(expired)
        #expect(driver.place == .failed && driver.error?.status == 403)
    }

    @Test func takesAGoodAnswerAsTheEndOfTheRenewals() {
        let expired = ResponseHead.answer(410, from: "https://cdn.example/a.iso?signature=old")
        var driver = MachineDriver(at: .backingOff)
        for step in 501...510 as ClosedRange<Int64> {
            driver.wakeUp()
            driver.answer(expired)
            driver.wakeUp()
            driver.answer(.rest(from: step - 1))
            driver.breakOff(at: step)
            #expect(driver.place == .backingOff)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 405, 407, 410, 451, 501, 505, 204, 300, 304, 999])
    func takesARefusalOfTheURLItselfAsFinal(_ status: Int) {
        var driver = MachineDriver(at: .connecting)
        driver.answer(.answer(status))
        #expect(driver.place == .failed && driver.error?.status == status)
    }

    // MARK: Another version

    @Test func followsAFewChangesAndNoMore() {
        var driver = MachineDriver(at: .backingOff)
        for change in 1...RetryBudget.mostChanges {
            driver.wakeUp()
            driver.answer(.whole(of: "v\(change)"))
            #expect(driver.place == .transferring)
            driver.breakOff(at: 10)
        }
        driver.wakeUp()
        driver.answer(.whole(of: "v4"))
        #expect(driver.place == .failed && driver.error?.code == .contentChanged)
        // The received bytes are kept under the tag of their own version.
        #expect(driver.machine.persisted.count == 10)
        #expect(driver.machine.resource?.validator.entityTag?.text == "\"v3\"")
    }

    @Test(arguments: [
        ResponseHead.whole(of: "b"), .rest(from: 500, of: "b"), .answer(412),
        .answer(416, ["Content-Range": "bytes */9"]),
    ])
    func failsOnAChangeIfTheUserWantsNoOtherVersion(_ head: ResponseHead) {
        var driver = MachineDriver(at: .backingOff) { $0.failsOnChange = true }
        driver.wakeUp()
        let id = driver.id
        #expect(driver.answer(head) == [.close(id), .checkpoint, .releaseFile, .report])
        #expect(driver.error?.code == .contentChanged && driver.machine.persisted.count == 500)
    }

    @Test func startsOverWhenTheOverlapDiffers() {
        var driver = MachineDriver(at: .backingOff)
        driver.wakeUp()
        driver.answer(.rest(from: 500))
        driver.send(.connectionEnded(driver.id, .overlapDiffers))
        #expect(driver.place == .connecting && driver.question == .whole)
        // The received bytes stay until the new answer can replace them.
        #expect(driver.machine.persisted.count == 500)
    }

    // MARK: Ranges that do not work

    @Test func doesNotAskABrokenServerForRangesForEver() {
        var driver = MachineDriver(at: .backingOff)
        driver.wakeUp()
        driver.answer(.answer(206, ["Content-Range": "bytes 0-999/1000", "ETag": "\"a\""]))
        #expect(driver.place == .connecting && driver.question == .whole)
        driver.answer(.whole)
        driver.breakOff(at: 600)
        driver.wakeUp()
        #expect(driver.question == .whole)
        driver.answer(.answer(206, ["Content-Range": "bytes 0-999/1000", "ETag": "\"a\""]))
        #expect(driver.place == .backingOff && driver.error?.code == .malformedResponse)
    }

    @Test func asksOnceMoreWithoutACondition() {
        var driver = MachineDriver(at: .backingOff)
        driver.wakeUp()
        #expect(driver.question.condition == .ifRange("\"a\""))
        driver.answer(.whole)
        #expect(driver.place == .connecting && driver.question.offset == 500 && driver.question.condition == .none)
        driver.answer(.whole)
        #expect(driver.place == .transferring && driver.machine.persisted == .zero)
    }

    @Test func asksForTheRestWhenTheServerSendsLessThanAsked() {
        var driver = MachineDriver(at: .backingOff)
        driver.wakeUp()
        driver.answer(.rest(from: 500, to: 599))
        driver.send(.connectionEnded(driver.id, .finished(driver.persisted(600))))
        #expect(driver.place == .connecting && driver.question.offset == 600)
    }

    /// Returns a driver with 500 bytes of a file of unknown length, and an answer with 100 more.
    private func partOfAnUnknownWhole() -> MachineDriver {
        var driver = MachineDriver(at: .connecting)
        driver.answer(.answer(200, ["Transfer-Encoding": "chunked", "ETag": "\"a\""]))
        driver.breakOff(at: 500)
        driver.wakeUp()
        driver.answer(.answer(206, ["Content-Range": "bytes 500-599/*", "ETag": "\"a\""]))
        return driver
    }

    @Test func asksForMoreAfterAPartOfAnUnknownWhole() {
        var driver = partOfAnUnknownWhole()
        driver.send(.connectionEnded(driver.id, .finished(driver.persisted(600))))
        #expect(driver.place == .connecting && driver.question.offset == 600)
        driver.answer(.answer(416, ["Content-Range": "bytes */600", "ETag": "\"a\""]))
        #expect(driver.place == .verifying && driver.machine.resource?.total == 600)
    }

    @Test func doesNotTakeAnAnswerWithoutTheBytesThatItNamesForTheEnd() {
        var driver = partOfAnUnknownWhole()
        driver.send(.connectionEnded(driver.id, .finished(driver.persisted(500))))
        #expect(driver.place == .backingOff && driver.machine.resource?.total == nil)
    }

    @Test func looksAtTheDiskAgainWhenAnotherLinkComesWhileItWaitsForDescriptors() {
        var driver = MachineDriver(at: .transferring)
        driver.send(.stepFailed(DownloadError(.tooManyOpenFiles, "Too many files are open.")))
        #expect(driver.place == .backingOff)
        let actions = driver.send(.sourceReplaced(.init(url: link("https://other.example/a.iso"))))
        #expect(driver.place == .inspectingDisk && actions.contains(.recover))
    }

    // MARK: The wrong digest

    @Test func fetchesOnceMoreThenSetsTheBytesAside() throws {
        let (good, bad) = (ShadowServer.digest(of: 1), ShadowServer.digest(of: 2))
        var driver = MachineDriver(at: .verifying) { $0.checksum = good }
        driver.send(.verified(.mismatch(expected: good, actual: bad)))
        #expect(driver.place == .connecting && driver.question == .whole)
        driver.answer(.whole)
        driver.send(.connectionEnded(driver.id, .finished(driver.persisted(1000))))
        let actions = driver.send(.verified(.mismatch(expected: good, actual: bad)))
        #expect(actions == [.setAside, .releaseFile, .report])
        #expect(driver.error?.code == .checksumMismatch && driver.machine.persisted == .zero)
        #expect(driver.send(.bytesLanded(driver.persisted(1000))).isEmpty && driver.machine.persisted == .zero)
    }

    @Test func verifiesTheUsersChecksumRatherThanTheServers() {
        let (mine, theirs) = (ShadowServer.digest(of: 1), Data(ShadowServer.digest(of: 2).digest).base64EncodedString())
        for checksum in [mine, nil] {
            var driver = MachineDriver { $0.checksum = checksum }
            driver.connect()
            driver.answer(.answer(200, ["Content-Length": "3", "Repr-Digest": "sha-256=:\(theirs):"]))
            let actions = driver.send(.connectionEnded(driver.id, .finished(driver.persisted(3))))
            #expect(actions.first == .verify(checksum ?? ShadowServer.digest(of: 2)))
        }
    }

    @Test func givesUpSoonOnAServerThatSendsNoProperHTTPAgainAndAgain() {
        var driver = MachineDriver { $0.retry.attempts = 20 }
        driver.connect()
        driver.answer(.whole)
        driver.breakOff(.malformedResponse, at: 400)
        var attempts = 1
        while driver.place == .backingOff, attempts < 20 {
            driver.wakeUp()
            driver.answer(.rest(from: 400))
            // Another failure in between does not reset the count.
            driver.breakOff(attempts == 2 ? .connectionLost : .malformedResponse, at: 400)
            attempts += 1
        }
        #expect(driver.place == .failed && driver.error?.code == .malformedResponse)
        #expect(attempts == RetryBudget.mostMalformed + 2)
    }

    @Test func aComparedBlockIsProgressBetweenMalformedAnswers() {
        var budget = RetryBudget(seed: 1)
        budget.noteAnswer()
        for _ in 0..<RetryBudget.mostComparedBlocks {
            #expect(budget.waitAfterFailure(RetryPolicy(), retryAfter: nil, isMalformed: true) != nil)
            budget.noteCompared()
        }
        let waits = (0...RetryBudget.mostMalformed).map { _ in
            budget.waitAfterFailure(RetryPolicy(), retryAfter: nil, isMalformed: true)
        }
        #expect(waits.last == .some(nil) && waits.dropLast().allSatisfy { $0 != nil })
    }

    @Test func bearsWithMalformedAnswersThatBringSomethingNew() {
        var driver = MachineDriver { $0.retry.attempts = 20 }
        driver.connect()
        driver.answer(.whole)
        for step in 1...12 as ClosedRange<Int64> {
            driver.breakOff(.malformedResponse, at: step)
            #expect(driver.place == .backingOff)
            driver.wakeUp()
            driver.answer(.rest(from: step))
        }
        #expect(driver.place == .transferring)
    }
}
