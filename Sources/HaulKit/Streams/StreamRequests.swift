internal import Foundation

/// Makes the requests for the parts of a film from the request for its playlist.
struct StreamRequests: Sendable {
    /// The request for the playlist, without a range.
    let first: TransportRequest
    let readers: SourceReaders
    /// Origin that the user named.
    private let home: Origin

    init(_ request: TransportRequest, _ readers: SourceReaders) {
        first = Self.playlist(of: request)
        self.readers = readers
        home = Origin(request.url)
    }

    /// Returns the request for the whole playlist, even if `request` is for the rest of a film.
    static func playlist(of request: TransportRequest) -> TransportRequest {
        var first = request
        (first.firstByte, first.end, first.condition) = (0, nil, .none)
        return first
    }

    /// Returns the request for a part.
    ///
    /// The user info of the URL that the user named applies to its whole origin. A part on another origin gets neither
    /// the cookies of that origin nor credentials. Of the user's header fields, it gets only `User-Agent` and, by
    /// ``RefererPolicy``, `Referer`, because servers of segments ask for these.
    func request(_ url: HTTPURL, _ range: ByteRange? = nil) -> TransportRequest {
        var request = first
        (request.url, request.target) = (url.url, url.spelling)
        if url.url.host?.lowercased() != first.url.host?.lowercased() { request.playlistHost = first.url.host }
        if let range { (request.firstByte, request.end) = (range.lower, range.upper) }
        guard Origin(url.url) != home else {
            request.url = url.url.withUserInfo(of: first.url)
            return request
        }
        request.headers = request.headers.compactMap { field in
            switch field.name.lowercased() {
            case "user-agent": field
            case "referer": RefererPolicy.value(field.value, for: url.url).flatMap { HeaderField(field.name, $0) }
            default: nil
            }
        }
        request.isChosenByOthers = true
        return request
    }

    /// Fetches a small part whole.
    ///
    /// - Parameter mostBytes: a longer body is an error.
    func body(_ url: HTTPURL, _ range: ByteRange? = nil, mostBytes: Int, what: String) async throws(SegmentFailure)
        -> (head: ResponseHead, bytes: [UInt8])
    {
        let collector = ResponseCollector(mostBytes: mostBytes) { [200, 203, 206].contains($0.status) }
        let request = request(url, range)
        let answer = await withTaskCancellationHandler {
            await collector.response(to: request, over: readers)
        } onCancel: {
            collector.cancel()
        }
        let response: ResponseCollector.Response
        switch answer {
        case .failure(let error): throw SegmentFailure(error, host: url.url.host ?? "")
        case .success(let found): response = found
        }
        let head = response.head
        guard [200, 203, 206].contains(head.status) else { throw SegmentFailure(refusedBy: head) }
        if head.status == 206, range == nil { throw SegmentFailure.unaskedRange(head) }
        guard let bytes = response.body else {
            throw SegmentFailure(
                DownloadError(.invalidStream, "\(what) is longer than \(QuantityText.bytes(Int64(mostBytes)))."),
                isWorthRetrying: false
            )
        }
        guard let range else { return (head, bytes) }
        return (head, try Self.cut(bytes, range, head))
    }

    /// Cuts a range out of an answer, which is exactly that range or everything.
    private static func cut(_ bytes: [UInt8], _ range: ByteRange, _ head: ResponseHead) throws(SegmentFailure)
        -> [UInt8]
    {
        if head.status == 206 {
            if case .satisfied(let sent, _)? = head.contentRange, sent == range, Int64(bytes.count) == range.count {
                return bytes
            }
        } else if range.upper <= Int64(bytes.count) {
            return Array(bytes[Int(range.lower)..<Int(range.upper)])
        }
        throw SegmentFailure.otherRange(head)
    }
}

extension DownloadError {
    init(_ error: StreamError) {
        if case .protected = error {
            self.init(.protectedStream, error.message)
        } else {
            self.init(.invalidStream, error.message)
        }
    }
}
