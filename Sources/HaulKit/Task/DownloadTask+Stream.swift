internal import Foundation
internal import Logging

/// A download whose URL leads to a playlist: the terms on which it becomes a film, and the log of its segments.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Returns the terms for a request; `nil` if its answer is only a file.
    ///
    /// The answer to a request for the whole file may be a playlist, even from a mirror, and so may the answer to the
    /// first request that continues a download: the partial file is the log of a stream, or the server has a stream in
    /// the place of the file now and ignores the range. Further connections fetch ranges of an ordinary file. A source
    /// that did not begin the log continues it only if it sends whole segments with the same bytes as in the log.
    func streamTerms(for request: RangeRequest, _ call: TransportRequest) -> StreamTerms? {
        let options = record.request.stream ?? DownloadRequest.Stream()
        let isLog = machine.resource?.stream?.isLog == true
        guard !options.keepsPlaylist, call.method == .get, isLog || !call.isForRange || connections.count == 0,
            let slots = environment.delegate?.segmentSlots
        else { return nil }
        let (logger, id, group) = (services.logger, self.id, record.request.group)
        return StreamTerms(
            options: options,
            // A name that `BatchFileNames` numbered is only the playlist's name in the URL with a number, so it is not
            // passed on. ``StreamName`` then uses the URL, and skips path parts that are generic, such as `index`.
            suggestedName: record.request.isNameNumbered ? nil : record.request.suggestedName,
            log: isLog ? part : nil,
            source: machine.logSource,
            progress: connections.beginFilm(isContinued: isLog),
            slots: slots,
            mostConnections: min(machine.settings.effectiveLimits.connections, Self.mostSegmentsAtOnce),
            mayRenewLink: machine.settings.canAskForSource,
            time: services.time,
            notice: { logger.notice("\($0)", metadata: DownloadTask.logMetadata(id, group)) },
            ffmpeg: services.ffmpeg.find
        )
    }

    /// Most segments of one film that are fetched at once, unless the limit of connections is lower.
    private static let mostSegmentsAtOnce = 16

    // MARK: The log

    /// Returns the ranges of a log with the records that a killed process wrote and did not record in the store; `nil`
    /// if there are no such records, or if they cannot be used.
    ///
    /// A process writes a log in order and without gaps. Until the next boot, the file has all bytes that the process
    /// wrote. The checks of the records show whether another program has changed the end of the file.
    func wholeLog(
        behind claimed: PersistedRanges?,
        of stored: DownloadStore.Saved?,
        size: Int64,
        isolation: isolated (any Actor)? = #isolation
    ) async -> PersistedRanges? {
        let bootID = services.disk.bootID
        guard let claimed, let part, stored?.record.resource?.stream?.isLog == true, !bootID.isEmpty,
            stored?.progress?.bootID == bootID, claimed.count == claimed.prefix, size > claimed.prefix
        else { return nil }
        do throws(DiskError) {
            guard try await StreamLogReader.read(size, of: part) != nil else { return nil }
            return PersistedRanges(written: size, synced: claimed.synced.prefix)
        } catch {
            // The ranges that the store claims are good without the further records.
            return nil
        }
    }

    /// Whether a log has no whole segment. The log may still have a gigabyte of a segment that was refused for its
    /// length.
    func hasNoSegment(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        do throws(DiskError) {
            let found = try await StreamLogReader.read(part.persisted.prefix, of: part)
            return found?.log.tracks.values.allSatisfy { $0.segments.values.allSatisfy(\.isGap) } == true
        } catch {
            // A log that cannot be read now may be read later.
            return false
        }
    }
}
