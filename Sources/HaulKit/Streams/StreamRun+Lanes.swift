internal import Foundation

/// The lanes of an attempt: tasks, each of which fetches one segment after another from the queue.
extension StreamRun {
    func fetchAll() async {
        let lanes = max(1, terms.mostConnections)
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.fetchAll(over: lanes) }
                if isLive { group.addTask { await self.outlastEnd() } }
                await group.next()
                group.cancelAll()
            }
        } onCancel: {
            Task { await self.cancelShared() }
        }
    }

    private func fetchAll(over lanes: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for index in tracks.indices where tracks[index].reloadAfter != nil {
                group.addTask { await self.reload(index) }
            }
            for lane in 0..<lanes { group.addTask { await self.lane(isFirst: lane == 0) } }
        }
    }

    /// Cancels the requests that several lanes wait for. They are no child tasks of the lanes.
    func cancelShared() {
        keys.cancel()
        sections.cancel()
    }

    private func lane(isFirst: Bool) async {
        while let item = await next() {
            let origin = Origin(item.segment.url.url)
            // The first lane uses the slot that the request for the playlist has.
            let needsSlot = !isFirst || origin != Origin(requests.first.url)
            if needsSlot, await !terms.slots.take(origin) {
                // Leaves the segment to the other lanes, which may have slots.
                queue.putBack(item)
                await terms.pause(isFirst ? .milliseconds(50) : .milliseconds(500))
                continue
            }
            let result = await fetch(item)
            if needsSlot { _ = await terms.slots.give(origin) }
            ended(item, result)
        }
    }

    /// Returns the next segment when there is one; `nil` when nothing is left or the attempt is over.
    private func next() async -> SegmentQueue.Item? {
        while goesOn {
            if let item = queue.next() { return item }
            if queue.isAtRest, !tracks.contains(where: { $0.reloadAfter != nil }) { return nil }
            await change()
        }
        return nil
    }

    /// Whether the attempt goes on: it is neither cancelled nor failed, and the receiver takes more.
    var goesOn: Bool { !Task.isCancelled && missing.fatal == nil && log?.appender.isStopped != true }

    private func wakeLanes() { queue.wake() }

    private func change() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { continuation.resume() } else { queue.wait(continuation) }
            }
        } onCancel: {
            Task { await self.wakeLanes() }
        }
    }

    private func ended(_ item: SegmentQueue.Item, _ result: Result<StreamSegmentEnd, SegmentFailure>) {
        queue.ended()
        switch result {
        case .success(let end):
            terms.progress.received(end, countsTime: item.track == 0)
            missing.segmentReceived()
        case .failure(let failure):
            if isCutShort { return missing.lose(item, Self.cutShort) }
            guard !Task.isCancelled, let film = log?.film else { return }
            var item = item
            item.retryAfter = failure.head?.headers.retryAfter(now: terms.time.date())
            if let again = missing.failed(item, failure, of: film) { queue.append(again) }
        }
    }
}
