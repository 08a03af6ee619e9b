import Testing

@testable import HaulCore

/// Pauses that end by themselves.
struct MachineHoldTests {
    typealias Place = MachineDriver.Place
    typealias Action = DownloadMachine.Action

    private let rest: [Action] = [.checkpoint, .releaseFile, .report]
    private let noSpace = DownloadError(.diskFull, "no space")

    @Test(arguments: Place.allCases, HoldReason.allCases)
    func holdsInEveryStateAsAPauseDoes(_ place: Place, _ reason: HoldReason) {
        var driver = MachineDriver(at: place)
        let (id, timer) = (driver.id, driver.timer)
        let actions = driver.send(.held(reason))
        switch place {
        case .queued, .choosing: #expect(actions == rest)
        case .awaitingURL: #expect(actions.suffix(3) == rest)
        case .comparing, .connecting, .transferring: #expect(actions == [.close(id)] + rest)
        case .backingOff: #expect(actions == [.cancelTimer(timer)] + rest)
        case .preparing:
            #expect(actions == [.close(id)])
            #expect(driver.send(.prepared(id)) == rest)
        case .inspectingDisk:
            #expect(actions.isEmpty)
            #expect(driver.send(.recovered(nil)) == rest)
        case .verifying where reason.isOfDisk: #expect(actions == [.cancelVerification] + rest)
        case .publishing where reason.isOfDisk:
            #expect(actions.isEmpty)
            #expect(driver.send(.stepFailed(noSpace)) == rest)
        // All bytes have arrived, or nothing runs that could be held.
        case .verifying, .publishing, .paused, .completed, .failed, .cancelled:
            #expect(actions.isEmpty && driver.place == place && driver.machine.hold == nil)
            return
        }
        #expect(driver.state == .paused && driver.machine.hold == reason)
        #expect(driver.send(.holdEnded(reason)) == [.report])
        #expect(driver.state == .queued && driver.machine.hold == nil)
    }

    @Test func goesOnForNoReasonButItsOwn() {
        var driver = MachineDriver(at: .transferring)
        driver.send(.held(.diskFull))
        for reason in HoldReason.allCases where reason != .diskFull {
            #expect(driver.send(.held(reason)).isEmpty)
            #expect(driver.send(.holdEnded(reason)).isEmpty)
        }
        #expect(driver.state == .paused && driver.machine.hold == .diskFull)
    }

    @Test func aUsersPauseOutlastsTheHold() {
        var driver = MachineDriver(at: .transferring)
        driver.send(.held(.offline))
        #expect(driver.send(.pauseRequested) == [.report])
        #expect(driver.state == .paused && driver.machine.hold == nil)
        #expect(driver.send(.holdEnded(.offline)).isEmpty)
        #expect(driver.send(.pauseRequested).isEmpty)
        #expect(driver.state == .paused)
    }

    @Test func neverHoldsWhatTheUserPaused() {
        var driver = MachineDriver(at: .paused)
        #expect(driver.send(.held(.offline)).isEmpty)
        #expect(driver.send(.holdEnded(.offline)).isEmpty)
        #expect(driver.state == .paused && driver.machine.hold == nil)
    }

    @Test func triesAtOnceWhenTheUserResumesAHeldOne() {
        var driver = MachineDriver(at: .transferring)
        driver.send(.held(.metered))
        #expect(driver.send(.resumeRequested) == [.report])
        #expect(driver.state == .queued && driver.machine.hold == nil)
    }

    // MARK: During a step that must not be torn

    @Test(arguments: [Place.inspectingDisk, .preparing])
    func goesBackToTheQueueWhenTheHoldEndsBeforeTheStepDoes(_ place: Place) {
        for event in [DownloadMachine.Event.holdEnded(.offline), .resumeRequested] {
            var driver = MachineDriver(at: place)
            driver.send(.held(.offline))
            driver.send(event)
            driver.send(place == .inspectingDisk ? .recovered(nil) : .prepared(driver.id))
            #expect(driver.state == .queued && driver.machine.hold == nil)
        }
    }

    @Test(arguments: [Place.inspectingDisk, .preparing])
    func theUsersWishGoesBeforeTheHold(_ place: Place) {
        for events in [
            [DownloadMachine.Event.held(.offline), .pauseRequested], [.pauseRequested, .held(.offline)],
            [.held(.offline), .pauseRequested, .holdEnded(.offline)],
        ] {
            var driver = MachineDriver(at: place)
            for event in events { driver.send(event) }
            driver.send(place == .inspectingDisk ? .recovered(nil) : .prepared(driver.id))
            #expect(driver.state == .paused && driver.machine.hold == nil, "\(events)")
        }
    }

    @Test func staysCancelledThroughAHold() {
        var driver = MachineDriver(at: .inspectingDisk)
        driver.send(.cancelRequested)
        driver.send(.held(.offline))
        driver.send(.holdEnded(.offline))
        driver.send(.recovered(nil))
        #expect(driver.state == .cancelled)
    }

    @Test func aHeldOneCanBeCancelled() {
        var driver = MachineDriver(at: .transferring)
        driver.send(.held(.offline))
        #expect(driver.send(.cancelRequested) == [.discardPartial, .releaseFile, .report])
        #expect(driver.state == .cancelled && driver.machine.hold == nil)
    }

    // MARK: Full disks

    @Test func waitsForSpaceWhenTheDiskIsFull() {
        var driver = MachineDriver(at: .failed) { $0.waitsForSpace = true }
        #expect(driver.state == .paused && driver.machine.hold == .diskFull)
        #expect(driver.machine.persisted.count == 500)
        driver.send(.holdEnded(.diskFull))
        driver.send(.slotGranted)
        driver.send(.recovered(.init(written: 500, synced: 500)))
        #expect(driver.question.offset == 500)
    }

    @Test(arguments: [Place.inspectingDisk, .preparing, .publishing])
    func waitsForSpaceWhenAStepFindsNone(_ place: Place) {
        for event in [DownloadMachine.Event.stepFailed(noSpace), .spaceMissing(.diskFull, noSpace)] {
            var driver = MachineDriver(at: place) { $0.waitsForSpace = true }
            driver.send(event)
            #expect(driver.state == .paused && driver.machine.hold == .diskFull)
        }
    }

    @Test(arguments: [Place.inspectingDisk, .preparing, .transferring, .publishing])
    func failsWhereItIsNotToWait(_ place: Place) {
        var driver = MachineDriver(at: place)
        driver.send(.spaceMissing(.quota, noSpace))
        #expect(driver.state == .failed(noSpace) && driver.machine.hold == nil)
    }

    @Test(arguments: [Place.inspectingDisk, .preparing, .transferring])
    func failsWhereThereNeverWillBeSpace(_ place: Place) {
        var driver = MachineDriver(at: place) { $0.waitsForSpace = true }
        driver.send(.spaceMissing(nil, noSpace))
        #expect(driver.state == .failed(noSpace) && driver.machine.hold == nil)
    }

    @Test func aLackOfSpaceHidesNothingThatAnotherProcessHasFound() {
        var driver = MachineDriver(at: .inspectingDisk) { $0.waitsForSpace = true }
        driver.send(.spaceMissing(.diskFull, noSpace, of: .init(resource: Resource(total: 4321))))
        #expect(driver.state == .paused && driver.machine.resource?.total == 4321)
    }

    @Test func otherFaultsOfTheDiskAreNotWaitedFor() {
        var driver = MachineDriver(at: .publishing) { $0.waitsForSpace = true }
        let error = DownloadError(.diskFailed, "broken")
        driver.send(.stepFailed(error))
        #expect(driver.state == .failed(error))
    }
}
