internal import Foundation

/// The lanes of an attempt: each takes one segment after another from the list.
extension StreamRun {
    func fetchAll() async {
        let lanes = max(1, terms.mostConnections)
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                for index in tracks.indices where tracks[index].reloadAfter != nil {
                    group.addTask { await self.reload(index) }
                }
                for lane in 0..<lanes { group.addTask { await self.lane(isFirst: lane == 0) } }
            }
        } onCancel: {
            Task { await self.cancelShared() }
        }
    }

    /// Cancels the requests that several lanes wait for, which are no children of the lanes.
    private func cancelShared() {
        for task in keys.values { task.cancel() }
        for task in sections.values { task.cancel() }
    }

    private func lane(isFirst: Bool) async {
        while let item = await next() {
            let origin = Origin(item.segment.url.url)
            // The first lane uses the slot that the request for the playlist has.
            let needsSlot = !isFirst || origin != Origin(requests.first.url)
            if needsSlot, await !terms.slots.take(origin) {
                // Other lanes may have a slot meanwhile, also of another host.
                putBack(item)
                await pause(isFirst ? .milliseconds(50) : .milliseconds(500))
                continue
            }
            let result = await fetch(item)
            if needsSlot { _ = await terms.slots.give(origin) }
            ended(item, result)
        }
    }

    /// Returns the next segment when there is one; `nil` when nothing is left or the attempt is over.
    private func next() async -> Item? {
        while goesOn {
            if position < queue.count {
                let item = queue[position]
                position += 1
                // The front of the list of a live stream would grow for ever.
                if position >= 1024, position * 2 > queue.count {
                    queue.removeFirst(position)
                    position = 0
                }
                inFlight += 1
                return item
            }
            if inFlight == 0, reloading == 0, !tracks.contains(where: { $0.reloadAfter != nil }) { return nil }
            await change()
        }
        return nil
    }

    /// Whether the attempt is not over: not cancelled, not failed, and wanted by the receiver.
    var goesOn: Bool { !Task.isCancelled && fatal == nil && appender?.isStopped != true }

    private func putBack(_ item: Item) {
        inFlight -= 1
        position -= 1
        if position >= 0 { queue[position] = item } else { (position, queue) = (0, [item] + queue) }
        wake()
    }

    func pause(_ time: Duration) async {
        // A cancelled wait is over.
        try? await terms.time.sleep(time)
    }

    func wake() {
        let waiting = self.waiting
        self.waiting = []
        for continuation in waiting { continuation.resume() }
    }

    private func change() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { continuation.resume() } else { waiting.append(continuation) }
            }
        } onCancel: {
            Task { await self.wake() }
        }
    }

    private func ended(_ item: Item, _ result: Result<StreamSegmentEnd, SegmentFailure>) {
        inFlight -= 1
        defer { wake() }
        switch result {
        case .success(let end):
            terms.progress.received(end, countsTime: item.track == 0)
            received += 1
            failuresInRow = 0
        case .failure(let failure):
            if Task.isCancelled { return }
            var item = item
            if failure.mayBeExpired || failure.decision.isWorthRetrying { failuresInRow += 1 }
            if film?.isLive != true, failuresInRow >= mostInRow(failure) {
                fatal = fatal ?? failure
                failures.append((item, failure))
                return
            }
            item.attempts += 1
            if failure.decision.isWorthRetrying || film?.isLive == true, item.attempts < Self.mostAttempts {
                queue.append(item)
            } else {
                failures.append((item, failure))
            }
        }
    }

    /// Failures without a segment between them that end the attempt: the others would fail too, because a signature has
    /// expired, or because the server is not there. Some servers refuse a single segment that they lack.
    private func mostInRow(_ failure: SegmentFailure) -> Int {
        if failure.mayBeExpired { return 3 }
        return failure.decision.isWorthRetrying ? 32 : .max
    }

    /// Attempts at one segment before the attempt at the film ends with its failure.
    private static let mostAttempts = 3
}
