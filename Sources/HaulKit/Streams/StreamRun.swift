internal import Crypto
internal import Foundation
internal import NIOCore

/// One attempt at a film: reads its playlists, fetches the missing segments over several connections, and appends them
/// to the log.
///
/// Fetches the segments in the order of need. A segment that fails is tried again after the others. When nothing else
/// is left, the attempt ends with the failure, and the machine decides when the next attempt begins.
actor StreamRun {
    let requests: StreamRequests
    let terms: StreamTerms
    let receiver: any ResponseReceiver
    let loop: any EventLoop
    /// `nil` before the playlists are read.
    var log: FilmLog?
    var tracks: [FilmTrack] = []
    var queue = SegmentQueue()
    var missing = MissingSegments()
    /// Whether the recording has ended without the segments that were still to come.
    var isCutShort = false
    var keys = SharedRequests<HTTPURL, FilmKey>()
    /// The key that the server sent last for each URL.
    var knownKeys: [HTTPURL: FilmKey] = [:]
    var kept = KeptSegments()
    let files = RangedFiles()
    var sections = SharedRequests<SectionKey, Void>()

    struct FilmKey: Sendable {
        let key: SymmetricKey
        /// Digest of the key, as ``StreamSegmentEnd/key`` keeps it in the log.
        let digest: UInt64
    }

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

    /// Whether the film is a recording of a live stream.
    var isLive: Bool { log?.film.isLive == true }

    /// Runs the attempt. The receiver's `ended` is the last call.
    ///
    /// - Parameters:
    ///   - request: the request of the engine, with its range and condition.
    ///   - head: answer to the request for the playlist.
    ///   - body: the playlist.
    func run(_ request: TransportRequest, _ head: ResponseHead, _ body: [UInt8]) async {
        do throws(SegmentFailure) {
            let source = try await StreamSource(head, body, terms.options, requests)
            let log = try await begin(request, source)
            self.log = log
            try list(source, log)
            await fetchAll()
            loseRest()
            appendGaps()
            finish()
        } catch { refuse(error) }
    }
}
