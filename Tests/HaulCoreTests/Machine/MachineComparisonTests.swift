import Testing

@testable import HaulCore

/// Resuming where only a comparison of bytes can prove the version.
struct MachineComparisonTests {
    private static let weakWhole = ResponseHead.answer(200, ["Content-Length": "4000000", "ETag": "W/\"a\""])

    /// Returns a driver interrupted at 3,000,000 of 4,000,000 bytes, just before it requests the rest.
    private func interrupted(
        _ head: ResponseHead = weakWhole,
        _ change: (inout DownloadMachine.Settings) -> Void = { _ in }
    ) -> MachineDriver {
        var driver = MachineDriver(change)
        driver.connect()
        driver.answer(head)
        driver.send(.bytesLanded(driver.persisted(3_000_000)))
        driver.breakOff(at: 3_000_000)
        driver.wakeUp()
        return driver
    }

    private let blocks: [Range<Int64>] = [0..<16_384, 500_000..<516_384]

    @discardableResult
    private func agree(_ driver: inout MachineDriver) -> [DownloadMachine.Action] {
        driver.send(.headReceived(driver.id, .block(of: driver.question, total: 4_000_000), retryAfter: nil))
        return driver.send(.connectionEnded(driver.id, .finished(driver.persisted(3_000_000))))
    }

    @Test func comparesEveryBlockAndThenAsksForTheRest() throws {
        var driver = interrupted()
        #expect(driver.place == .choosing)
        let plan = try #require(driver.plan)
        #expect(plan.tail == 2_983_616..<3_000_000 && plan.count == ComparisonPlan.mostBlocks)
        driver.send(.blocksChosen(driver.choice, blocks))
        for block in blocks {
            #expect(driver.place == .connecting && driver.question.isComparison)
            #expect(driver.question.first == block.lowerBound && driver.question.end == block.upperBound)
            let head = ResponseHead.block(of: driver.question, total: 4_000_000)
            let actions = driver.send(.headReceived(driver.id, head, retryAfter: nil))
            let length = block.upperBound - block.lowerBound
            #expect(actions == [.startBody(driver.id, at: block.upperBound, compare: length, limit: 0)])
            driver.send(.connectionEnded(driver.id, .finished(driver.persisted(3_000_000))))
        }
        #expect(driver.place == .connecting && !driver.question.isComparison && driver.question.isCompared)
        #expect(driver.question.first == 2_983_616 && driver.question.end == nil)
        driver.answer(
            .answer(206, ["Content-Range": "bytes 2983616-3999999/4000000", "ETag": "W/\"a\""])
        )
        #expect(driver.place == .transferring)
    }

    @Test func dropsNothingBeforeTheNewVersionIsThere() {
        var driver = interrupted()
        driver.send(.blocksChosen(driver.choice, blocks))
        driver.send(.headReceived(driver.id, .block(of: driver.question, total: 4_000_000), retryAfter: nil))
        driver.send(.connectionEnded(driver.id, .overlapDiffers))
        #expect(driver.place == .connecting && driver.question == .whole(link: driver.question.link))
        #expect(driver.machine.persisted.count == 3_000_000)
        driver.answer(Self.weakWhole)
        #expect(driver.machine.persisted.count == 0 && driver.place == .transferring)
    }

    @Test func takesAWholeAnswerToABlockForTheNewBeginning() {
        var driver = interrupted()
        driver.send(.blocksChosen(driver.choice, blocks))
        driver.answer(.answer(200, ["Content-Length": "4000000", "ETag": "W/\"b\""]))
        #expect(driver.place == .transferring && driver.machine.persisted.count == 0)
    }

    @Test(arguments: ["W/\"b\"", nil])
    func startsOverWhenABlockIsOfAnotherVersionByItsName(_ tag: String?) {
        var driver = interrupted()
        driver.send(.blocksChosen(driver.choice, blocks))
        let head = ResponseHead.block(of: driver.question, tag: tag, total: 4_000_000)
        driver.send(.headReceived(driver.id, head, retryAfter: nil))
        #expect(driver.place == .connecting && !driver.question.goesOn)
    }

    @Test func goesOnComparingWhereItWasInterrupted() {
        var driver = interrupted()
        driver.send(.blocksChosen(driver.choice, blocks))
        agree(&driver)
        driver.breakOff()
        #expect(driver.place == .backingOff)
        driver.wakeUp()
        #expect(driver.place == .connecting && driver.question.first == 500_000 && driver.question.isComparison)
        agree(&driver)
        #expect(driver.place == .connecting && driver.question.isCompared)
    }

    @Test func comparesAgainWhenTheLineBreaksAfterTheResume() throws {
        var driver = interrupted()
        driver.send(.blocksChosen(driver.choice, blocks))
        agree(&driver)
        agree(&driver)
        driver.answer(.answer(206, ["Content-Range": "bytes 2983616-3999999/4000000", "ETag": "W/\"a\""]))
        driver.send(.bytesLanded(driver.persisted(3_100_000)))
        driver.breakOff(at: 3_100_000)
        driver.wakeUp()
        #expect(driver.place == .choosing)
        // Few bytes have come since the last comparison, so few blocks are compared.
        #expect(try #require(driver.plan).count == ComparisonPlan.fewestBlocks)
    }

    @Test func failsAndKeepsEverythingWhenTheDiskCannotBeRead() {
        var driver = interrupted()
        driver.send(.blocksUnreadable(driver.choice, DownloadError(.diskFailed, "read error")))
        #expect(driver.place == .failed && driver.machine.persisted.count == 3_000_000)
    }

    @Test func pausesAtOnceWhileItCompares() {
        for place in [MachineDriver.Place.choosing, .comparing] {
            var driver = MachineDriver(at: place)
            let (choice, id) = (driver.choice, driver.id)
            driver.send(.pauseRequested)
            #expect(driver.place == .paused)
            #expect(driver.send(.blocksChosen(choice, blocks)).isEmpty)
            #expect(driver.send(.connectionEnded(id, .overlapDiffers)).isEmpty)
            #expect(driver.machine.persisted.count == 50_000)
        }
    }

    @Test func comparesNoBlocksWhereTheVersionHasAStrongName() {
        let heads: [ResponseHead] = [
            .answer(200, ["Content-Length": "4000000", "ETag": "\"a\""]),
            .answer(
                200,
                [
                    "Content-Length": "4000000", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                    "Date": "Sun, 06 Nov 1994 08:49:38 GMT",
                ]
            ),
        ]
        for head in heads { #expect(interrupted(head).place == .connecting) }
    }

    @Test func comparesNoBlocksWhereADigestWillTell() throws {
        let checksum = try DownloadRequest.Checksum("md5:d41d8cd98f00b204e9800998ecf8427e")
        #expect(interrupted { $0.checksum = checksum }.place == .connecting)
        var named = Self.weakWhole
        named.headers.add(name: "Repr-Digest", value: "sha-256=:4REjxQ4yrqUVicfSKYNO/cF9zNj5ANbzgDZt3/h3Qxo=:")
        #expect(interrupted(named).place == .connecting)
    }

    @Test(arguments: ["MD5=1B2M2Y8AsgTpgAmY7PhCfg==", "SHA=2jmj7l5rSw0yVb/vlWAYkK/YBwk="])
    func takesAServersWeakDigestForNoProof(_ digest: String) {
        var named = Self.weakWhole
        named.headers.add(name: "Digest", value: digest)
        let driver = interrupted(named)
        #expect(driver.machine.resource?.digest != nil && !driver.machine.isProvable)
        #expect(driver.place == .choosing)
    }

    @Test func comparesWhenAnAnswerNamesNoVersionAndTheUserWantsItAllTheSame() {
        var driver = interrupted(.answer(200, ["Content-Length": "4000000", "ETag": "\"a\""])) {
            $0.resumesUnverified = true
        }
        #expect(driver.question.condition == .ifRange("\"a\""))
        let unnamed = ResponseHead.answer(206, ["Content-Range": "bytes 3000000-3999999/4000000"])
        driver.answer(unnamed)
        #expect(driver.place == .connecting && driver.question.condition == .none && driver.question.goesOn)
        driver.answer(unnamed)
        #expect(driver.place == .choosing)
        driver.send(.blocksChosen(driver.choice, blocks))
        driver.send(.headReceived(driver.id, .block(of: driver.question, tag: nil, total: 4_000_000), retryAfter: nil))
        #expect(driver.place == .comparing)
        driver.send(.connectionEnded(driver.id, .finished(driver.persisted(3_000_000))))
        driver.send(.headReceived(driver.id, .block(of: driver.question, tag: nil, total: 4_000_000), retryAfter: nil))
        driver.send(.connectionEnded(driver.id, .finished(driver.persisted(3_000_000))))
        driver.answer(unnamed)
        #expect(driver.place == .transferring)
    }
}

extension RangeRequest {
    fileprivate static func whole(link: Int) -> RangeRequest {
        var question = RangeRequest.whole
        question.link = link
        return question
    }
}
