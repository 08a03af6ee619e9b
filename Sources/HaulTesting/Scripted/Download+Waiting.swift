public import HaulKit

extension Download {
    /// Waits until the download is in a state that a test or a preview needs.
    ///
    /// ```swift
    /// try script.step(url)
    /// let quarter = await download.snapshot { $0.receivedBytes == 250 }
    /// ```
    ///
    /// - Returns: the first snapshot that meets the condition, the present one included. `nil` if the run ends or the
    ///   task is cancelled before there is one.
    public func snapshot(where condition: (DownloadSnapshot) -> Bool) async -> DownloadSnapshot? {
        for await event in events {
            switch event {
            case .changed(let snapshot), .progressed(let snapshot):
                if condition(snapshot) { return snapshot }
            case .ended: break
            }
        }
        let last = snapshot
        return condition(last) ? last : nil
    }
}
