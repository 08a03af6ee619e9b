import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The events of listeners, and the effects of pausing, cancelling and removing.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct EventFaultTests {
    private let content = TestContent.first

    /// Collects the events of a download until its run ends.
    private func events(of download: Download) async -> [DownloadEvent] {
        var events: [DownloadEvent] = []
        for await event in download.events { events.append(event) }
        return events
    }

    private func expectOneEnd(_ events: [DownloadEvent]) {
        guard case .changed? = events.first else {
            Issue.record("the first event is the present state")
            return
        }
        let ends = events.indices.filter { if case .ended = events[$0] { true } else { false } }
        #expect(ends == [events.count - 1])
    }

    private func states(_ events: [DownloadEvent]) -> [DownloadSnapshot.State] {
        events.compactMap { if case .changed(let snapshot) = $0 { snapshot.state } else { nil } }
    }

    @Test func beginsWithTheStateAndEndsWithTheOutcome() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            let events = await events(of: download)
            expectOneEnd(events)
            #expect(states(events).last == .completed)
            guard case .ended(.completed(let done))? = events.last else {
                Issue.record("it should have completed")
                return
            }
            #expect(done.bytes == content.count)
            #expect(done.path == rig.path)
        }
    }

    @Test func tellsEveryListenerTheSameEnd() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            async let early = events(of: download)
            await download.reaches(cut)
            async let later = events(of: download)
            try await download.pause()
            try await download.resume()
            for events in await [early, later, events(of: download), events(of: download)] {
                expectOneEnd(events)
                #expect(states(events).last == .completed)
            }
        }
    }

    @Test func tellsOneEndForARunThatFails() async throws {
        try await DownloaderRig.run(serving: { _ in .empty(503, "Later") }) { rig async throws in
            let events = await events(of: try await rig.downloader.add(try rig.request()))
            expectOneEnd(events)
            #expect(states(events).last == .failed)
            #expect(states(events).filter { $0 == .waiting }.count == rig.configuration.retry.attempts)
        }
    }

    @Test func tellsOneEndForEachRun() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { $0.requestNumber == 1 ? .empty(404, "Not Found") : resource.reply(to: $0) }
        ) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            let first = await events(of: download)
            try await download.resume()
            let second = await events(of: download)
            expectOneEnd(first)
            expectOneEnd(second)
            #expect([states(first).last, states(second).last] == [.failed, .completed])
        }
    }

    @Test func pausingKeepsTheBytesAndResumingAsksForTheRestOnce() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.paused(try rig.request(), at: cut)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try Array(rig.part().prefix(Int(cut))) == content.bytes(0..<cut))
            #expect(rig.server.requests.count == 1)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
            #expect(rig.server.bodyBytesSent == content.count)
        }
    }

    @Test func pausesBeforeTheAnswer() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { $0.requestNumber == 1 ? TestReply([.stall]) : resource.reply(to: $0) }
        ) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            while rig.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            try await download.pause()
            #expect(download.snapshot.state == .paused)
            #expect(try rig.names().isEmpty)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func addingAPausedDownloadAgainResumesIt() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.paused(try rig.request(), at: cut)
            let again = try await rig.downloader.add(try rig.request())
            #expect(again.id == download.id)
            _ = try await again.result()
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test(arguments: [true, false])
    func cancellingDeletesThePartialFileAndTheRecord(isPaused: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let request = try rig.request()
            let download = try await rig.downloader.add(request)
            async let end = events(of: download)
            await download.reaches(cut)
            if isPaused { try await download.pause() }
            try await download.cancel()
            #expect(try rig.names().isEmpty)
            #expect(try await rig.downloader.store.find(request) == nil)
            #expect(try await rig.downloader.list().isEmpty)
            let events = await end
            expectOneEnd(events)
            #expect(events.last == .ended(.cancelled))
            // No leftovers disturb a new download.
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test func cancellingAFinishedDownloadLeavesItsFile() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            _ = try await download.result()
            try await download.cancel()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: [true, false])
    func removingDeletesTheFileOnlyWhenTold(deletingFile: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let request = try rig.request()
            let download = try await rig.downloader.add(request)
            _ = try await download.result()
            try await download.remove(deletingFile: deletingFile)
            #expect(try rig.names() == (deletingFile ? [] : ["file.bin"]))
            #expect(try await rig.downloader.store.find(request) == nil)
        }
    }

    @Test func removingNeverDeletesAFileThatSomebodyChanged() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            _ = try await download.result()
            try rig.put("mine", at: rig.path)
            try await download.remove(deletingFile: true)
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test func removingAnUnfinishedDownloadDeletesItsBytes() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.remove()
            #expect(try rig.names().isEmpty)
        }
    }
}
