internal import Crypto
internal import Foundation
internal import NIOCore

/// One attempt at a film: reads its playlists, fetches the segments that are missing over several connections, and
/// appends them to the log.
///
/// The order of need comes first. A segment that fails is tried again behind the others. When nothing else is left, the
/// attempt ends with the failure, and the machine decides when the next one begins.
actor StreamRun {
    /// A segment to fetch.
    struct Item {
        let track: Int
        let segment: MediaSegment
        /// Seconds before the segment, for the order of need.
        var start = 0.0
        var attempts = 0
    }

    /// One track during the attempt.
    struct Track {
        var source: StreamSource.Track
        /// Numbers of the initialization sections.
        var sections: [InitializationSection: Int] = [:]
        var nextSection = 0
        /// Decides about reloads; `nil` for a track that is complete.
        var live: LivePlan?
        /// Delay before the playlist is read again; `nil` when it is not.
        var reloadAfter: Duration?
    }

    let requests: StreamRequests
    let terms: StreamTerms
    let receiver: any ResponseReceiver
    let loop: any EventLoop
    var appender: StreamAppender?
    var log = StreamLog()
    var film: StreamFilm?
    var tracks: [Track] = []
    var queue: [Item] = []
    /// Place in ``queue`` of the next item. Items before it are done with.
    var position = 0
    var inFlight = 0
    var attempt: UInt32 = 0
    var keys: [HTTPURL: Task<Result<SymmetricKey, SegmentFailure>, Never>] = [:]
    var sections: [SectionKey: Task<SegmentFailure?, Never>] = [:]
    var failures: [(item: Item, failure: SegmentFailure)] = []
    var gaps: [(track: Int, gap: StreamGap)] = []
    /// Failure that ends the attempt before the other segments.
    var fatal: SegmentFailure?
    /// Segments that this attempt has received.
    var received = 0
    /// Failures since a segment was received.
    var failuresInRow = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    var reloading = 0

    struct SectionKey: Hashable {
        let track: Int
        let number: Int
    }

    init(
        _ requests: StreamRequests,
        _ terms: StreamTerms,
        _ receiver: any ResponseReceiver,
        on loop: any EventLoop
    ) {
        self.requests = requests
        self.terms = terms
        self.receiver = receiver
        self.loop = loop
    }

    /// Runs the attempt. The receiver's `ended` is the last call.
    ///
    /// - Parameters:
    ///   - request: the request of the engine, with its range and condition.
    ///   - head: answer to the request for the playlist.
    ///   - body: the playlist.
    func run(_ request: TransportRequest, _ head: ResponseHead, _ body: [UInt8]) async {
        do throws(SegmentFailure) {
            let source = try await StreamSource(head, body, terms.options, requests)
            try await begin(request, source)
            await fetchAll()
            try appendGaps()
            finish()
        } catch { refuse(error) }
    }
}
