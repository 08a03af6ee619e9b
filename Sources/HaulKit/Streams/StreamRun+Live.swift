internal import Foundation

/// Live tracks: reads their playlists again and queues the new segments.
extension StreamRun {
    /// Hands a playlist to the plan of a live track, and queues its new segments.
    func take(_ playlist: MediaPlaylist, _ index: Int, _ known: StreamLog.Track? = nil) throws(SegmentFailure) {
        try follow(index, .playlist(playlist, at: terms.time.now()), known)
    }

    private func follow(_ index: Int, _ event: LivePlan.Event, _ known: StreamLog.Track? = nil) throws(SegmentFailure) {
        let next: LivePlan.Step?
        do throws(StreamError) { next = try tracks[index].handle(event) } catch {
            guard error.isOfAnotherRecording, mayEnd(with: known ?? log?.earlier(of: index)) else {
                throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
            }
            endRecording(error.message)
            return try follow(index, .stop)
        }
        guard let step = next else { return }
        if case .ended(.gone) = step.next { endRecording("The server has no playlist any more.") }
        for segment in step.segments where known?.segments[segment.number] == nil {
            tracks[index].note(segment.map)
            queue.append(SegmentQueue.Item(track: index, segment: segment))
            terms.progress.listed(1, seconds: index == 0 ? segment.duration : 0)
        }
        for gap in step.gaps { missing.add(gap, of: index) }
        queue.wake()
    }

    /// Returns after `time`, or soon after the recording is to end or the attempt is over.
    private func wait(atMost time: Duration) async {
        var left = time
        while left > .zero, goesOn, !isToEnd {
            let step = min(left, Self.look)
            await terms.pause(step)
            left -= step
        }
    }

    /// Returns soon after the recording is to end or the attempt is over.
    private func waitForEnd() async {
        while goesOn, !isToEnd { await terms.pause(Self.look) }
    }

    /// Time between two checks whether the recording is to end.
    static let look = Duration.milliseconds(200)

    /// Reads the playlist of a live track again and again until it ends.
    func reload(_ index: Int) async {
        queue.reloadBegan()
        defer { queue.reloadEnded() }
        while let delay = tracks[index].reloadAfter, goesOn {
            await wait(atMost: delay)
            guard goesOn else { return }
            do throws(SegmentFailure) {
                // `nil` if the recording was to end before the answer came.
                let answer = isToEnd ? nil : await playlist(of: index)
                guard goesOn else { return }
                switch answer {
                case .success(let playlist)?: try take(playlist, index)
                case .failure(let error)? where !isToEnd:
                    guard error.decision.isWorthRetrying || error.head != nil else { throw error }
                    try follow(index, .reloadFailed(status: error.head?.status, at: terms.time.now()))
                case .failure?, nil: if isToEnd { try follow(index, terms.progress.isFinishing ? .stop : .deadline) }
                }
            } catch {
                missing.end(error)
                return
            }
        }
    }

    /// Reads the playlist of a live track. Abandons the request when the recording is to end, because a server may
    /// answer late or never.
    ///
    /// - Returns: `nil` for a request that was abandoned.
    private func playlist(of index: Int) async -> Result<MediaPlaylist, SegmentFailure>? {
        let (track, requests) = (tracks[index].source, requests)
        return await withTaskGroup(of: Result<MediaPlaylist, SegmentFailure>?.self) { group in
            group.addTask {
                do throws(SegmentFailure) {
                    return .success(try await StreamSource.playlist(track.url, track.imports, requests))
                } catch { return .failure(error) }
            }
            group.addTask {
                await self.waitForEnd()
                return nil
            }
            let answer = await group.next() ?? nil
            group.cancelAll()
            return answer
        }
    }
}
