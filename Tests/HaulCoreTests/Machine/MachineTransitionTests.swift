import Testing

@testable import HaulCore

struct MachineTransitionTests {
    typealias Place = MachineDriver.Place

    @Test(arguments: Place.allCases)
    func reachesEveryState(_ place: Place) {
        #expect(MachineDriver(at: place).place == place)
    }

    // MARK: The way to a file

    @Test func opensAfterLookingAtTheDisk() {
        var driver = MachineDriver()
        #expect(driver.send(.slotGranted) == [.recover, .report])
        #expect(driver.send(.recovered(nil)) == [.open(driver.id, .whole), .report])
        #expect(driver.state == .connecting(driver.id, .whole))
    }

    @Test func preparesTheFileBeforeTheBodyFlows() throws {
        var driver = MachineDriver(at: .connecting)
        let actions = driver.send(.headReceived(driver.id, .whole, retryAfter: nil))
        guard case .preparing(driver.id, let preparation, nil) = driver.state else {
            Issue.record("\(driver.state)")
            return
        }
        #expect(preparation.startsOver && preparation.resource.total == 1000)
        #expect(actions == [.prepare(driver.id, preparation)])
        #expect(driver.send(.prepared(driver.id)) == [.startBody(driver.id, at: 0, compare: 0, limit: 1000), .report])
    }

    @Test func verifiesThenPublishesThenReleases() {
        var driver = MachineDriver(at: .transferring)
        let end = DownloadMachine.ConnectionEnd.finished(driver.persisted(1000))
        #expect(driver.send(.connectionEnded(driver.id, end)) == [.verify(nil), .report])
        #expect(driver.send(.verified(.right)) == [.publish])
        #expect(driver.send(.published(path: "/f")) == [.releaseFile, .report])
        #expect(driver.state == .completed(path: "/f"))
    }

    @Test func completesAnEmptyFile() {
        var driver = MachineDriver(at: .connecting)
        driver.answer(.whole(of: "a", total: 0))
        driver.send(.connectionEnded(driver.id, .finished(.zero)))
        #expect(driver.place == .verifying)
    }

    @Test func goesOnFromTheMarkThatTheDiskConfirms() {
        var driver = MachineDriver(at: .backingOff)
        driver.send(.pauseRequested)
        driver.send(.resumeRequested)
        driver.send(.slotGranted)
        driver.send(.recovered(.init(written: 300, synced: 200)))
        #expect(driver.question.offset == 300 && driver.question.condition == .ifRange("\"a\""))
        let actions = driver.answer(.rest(from: 300))
        #expect(actions.contains(.startBody(driver.id, at: 300, compare: 0, limit: 700)))
    }

    @Test func verifiesAtOnceWhatIsCompleteAlready() {
        var driver = MachineDriver(at: .verifying)
        driver.send(.pauseRequested)
        driver.send(.resumeRequested)
        driver.send(.slotGranted)
        #expect(driver.send(.recovered(.init(written: 1000, synced: 1000))) == [.verify(nil), .report])
    }

    @Test func asksForTheWholeWhenTheDiskHasNothing() {
        var driver = MachineDriver(at: .backingOff)
        driver.send(.pauseRequested)
        driver.send(.resumeRequested)
        driver.send(.slotGranted)
        driver.send(.recovered(nil))
        #expect(driver.question == .whole)
        #expect(driver.machine.persisted == .zero && driver.machine.resource == nil)
    }

    @Test func leavesAStandingFileAlone() {
        var driver = MachineDriver(at: .inspectingDisk)
        #expect(driver.send(.skipped(path: "/there")) == [.releaseFile, .report])
        var other = MachineDriver(at: .preparing)
        #expect(other.send(.skipped(path: "/there")) == [.close(other.id), .releaseFile, .report])
        #expect(driver.state == .completed(path: "/there") && other.state == driver.state)
    }

    @Test(arguments: [Place.inspectingDisk, .preparing, .verifying, .publishing])
    func failsWithTheErrorOfAStep(_ place: Place) {
        var driver = MachineDriver(at: place)
        let id = driver.id
        let error = DownloadError(.inUse, "another process")
        let closing: [DownloadMachine.Action] = place == .preparing ? [.close(id)] : []
        #expect(driver.send(.stepFailed(error)) == closing + [.checkpoint, .releaseFile, .report])
        #expect(driver.state == .failed(error))
    }

    // MARK: A connection that ends before its body was let in

    @Test func keepsItsBytesWhenTheConnectionBreaksWhileTheFileIsMadeReady() {
        var driver = MachineDriver(at: .backingOff)
        driver.wakeUp()
        driver.send(.headReceived(driver.id, .rest(from: 500), retryAfter: nil))
        // The worker has not admitted a body, so it reports no bytes.
        driver.breakOff(at: 0)
        driver.send(.prepared(driver.id))
        #expect(driver.place == .backingOff)
        #expect(driver.machine.persisted.count == 500)
    }

    @Test func claimsNothingOfAVersionThatWasDroppedDuringAPause() {
        var driver = MachineDriver(at: .backingOff)
        driver.wakeUp()
        driver.send(.headReceived(driver.id, .whole(of: "b"), retryAfter: nil))
        driver.send(.pauseRequested)
        driver.send(.resumeRequested)
        driver.send(.prepared(driver.id))
        #expect(driver.place == .backingOff)
        #expect(driver.machine.persisted == .zero)
        driver.wakeUp()
        #expect(driver.question == .whole)
    }

    // MARK: A sync that failed

    @Test(arguments: [Place.paused, .failed, .queued, .inspectingDisk])
    func takesBackWhatAFailedSyncLost(_ place: Place) {
        var driver = MachineDriver(at: place == .failed ? .failed : .transferring)
        if place != .failed { driver.send(.pauseRequested) }
        if place == .queued || place == .inspectingDisk { driver.send(.resumeRequested) }
        if place == .inspectingDisk { driver.send(.slotGranted) }
        #expect(driver.place == place)
        #expect(driver.send(.bytesLanded(driver.persisted(100))).isEmpty)
        #expect(driver.machine.persisted.count == 100)
    }

    // MARK: Late events

    @Test(arguments: Place.allCases)
    func ignoresLateEvents(_ place: Place) {
        let driver = MachineDriver(at: place)
        let stale = DownloadMachine.ConnectionID(number: driver.id.number - 1)
        let persisted = driver.persisted(77)
        var late: [DownloadMachine.Event] = [
            .headReceived(stale, .whole, retryAfter: nil), .prepared(stale),
            .connectionEnded(stale, .finished(persisted)),
            .connectionEnded(stale, .overlapDiffers), .timerFired(.init(number: driver.timer.number - 1)),
            .timerFired(.init(number: driver.timer.number + 1)),
        ]
        if place != .queued { late.append(.slotGranted) }
        if place != .inspectingDisk { late += [.recovered(persisted), .recovered(nil)] }
        if place != .verifying { late += [.verified(.right), .verified(.unchecked)] }
        if place != .publishing { late.append(.published(path: "/x")) }
        if place != .backingOff { late.append(.timerFired(driver.timer)) }
        if ![.inspectingDisk, .preparing, .publishing].contains(place) { late.append(.skipped(path: "/x")) }
        let fresh = DownloadMachine.Link(url: link("https://files.example/a.iso?s=2"), expiresAt: nil)
        let (staleAsk, asked) = (DownloadMachine.AskID(number: driver.ask.number - 1), driver.ask)
        late += [.sourceFound(staleAsk, fresh), .sourceFailed(staleAsk, DownloadError(.sourceFailed, ""))]
        if place != .awaitingURL {
            late += [.sourceFound(asked, fresh), .sourceFailed(asked, DownloadError(.sourceFailed, ""))]
        }
        if place != .connecting { late.append(.headReceived(driver.id, .whole, retryAfter: nil)) }
        if place != .preparing { late.append(.prepared(driver.id)) }
        if ![.comparing, .connecting, .preparing, .transferring].contains(place) {
            late.append(.connectionEnded(driver.id, .finished(persisted)))
        }
        if [.completed, .cancelled].contains(place) {
            late += [
                .pauseRequested, .resumeRequested, .cancelRequested, .bytesLanded(persisted), .sourceReplaced(fresh),
            ]
        }
        for event in late {
            var machine = driver.machine
            #expect(machine.handle(event, at: .start).isEmpty, "\(event)")
            #expect(machine == driver.machine, "\(event)")
        }
    }

    // MARK: The user

    @Test(arguments: Place.allCases)
    func pausesInEveryState(_ place: Place) {
        var driver = MachineDriver(at: place)
        let (id, timer, ask) = (driver.id, driver.timer, driver.ask)
        let rest: [DownloadMachine.Action] = [.checkpoint, .releaseFile, .report]
        let actions = driver.send(.pauseRequested)
        switch place {
        case .queued, .choosing: #expect(actions == rest)
        case .awaitingURL: #expect(actions == [.cancelSource(ask)] + rest)
        case .comparing, .connecting, .transferring: #expect(actions == [.close(id)] + rest)
        case .backingOff: #expect(actions == [.cancelTimer(timer)] + rest)
        case .verifying: #expect(actions == [.cancelVerification] + rest)
        case .preparing:
            #expect(actions == [.close(id)])
            #expect(driver.send(.prepared(id)) == rest)
        case .inspectingDisk:
            #expect(actions.isEmpty)
            #expect(driver.send(.recovered(nil)) == rest)
        case .publishing:
            #expect(actions.isEmpty)
            #expect(driver.send(.stepFailed(DownloadError(.diskFull, ""))) == rest)
        case .paused, .completed, .failed, .cancelled:
            #expect(actions.isEmpty && driver.place == place)
            return
        }
        #expect(driver.state == .paused)
        #expect(driver.send(.resumeRequested) == [.report])
        #expect(driver.state == .queued)
    }

    @Test(arguments: Place.allCases)
    func cancelsInEveryState(_ place: Place) {
        var driver = MachineDriver(at: place)
        var actions = driver.send(.cancelRequested)
        if place == .inspectingDisk { actions = driver.send(.recovered(nil)) }
        if place == .preparing { actions = driver.send(.prepared(driver.id)) }
        if place == .publishing { actions = driver.send(.stepFailed(DownloadError(.diskFull, ""))) }
        guard place != .completed, place != .cancelled else {
            #expect(actions.isEmpty && driver.place == place)
            return
        }
        #expect(actions.suffix(3) == [.discardPartial, .releaseFile, .report])
        #expect(driver.state == .cancelled)
    }

    @Test(arguments: [Place.inspectingDisk, .preparing])
    func staysCancelledWhenItIsPausedOrResumedBeforeTheStepIsDone(_ place: Place) {
        var driver = MachineDriver(at: place)
        driver.send(.cancelRequested)
        driver.send(.pauseRequested)
        driver.send(.resumeRequested)
        driver.send(.stepFailed(DownloadError(.diskFull, "")))
        #expect(driver.state == .cancelled)
    }

    @Test func runsOnWhenResumedBeforeTheStepIsDone() {
        var driver = MachineDriver(at: .inspectingDisk)
        driver.send(.pauseRequested)
        driver.send(.resumeRequested)
        driver.send(.recovered(nil))
        #expect(driver.place == .connecting)
    }

    @Test func publishesTheFileAlthoughTheUserWantedAPause() {
        var driver = MachineDriver(at: .publishing)
        driver.send(.pauseRequested)
        driver.send(.published(path: "/f"))
        #expect(driver.state == .completed(path: "/f"))
        let settled = driver.machine
        driver.send(.resumeRequested)
        #expect(driver.machine == settled)
    }

    /// A date less than a second before its answer is weak.
    @Test(
        arguments: [
            (nil, 38, false), ("\"a\"", 38, false), ("W/\"a\"", 38, true), (nil, 37, true),
        ] as [(String?, Int, Bool)]
    )
    func comparesWhereConnectionsMeetUnderAWeakName(_ tag: String?, _ answered: Int, _ compares: Bool) {
        var driver = MachineDriver()
        driver.connect()
        var head = ResponseHead.answer(
            200,
            [
                "Content-Length": "400000000", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                "Date": "Sun, 06 Nov 1994 08:49:\(answered) GMT",
            ]
        )
        if let tag { head.headers.add(name: "ETag", value: tag) }
        driver.answer(head)
        #expect(driver.place == .transferring && driver.machine.transfer.canShare)
        #expect(driver.machine.transfer.comparesSeams == compares)
    }

    @Test(arguments: [false, true])
    func sharesAFileWithoutANameOnlyAtTheUsersWish(_ isWished: Bool) {
        var driver = MachineDriver { $0.limits = Transfer.Limits(connections: 8, start: isWished ? 8 : 1) }
        driver.connect()
        driver.answer(.answer(200, ["Content-Length": "400000000", "Accept-Ranges": "bytes"]))
        #expect(driver.place == .transferring && driver.machine.transfer.canShare == isWished)
    }
}
