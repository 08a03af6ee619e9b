import Foundation
import Testing

@testable import HaulCore

/// The received bytes after a change of the link, and links that come unasked.
extension MachineSourceTests {
    // MARK: Is it the same file?

    @Test func keepsTheBytesAndFailsWhenTheNewLinkLeadsToAFileOfAnotherLength() {
        for (status, fields) in [
            (206, ["Content-Range": "bytes 500-1999/2000", "ETag": "\"b\""]), (200, ["Content-Length": "2000"]),
            (416, ["Content-Range": "bytes */20"]),
        ] as [(Int, KeyValuePairs<String, String>)] {
            var driver = half()
            _ = refuse(&driver)
            _ = find(&driver)
            driver.answer(.answer(status, fields, from: Self.fresh, asked: Self.fresh))
            #expect(driver.place == .failed && driver.error?.code == .contentChanged, "\(status)")
            #expect(driver.machine.persisted.count == 500)
        }
    }

    @Test func followsAnotherVersionAtTheSamePlace() {
        var driver = half()
        _ = refuse(&driver)
        _ = find(&driver)
        driver.answer(.whole(of: "b"))
        #expect(driver.place == .transferring && driver.machine.persisted == .zero)
    }

    @Test func comparesBytesWhereThePlaceIsAnother() {
        var driver = half()
        _ = refuse(&driver)
        _ = find(&driver, Self.elsewhere)
        #expect(
            driver.question.overlap == 500 && driver.question.condition == .none
                && driver.question.terms.source == .vouchedURL
        )
        var head = ResponseHead.answer(
            206,
            ["Content-Range": "bytes 0-999/1000", "ETag": "\"other\""],
            from: Self.elsewhere,
            asked: Self.elsewhere
        )
        let actions = driver.answer(head)
        #expect(actions.contains(.startBody(driver.id, at: 500, compare: 500, limit: 500)))
        // Until the bytes are compared, the resource is the old version.
        #expect(driver.machine.resource?.validator.entityTag?.text == "\"a\"")
        driver.send(.bytesLanded(driver.persisted(600)))
        #expect(driver.machine.resource?.validator.entityTag?.text == "\"other\"")
        driver.breakOff(at: 600)
        driver.wakeUp()
        #expect(driver.question.condition == .ifRange("\"other\"") && driver.question.overlap == 0)
        head.headers.replaceOrAdd(name: "Content-Range", value: "bytes 600-999/1000")
        driver.answer(head)
        #expect(driver.machine.persisted.count == 600)
    }

    @Test func startsOverWhereTheBytesOfAnotherPlaceDiffer() {
        var driver = half()
        _ = refuse(&driver)
        _ = find(&driver, Self.elsewhere)
        driver.answer(.answer(206, ["Content-Range": "bytes 0-999/1000"], from: Self.elsewhere, asked: Self.elsewhere))
        driver.send(.connectionEnded(driver.id, .overlapDiffers))
        #expect(
            driver.question
                == {
                    var whole = RangeRequest.whole; whole.link = 1; return whole
                }()
        )
    }

    @Test func comparesBytesWhereTheServerNamesNoVersion() {
        var driver = half({ _ in }, .answer(200, ["Content-Length": "1000"]))
        // Nothing vouches for the same file, so the next request would start over.
        #expect(!driver.question.goesOn)
        _ = refuse(&driver)
        _ = find(&driver)
        #expect(driver.question.offset == 500 && driver.question.overlap == 500)
        let actions = driver.answer(
            .answer(206, ["Content-Range": "bytes 0-999/1000"], from: Self.fresh, asked: Self.fresh)
        )
        #expect(actions.contains(.startBody(driver.id, at: 500, compare: 500, limit: 500)))
    }

    @Test func remembersAfterARestartWhereTheBytesCameFrom() {
        var first = half()
        _ = refuse(&first)
        _ = find(&first, Self.elsewhere)
        let machine = DownloadMachine(
            first.machine.settings,
            resource: first.machine.resource,
            persisted: first.machine.persisted,
            seed: 2
        )
        #expect(machine.isFromOtherPlace)
    }

    // MARK: Unasked

    private func replace(_ driver: inout MachineDriver, _ url: String = fresh) -> [Action] {
        driver.send(.sourceReplaced(.init(url: link(url), expiresAt: nil)))
    }

    @Test(arguments: MachineDriver.Place.allCases)
    func takesALinkInEveryState(_ place: MachineDriver.Place) {
        var driver = MachineDriver(at: place)
        let (before, id, timer, ask) = (driver.machine, driver.id, driver.timer, driver.ask)
        let actions = replace(&driver)
        switch place {
        case .completed, .cancelled: #expect(driver.machine == before && actions.isEmpty)
        case .awaitingURL: #expect(actions == [.cancelSource(ask), .open(driver.id, driver.question), .report])
        case .connecting: #expect(actions == [.close(id), .open(driver.id, driver.question), .report])
        // The new link is for the same place, so the comparison goes on.
        case .comparing: #expect(actions == [.close(id), .open(driver.id, driver.question)])
        case .backingOff: #expect(actions == [.cancelTimer(timer), .open(driver.id, driver.question), .report])
        // A connection that brings bytes goes on.
        default: #expect(actions.isEmpty && driver.place == place)
        }
        if place != .completed, place != .cancelled { #expect(driver.machine.sources.url == link(Self.fresh)) }
    }

    @Test func leavesAConnectionThatHasGoneQuiet() {
        var driver = MachineDriver(at: .transferring)
        let id = driver.id
        driver.now = driver.now + .seconds(30)
        #expect(replace(&driver) == [.close(id), .open(driver.id, driver.question), .report])
        #expect(driver.question.offset == 500 && driver.place == .connecting)
    }

    @Test func goesOnOverTheNewLinkWhenResumed() {
        var driver = MachineDriver(at: .failed)
        _ = replace(&driver)
        #expect(driver.place == .failed)
        driver.send(.resumeRequested)
        driver.send(.slotGranted)
        driver.send(.recovered(.init(written: 500, synced: 500)))
        #expect(driver.question.link == 1 && driver.question.offset == 500)
    }
}
