internal import NIOCore
internal import NIOHTTP1

/// The connections of one download: sends requests, starts bodies and closes connections.
extension DownloadTask {
    typealias ConnectionID = DownloadMachine.ConnectionID

    /// Returns the source that a request goes to.
    func source(of request: RangeRequest) -> SourceSelector.Source {
        let sources = machine.sources.sources
        // The first source always exists: the URL of the request.
        return sources.indices.contains(request.source) ? sources[request.source] : sources[0]
    }

    /// Whether one of the sources is on `host`.
    func uses(_ host: Origin) -> Bool { machine.sources.sources.contains { $0.origin == host } }

    /// Opens a connection. Asks the engine for a connection slot of the host, and sends the request if it is granted.
    func open(_ id: ConnectionID, _ request: RangeRequest) -> Work {
        let host = source(of: request).origin
        switch environment.delegate?.task(self, asksForSlotOf: host, for: id, request) {
        case .granted?:
            connect(id, request, host)
            return .nothing
        case .waits?, nil: return .nothing
        // Sent in a new task, because the machine has not finished its present event.
        case .refused?: return .beside { _, _ in .connectionEnded(id, .noConnectionSlot) }
        }
    }

    /// Sends a request over a connection that has its slot.
    ///
    /// - Parameter host: the host of the slot. The source may have moved to another host since.
    func connect(_ id: ConnectionID, _ request: RangeRequest, _ host: Origin) {
        let source = source(of: request)
        let isMirror = host != machine.sources.sources[0].origin
        let call = TransportRequest(
            url: source.url,
            target: source.target,
            // Header fields and the body for one origin are not sent to another.
            headers: isMirror ? [] : record.headers,
            method: isMirror ? .get : record.request.method,
            firstByte: request.first,
            end: request.end,
            condition: request.condition,
            allowsInsecureRedirects: record.request.allowsInsecureRedirects,
            isChosenByOthers: isMirror || record.isChosenByOthers(host),
            download: self.id,
            cookies: connections.cookies(from: environment.services.cookieCollection)
        )
        let terms = streamTerms(for: request, call)
        connections.add(environment.pool.start(id, call, host, of: self.id, stream: terms), as: id)
    }

    /// - Returns: `false` if the connection does not exist any more.
    @discardableResult
    func close(_ id: ConnectionID) -> Bool {
        guard let worker = connections.remove(id) else { return false }
        worker.close()
        environment.pool.ended(id, of: self.id)
        return true
    }

    /// Closes a connection and returns `end` as the event of its end; `nil` if the connection was closed before.
    private func breakOff(_ id: ConnectionID, _ end: DownloadMachine.ConnectionEnd) -> DownloadMachine.Event? {
        close(id) ? .connectionEnded(id, end) : nil
    }

    /// Reads the disk to choose the blocks that are worth comparing.
    func chooseBlocks(
        _ id: DownloadMachine.ChoiceID,
        _ plan: ComparisonPlan,
        isolation: isolated (any Actor)? = #isolation
    ) async
        -> DownloadMachine.Event
    {
        guard let part else {
            return .blocksUnreadable(id, DownloadError(.internalFault, "The partial file is gone."))
        }
        do throws(DiskError) {
            return .blocksChosen(id, try await part.blocks(of: plan))
        } catch {
            return .blocksUnreadable(id, DownloadError(error))
        }
    }

    // MARK: Bodies

    /// Starts the body of a connection. The first `compare` bytes of the body must equal the bytes on the disk before
    /// `offset`.
    func startBody(
        _ id: ConnectionID,
        _ offset: Int64,
        _ compare: Int64,
        _ limit: Int64?,
        isolation: isolated (any Actor)? = #isolation
    )
        async -> DownloadMachine.Event?
    {
        guard let part else { return nil }
        var overlap: [UInt8] = []
        if compare > 0 {
            do throws(DiskError) {
                overlap = try await part.read(at: offset - compare, count: Int(compare))
            } catch {
                // The overlap cannot be read. That is a fault of the disk, and no reason to drop the bytes.
                return breakOff(id, .diskFailed(error, part.persisted))
            }
        }
        guard overlap.count == compare else {
            // The file is shorter than its written ranges, so no byte can be joined.
            return breakOff(id, .overlapDiffers)
        }
        startBody(id, offset, expecting: overlap, limit)
        return nil
    }

    /// - Parameters:
    ///   - overlap: bytes on the disk before `offset`, which the body must repeat.
    ///   - repeated: number of bytes before `offset` that the body repeats and that another connection fetches.
    func startBody(
        _ id: ConnectionID,
        _ offset: Int64,
        expecting overlap: [UInt8] = [],
        repeating repeated: Int64 = 0,
        _ limit: Int64?
    ) {
        guard let part, let worker = connections[id] else { return }
        if connections.count == 1 {
            marks.restartMeter(part.persisted.count, at: environment.services.time.now())
        }
        environment.delegate?.taskStartsBody(self)
        let most = environment.configuration.storage.batchBytes
        worker.startBody(
            SegmentSink(
                part,
                at: offset,
                limit: limit,
                expecting: overlap,
                repeating: repeated,
                batchSize: part.file.isInMemory ? most : environment.delegate?.writeBatchBytes ?? most,
                speedLimit: connections.speedLimit
            ),
            into: part
        )
    }
}
