@testable import HaulCore
@testable import HaulKit

/// Checks of films while they are the log of a stream.
extension Life {
    /// Checks that the claimed part of a log can be read, and that its segments are those of one version.
    func check(log bytes: [UInt8], _ claimed: [Range<Int64>], of film: LifeFilm, _ path: String) {
        guard claimed.count == 1, claimed[0].lowerBound == 0 else {
            return blame("the claimed part of the log \(path) is no front of it: \(claimed)")
        }
        guard let log = read(bytes, claimed[0].upperBound) else {
            return blame("the log \(path) cannot be read up to \(claimed[0].upperBound)")
        }
        let contents = contents(of: log, in: bytes)
        if !film.versions.contains(where: { version in contents.allSatisfy { version.has($0) } }) {
            blame("the segments \(contents.map(\.number)) of the log \(path) are not those of one version")
        }
    }

    /// Checks that a log has each segment that had arrived before a time.
    func checkLoss(
        of site: LifeSite,
        _ saved: [DownloadStore.Saved],
        _ arrived: [(at: Int64, site: Int, place: LifeFilm.Place)],
        _ time: Int64
    ) {
        guard let one = saved.first(where: { $0.record.request.url == site.url }) else { return }
        if one.record.status == .completed || one.record.status == .publishing { return }
        if one.record.resource?.stream == .film { return }
        // The first segment comes before the name, which may be taken.
        if one.record.status == .failed, one.record.partPath == nil { return }
        let whole = places(of: site, one)
        let lost = arrived.filter { $0.site == site.number && $0.at < time && !whole.contains($0.place) }
        if !lost.isEmpty {
            blame(
                "a SIGKILL cost segments that had come more than a quarter of a second before it: \(lost.map(\.place.path))"
            )
        }
    }

    /// Returns the segments that need not be asked for again: those in the logs of honest servers.
    func wholeSegments() throws -> [Int: Set<LifeFilm.Place>] {
        // Elsewhere a log may be begun anew for many reasons.
        guard plan.hasFilms, plan.isClean, !plan.cutsPower else { return [:] }
        let saved = try stores[0].saved()
        var whole: [Int: Set<LifeFilm.Place>] = [:]
        for site in sites where site.film != nil {
            if let one = saved.first(where: { $0.record.request.url == site.url }) {
                whole[site.number] = places(of: site, one)
            }
        }
        return whole
    }

    /// Checks that a process asked for no segment that was known before.
    func checkNoneAgain(_ process: LifeProcess, _ known: [Int: Set<LifeFilm.Place>]) {
        for asked in process.transport.askedSegments where known[asked.site]?.contains(asked.place) == true {
            blame("\(asked.place.path) from \(asked.place.first) on was asked for again")
        }
    }

    // MARK: Logs

    private typealias Content = LifeFilm.Content

    /// Reads the first `length` bytes of a log; `nil` if they are none.
    private func read(_ bytes: [UInt8], _ length: Int64) -> StreamLog? {
        var log = StreamLog()
        let end = min(bytes.count, Int(length))
        while Int(log.end) + StreamRecord.headLength <= end {
            let body = Int(log.end) + StreamRecord.headLength
            guard let record = StreamRecord(head: bytes[Int(log.end)..<body]) else { return nil }
            let next = body + Int(record.length)
            guard next <= end else { break }
            guard log.take(record, record.kind.isChecked ? Array(bytes[body..<next]) : nil) else { return nil }
        }
        return log
    }

    private func contents(of log: StreamLog, in bytes: [UInt8]) -> [Content] {
        (log.tracks[0]?.segments ?? [:]).sorted { $0.key < $1.key }.map { number, segment in
            Content(
                number: Int(number),
                bytes: segment.ranges.flatMap { bytes[Int($0.lowerBound)..<Int($0.upperBound)] }
            )
        }
    }

    /// Returns the places of the segments that a download of an honest server need not ask for again.
    private func places(of site: LifeSite, _ one: DownloadStore.Saved) -> Set<LifeFilm.Place> {
        guard let film = site.film, one.record.resource?.stream?.isLog == true, let path = one.record.partPath,
            let bytes = disk.content(path), let identity = one.record.part, let progress = one.progress,
            let existingFile = try? disk.status(path), existingFile.isSameFile(as: identity),
            let length = ByteSet(text: progress.written).ranges.first?.upperBound, let log = read(bytes, length)
        else { return [] }
        return Set(contents(of: log, in: bytes).compactMap { film.current.segment($0.number)?.place })
    }
}
