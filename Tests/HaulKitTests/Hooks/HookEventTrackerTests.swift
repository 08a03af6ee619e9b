import Testing

@testable import HaulCore
@testable import HaulKit

/// The changes of state that hooks are told.
struct HookEventTrackerTests {
    private let id = DownloadID()
    private let error = DownloadError(.diskFull, "")

    @Test func tellsAStartOnceAndThenTheEnd() {
        var book = HookEventTracker()
        #expect(book.note(id, .queued) == nil)
        #expect(book.note(id, .inspectingDisk) == nil)
        #expect(book.note(id, .transferring) == .started)
        #expect(book.note(id, .backingOff(until: .start, because: error)) == nil)
        #expect(book.note(id, .paused) == nil)
        #expect(book.note(id, .queued) == nil)
        #expect(book.note(id, .transferring) == nil)
        #expect(book.note(id, .completed(path: "/a")) == .completed)
        #expect(book.note(id, .transferring) == .started)
        #expect(book.note(id, .failed(error)) == .failed)
    }

    @Test func tellsAStartOfWhatHasNothingLeftToFetch() {
        var book = HookEventTracker()
        #expect(book.note(id, .inspectingDisk) == nil)
        #expect(book.note(id, .verifying) == .started)
    }

    @Test func saysNothingOfACancelledOne() {
        var book = HookEventTracker()
        _ = book.note(id, .transferring)
        #expect(book.note(id, .cancelled) == nil)
        #expect(book.allEnded(othersWait: false) == nil)
    }

    @Test func saysOfAFileThatWasThereOnlyTheEndOfAStart() {
        var book = HookEventTracker()
        #expect(book.note(id, .completed(path: "/a"), alreadyExisted: true) == nil)
        #expect(book.allEnded(othersWait: false) == HookCounts(completed: 1, failed: 0))
        _ = book.note(id, .transferring)
        #expect(book.note(id, .completed(path: "/a"), alreadyExisted: true) == .completed)
    }

    @Test func saysOnceThatAGroupHasEnded() {
        var book = HookEventTracker()
        #expect(book.groupEnded("g") == false)
        _ = book.note(id, .transferring, in: "g")
        _ = book.note(id, .paused, in: "g")
        #expect(book.groupEnded("g") == false, "nothing of it has ended")
        _ = book.note(id, .completed(path: "/a"), in: "g")
        _ = book.note(DownloadID(), .failed(error), in: "g")
        #expect(book.endedGroups == ["g"])
        #expect(book.groupEnded("other") == false)
        #expect(book.groupEnded("g") == true)
        #expect(book.groupEnded("g") == false)
        _ = book.note(id, .completed(path: "/a"), in: "g", alreadyExisted: true)
        book.forgetEnds()
        #expect(book.groupEnded("g") == false)
    }

    @Test func saysOnceThatAllHaveEnded() {
        var book = HookEventTracker()
        let other = DownloadID()
        _ = book.note(id, .inspectingDisk)
        _ = book.note(other, .inspectingDisk)
        _ = book.note(id, .completed(path: "/a"))
        #expect(book.allEnded(othersWait: false) == nil)
        _ = book.note(other, .failed(error))
        #expect(book.allEnded(othersWait: true) == nil)
        for expectsMore in [true, true, false] {
            book.expectMore(expectsMore)
            #expect(book.allEnded(othersWait: false) == nil, "a second caller adds downloads")
        }
        book.expectMore(false)
        #expect(book.allEnded(othersWait: false) == HookCounts(completed: 1, failed: 1))
        #expect(book.allEnded(othersWait: false) == nil)
    }
}
