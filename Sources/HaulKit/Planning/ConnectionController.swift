struct ConnectionController: Sendable, Equatable {
    init(ceiling: Int, start: Int = 1, knownLimit: Int? = nil) { self.ceiling = ceiling; target = min(start, ceiling) }
    let ceiling: Int
    private(set) var target: Int
    private(set) var learnedLimit: Int?
    mutating func tick(landed: Int64, flowing: Int, opening: Int, missing: Int64, at now: Instant) {}
    mutating func refused(flowing: Int, retryAfter: Duration?, at now: Instant) { learnedLimit = max(1, flowing); target = max(1, flowing) }
    func mayOpen(count: Int, at now: Instant) -> Bool { count < target }
}
