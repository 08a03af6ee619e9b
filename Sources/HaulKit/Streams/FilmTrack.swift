/// One track of a film during an attempt. Numbers the initialization sections, and holds the plan of a live track.
struct FilmTrack {
    let source: StreamSource.Track
    private var sections: [InitializationSection: Int] = [:]
    private var nextSection = 0
    /// Decides about reloads; `nil` for a track that is complete.
    private var plan: LivePlan?
    /// Delay before the playlist is read again; `nil` if it is not read again.
    private(set) var reloadAfter: Duration?

    /// Creates a track whose playlist has ended.
    init(_ source: StreamSource.Track) { self.source = source }

    /// Creates a live track. Its sections get the numbers after those of an earlier attempt.
    init(_ source: StreamSource.Track, _ plan: LivePlan, behind earlier: StreamLog.Track?) {
        (self.source, self.plan) = (source, plan)
        nextSection = (earlier?.sections.keys.max() ?? -1) + 1
    }

    var isLive: Bool { plan != nil }

    /// The ``LivePlan/deadline`` of a live track; `nil` also for a complete track.
    var deadline: Instant? { plan?.deadline }

    /// Numbers a section unless it has a number.
    mutating func note(_ section: InitializationSection?) {
        guard let section, sections[section] == nil else { return }
        sections[section] = nextSection
        nextSection += 1
    }

    /// Returns the number of a section that was noted.
    func number(of section: InitializationSection) -> Int? { sections[section] }

    /// Hands an event to the plan of a live track, and notes when the playlist is read again.
    ///
    /// - Returns: `nil` for a complete track.
    mutating func handle(_ event: LivePlan.Event) throws(StreamError) -> LivePlan.Step? {
        guard var plan else { return nil }
        let step = try plan.handle(event)
        self.plan = plan
        if case .reload(let delay) = step.next { reloadAfter = delay } else { reloadAfter = nil }
        return step
    }
}
