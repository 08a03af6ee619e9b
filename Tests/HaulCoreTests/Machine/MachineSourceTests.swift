import Foundation
import Testing

@testable import HaulCore

/// Links that expire: when the source provider is called, and what happens to the received bytes.
struct MachineSourceTests {
    typealias Action = DownloadMachine.Action
    static let old = "https://files.example/a.iso?s=1"
    static let fresh = "https://files.example/a.iso?s=2"
    static let elsewhere = "https://cdn.example/x?s=2"

    func driver(_ url: String = old, _ change: (inout DownloadMachine.Settings) -> Void = { _ in })
        -> MachineDriver
    {
        MachineDriver {
            $0.url = link(url)
            $0.canAskForSource = true
            change(&$0)
        }
    }

    /// Returns a driver with half of the file, just after it has requested the rest over its link.
    func half(_ change: (inout DownloadMachine.Settings) -> Void = { _ in }, _ head: ResponseHead = .whole)
        -> MachineDriver
    {
        var driver = driver(Self.old, change)
        driver.connect()
        driver.answer(head)
        driver.breakOff(at: 500)
        driver.wakeUp()
        return driver
    }

    func refuse(_ driver: inout MachineDriver, _ status: Int = 403) -> [Action] {
        driver.send(.headReceived(driver.id, .answer(status, from: Self.old, asked: Self.old), retryAfter: nil))
    }

    func find(_ driver: inout MachineDriver, _ url: String = fresh, lasting: Duration? = nil) -> [Action] {
        driver.send(.sourceFound(driver.ask, .init(url: link(url), expiresAt: lasting.map { driver.now + $0 })))
    }

    // MARK: No URL yet

    @Test func asksForAURLWhenItGetsItsSlot() {
        var driver = driver("haul-source:lesson")
        driver.send(.slotGranted)
        #expect(driver.send(.recovered(nil)) == [.askForSource(driver.ask, .noneYet), .report])
        #expect(driver.place == .awaitingURL)
        let actions = find(&driver)
        #expect(actions == [.open(driver.id, driver.question), .report] && !driver.question.goesOn)
        #expect(driver.machine.sources.url == link(Self.fresh) && driver.machine.settings.url == link(Self.fresh))
        driver.answer(.whole)
        #expect(driver.place == .transferring)
    }

    @Test func failsAtOnceWithoutAURLAndAnybodyToAsk() {
        var driver = driver("haul-source:lesson") { $0.canAskForSource = false }
        driver.connect()
        #expect(driver.place == .failed && driver.error?.code == .sourceFailed)
    }

    @Test func asksAgainAWhileAfterNobodyKnewOne() {
        var driver = driver("haul-source:lesson") { $0.retry.attemptsBeforeFirstAnswer = 9 }
        driver.connect()
        for _ in 0..<RetryBudget.mostLinks {
            driver.send(.sourceFailed(driver.ask, DownloadError(.sourceFailed, "no")))
            #expect(driver.place == .backingOff)
            driver.wakeUp()
            #expect(driver.place == .awaitingURL)
        }
        driver.send(.sourceFailed(driver.ask, DownloadError(.sourceFailed, "no")))
        #expect(driver.place == .failed && driver.error?.code == .sourceFailed)
        driver.send(.resumeRequested)
        driver.connect()
        #expect(driver.place == .awaitingURL)
    }

    // MARK: Refused

    @Test(arguments: [400, 401, 403, 404, 410])
    func asksForAFreshLinkWhenTheFirstRequestIsRefused(_ status: Int) {
        var driver = half()
        let id = driver.id
        let actions = refuse(&driver, status)
        #expect(actions == [.close(id), .askForSource(driver.ask, .refused(status: status)), .report])
        _ = find(&driver)
        // The place is the same and only the signature differs, so the strong tag is enough.
        #expect(driver.question.offset == 500 && driver.question.overlap == 0)
        #expect(driver.question.condition == .ifRange("\"a\""))
        driver.answer(.rest(from: 500))
        #expect(driver.machine.persisted.count == 500 && driver.place == .transferring)
    }

    @Test(arguments: [402, 405, 406, 409, 451, 501])
    func failsWhereAFreshLinkWouldNotHelp(_ status: Int) {
        var driver = half()
        _ = refuse(&driver, status)
        #expect(driver.place == .failed && driver.error?.status == status)
    }

    @Test func takesA400ForALinksOnlyWhereItHasAQuery() {
        var driver = driver("https://files.example/a.iso")
        driver.connect()
        _ = refuse(&driver, 400)
        #expect(driver.place == .failed)
    }

    @Test func asksForAFreshLinkWhenALoginPageComes() {
        var driver = half()
        let page = ResponseHead.answer(
            200,
            ["Content-Type": "text/html", "Content-Length": "9"],
            from: Self.old,
            asked: Self.old
        )
        driver.send(.headReceived(driver.id, page, retryAfter: nil))
        #expect(driver.place == .awaitingURL && driver.reason == .refused(status: 200))
    }

    @Test func failsWithTheServersWordWhenEveryLinkIsRefused() {
        var driver = half()
        var asks = 0
        _ = refuse(&driver)
        while driver.place == .awaitingURL, asks < 50 {
            asks += 1
            _ = find(&driver, "https://files.example/a.iso?s=\(asks + 1)")
            driver.send(.headReceived(driver.id, .answer(410), retryAfter: nil))
        }
        #expect(driver.place == .failed && driver.error?.status == 410 && driver.error?.code == .refusedByServer)
        #expect(asks == RetryBudget.mostLinks && driver.machine.persisted.count == 500)
    }

    @Test func saysBothWhatTheServerSaidAndThatThereIsNoOther() {
        var driver = half { $0.retry.attempts = 1 }
        _ = refuse(&driver)
        driver.send(.sourceFailed(driver.ask, DownloadError(.sourceFailed, "no", cause: "the course is over")))
        #expect(driver.place == .failed && driver.error?.code == .sourceFailed && driver.error?.status == 403)
        #expect(driver.error?.cause == "the course is over")
    }

    @Test func asksNobodyWhereThereIsNobody() {
        var driver = half { $0.canAskForSource = false }
        let id = driver.id
        #expect(refuse(&driver) == [.close(id), .checkpoint, .releaseFile, .report])
    }

    @Test func asksAMirrorBeforeItSaysThatThereIsNoLink() {
        var driver = half {
            $0.mirrors = [Metalink.Source(link("https://mirror.example/a.iso"))]
            $0.retry.attempts = 0
        }
        // After the broken connection the mirror is asked. It has no file, so the primary source is next.
        driver.breakOff()
        _ = refuse(&driver)
        driver.send(.sourceFailed(driver.ask, DownloadError(.sourceFailed, "no")))
        #expect(driver.place == .connecting || driver.place == .failed)
    }

    /// Only an additional connection learns that the link has expired.
    @Test func goesOnWithTheOthersWhenAFurtherRequestIsRefused() {
        var driver = driver(Self.old) {
            $0.limits.connections = 2
            $0.limits.start = 2
            $0.limits.smallestPiece = 100
        }
        driver.connect()
        let first = driver.id
        driver.answer(.whole)
        let second = driver.id
        #expect(second != first)
        let actions = refuse(&driver)
        #expect(actions.contains(.close(second)) && !actions.contains(.close(first)))
        #expect(actions.contains(.askForSource(driver.ask, .refused(status: 403))))
        #expect(driver.place == .transferring)
        // No further request is made over a refused link.
        driver.now = driver.now + .seconds(1)
        #expect(
            !driver.send(.bytesLanded(driver.persisted(100))).contains { if case .open = $0 { true } else { false } }
        )
        _ = find(&driver)
        #expect(driver.question.link == 1 && driver.id != second && driver.machine.transfer.active.count == 2)
    }

    // MARK: Expiring

    @Test func asksInGoodTimeWhileBytesArrive() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        _ = find(&driver, lasting: .seconds(60))
        driver.answer(.whole)
        driver.now = driver.now + .seconds(54)
        #expect(driver.send(.bytesLanded(driver.persisted(100))).isEmpty)
        driver.now = driver.now + .seconds(2)
        #expect(driver.send(.bytesLanded(driver.persisted(200))) == [.askForSource(driver.ask, .expiring)])
        #expect(driver.send(.bytesLanded(driver.persisted(300))).isEmpty)
        // The connection goes on over the old link.
        #expect(find(&driver, lasting: .seconds(60)).isEmpty && driver.place == .transferring)
        driver.breakOff(at: 300)
        driver.wakeUp()
        #expect(driver.question.link == 2)
    }

    @Test func asksForAShortLinkInProportion() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        _ = find(&driver, lasting: .seconds(2))
        driver.answer(.whole)
        driver.now = driver.now + .milliseconds(1400)
        #expect(driver.send(.bytesLanded(driver.persisted(100))).isEmpty)
        driver.now = driver.now + .milliseconds(200)
        #expect(driver.send(.bytesLanded(driver.persisted(200))) == [.askForSource(driver.ask, .expiring)])
    }

    @Test func asksBeforeItOpensAConnectionOverALinkThatHasExpired() {
        var driver = driver()
        _ = driver.machine.handle(.hostKnown(nil, linkExpiresAt: driver.now), at: driver.now)
        driver.send(.slotGranted)
        #expect(driver.send(.recovered(nil)) == [.askForSource(driver.ask, .expiring), .report])
    }

    @Test func usesAFreshLinkEvenIfItSaysThatItHasExpired() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        _ = find(&driver, lasting: .seconds(-600))
        #expect(driver.place == .connecting)
        driver.answer(.whole)
        #expect(driver.send(.bytesLanded(driver.persisted(200))).isEmpty)
    }

    /// The server cuts off bodies in progress when the link expires.
    @Test func goesOnWithoutAPauseWhenAnExpiredLinkWasCutOff() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        _ = find(&driver, lasting: .milliseconds(100))
        driver.answer(.whole)
        driver.now = driver.now + .seconds(1)
        let actions = driver.breakOff(at: 300)
        #expect(actions == [.askForSource(driver.ask, .expiring), .report] && driver.place == .awaitingURL)
        _ = find(&driver)
        #expect(driver.question.offset == 300)
    }

    @Test func countsACutThatBroughtNothingAsAFailure() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        _ = find(&driver, lasting: .milliseconds(100))
        driver.answer(.whole)
        driver.now = driver.now + .seconds(1)
        driver.breakOff(at: 0)
        #expect(driver.place == .backingOff)
    }

    @Test func carriesOnWhenNobodyKnowsTheNextLinkInTime() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        _ = find(&driver, lasting: .seconds(40))
        driver.answer(.whole)
        driver.now = driver.now + .seconds(38)
        driver.send(.bytesLanded(driver.persisted(100)))
        #expect(driver.send(.sourceFailed(driver.ask, DownloadError(.sourceFailed, "no"))).isEmpty)
        #expect(driver.send(.bytesLanded(driver.persisted(200))).isEmpty)
        // The machine asks again after a while.
        driver.now = driver.now + .seconds(11)
        #expect(driver.send(.bytesLanded(driver.persisted(300))) == [.askForSource(driver.ask, .expiring)])
        #expect(
            driver.send(.connectionEnded(driver.id, .finished(driver.persisted(1000)))).first
                == .cancelSource(driver.ask)
        )
        #expect(driver.place == .verifying)
    }

    @Test func waitsForOtherFilesToBeClosedWithoutCountingThat() {
        var driver = driver("haul-source:lesson")
        driver.connect()
        for _ in 0..<RetryBudget.mostLinks * 3 {
            driver.send(.sourceFailed(driver.ask, DownloadError(.tooManyOpenFiles, "too many")))
            #expect(driver.place == .backingOff && driver.error?.code == .tooManyOpenFiles)
            driver.wakeUp()
            #expect(driver.place == .awaitingURL)
        }
        _ = find(&driver)
        #expect(driver.place == .connecting)
    }
}
