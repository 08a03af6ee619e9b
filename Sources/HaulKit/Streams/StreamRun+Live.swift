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
            throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
        }
        guard let step = next else { return }
        for segment in step.segments where known?.segments[segment.number] == nil {
            tracks[index].note(segment.map)
            queue.append(SegmentQueue.Item(track: index, segment: segment))
            terms.progress.listed(1, seconds: index == 0 ? segment.duration : 0)
        }
        for gap in step.gaps { missing.add(gap, of: index) }
        queue.wake()
    }

    /// Returns after a time, or soon after the recording is to end or the attempt is over.
    private func wait(atMost time: Duration) async {
        var left = time
        while left > .zero, goesOn, !terms.progress.isFinishing {
            let step = min(left, .milliseconds(200))
            await terms.pause(step)
            left -= step
        }
    }

    /// Reads the playlist of a live track again and again until it ends.
    func reload(_ index: Int) async {
        queue.reloadBegan()
        defer { queue.reloadEnded() }
        while let delay = tracks[index].reloadAfter, goesOn {
            await wait(atMost: delay)
            guard goesOn else { return }
            do throws(SegmentFailure) {
                if terms.progress.isFinishing {
                    try follow(index, .stop)
                    return
                }
                do throws(SegmentFailure) {
                    let track = tracks[index].source
                    let playlist = try await StreamSource.playlist(track.url, track.imports, requests)
                    try take(playlist, index)
                } catch {
                    guard error.decision.isWorthRetrying || error.head != nil else { throw error }
                    try follow(index, .reloadFailed(status: error.head?.status, at: terms.time.now()))
                }
            } catch {
                missing.end(error)
                return
            }
        }
    }
}
