/// Requests for keys or initialization sections that several segments need. All lanes (see ``SegmentQueue``) wait for
/// the same answer, so each key and each section is requested once.
struct SharedRequests<Key: Hashable, Answer: Sendable> {
    typealias Request = Task<Result<Answer, SegmentFailure>, Never>

    private var requests: [Key: Request] = [:]

    func contains(_ key: Key) -> Bool { requests[key] != nil }

    /// Returns the request for `key`. Calls `begin` if there is none.
    mutating func request(_ key: Key, begin: () -> Request) -> Request {
        if let request = requests[key] { return request }
        let request = begin()
        requests[key] = request
        return request
    }

    /// Forgets a request, so that the next caller begins a new one. Keeps a newer request for `key`.
    mutating func forget(_ key: Key, _ request: Request) {
        if requests[key] == request { requests[key] = nil }
    }

    /// Forgets a request that has ended, so that the next caller begins a new one.
    mutating func forget(_ key: Key) { requests[key] = nil }

    /// Cancels the requests. They are no child tasks of the lanes, so cancelling a lane does not cancel them.
    func cancel() {
        for request in requests.values { request.cancel() }
    }
}
