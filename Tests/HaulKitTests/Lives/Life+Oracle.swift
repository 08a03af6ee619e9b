import Foundation

@testable import HaulCore
@testable import HaulKit

/// What has to hold in every life.
extension Life {
    private static let quarter: Int64 = 250_000_000

    /// The events of each run said exactly once how it ended, and a completed one has left the file that it speaks of.
    ///
    /// - Parameter isAlone: no other process can have published something at the same place since.
    func check(_ process: LifeProcess, isAlone: Bool) {
        for run in process.runs {
            if run.endings != 1 { blame("process \(process.name) told of \(run.endings) endings of one run") }
            guard case .completed(let completed)? = run.outcome else { continue }
            guard let bytes = disk.content(completed.path) else {
                if foreign[completed.path] == nil {
                    blame("\(completed.path) is said to be complete, and is not there")
                }
                continue
            }
            if foreign[completed.path]?.isSame(as: bytes) == true { continue }
            if isAlone, completed.bytes != bytes.count {
                blame("\(completed.path) has \(bytes.count) bytes, not \(completed.bytes)")
            }
            if !has(run.site, bytes) {
                blame("\(completed.path) holds bytes that its server never had: \(differences(bytes))")
            }
        }
    }

    /// Every final name holds a whole version of a server's file, or a file of the user's; and those are all there.
    func checkNames() {
        for path in disk.paths where !path.hasSuffix(".haulpart") && foreign[path] == nil && !path.contains(".moved") {
            check(path)
        }
        for (path, bytes) in foreign where disk.content(path) != bytes {
            // What he asked to be overwritten may be.
            // So may what stands at the place of the partial file, which is taken for one that was left behind.
            if plan.policy == .overwrite, !path.contains(".moved") { continue }
            blame("the user's file at \(path) is \(disk.content(path) == nil ? "gone" : "another one now")")
            foreign[path] = nil
        }
    }

    func published(_ path: String) {
        // Another name for a file that was in the way.
        if path.hasSuffix(".haulpart") || foreign[path] != nil && plan.policy != .overwrite { return }
        check(path)
    }

    /// Whether these are the bytes of a site's file, or of its mirror's where no digest says which are meant.
    private func has(_ site: Int, _ bytes: [UInt8]) -> Bool {
        sites[site].had(bytes) || !plan.wantsDigest && !mirrors.isEmpty && mirrors[site].had(bytes)
    }

    private func check(_ path: String) {
        guard let bytes = disk.content(path), !sites.indices.contains(where: { has($0, bytes) }) else { return }
        if foreign.values.contains(bytes) { return blame("the user's file has got the name \(path)") }
        // What had the wrong digest may be anything.
        if path.contains(".wrong-digest") { return }
        blame("\(path) holds bytes that no server ever had: \(differences(bytes))")
    }

    private func differences(_ bytes: [UInt8]) -> String {
        let versions = servers.flatMap(\.versions).map { version in
            let same = zip(bytes, version.bytes).reduce(0) { $0 + ($1.0 == $1.1 ? 1 : 0) }
            return "\(same) of \(version.bytes.count)"
        }
        return "\(bytes.count) bytes, of which are those of the versions \(versions.joined(separator: ", "))"
    }

    /// What the store says to be there is there, and of one version.
    func checkClaims(_ saved: [DownloadStore.Saved], isAfterPowerCut: Bool) {
        for one in saved {
            guard let progress = one.progress, let path = one.record.partPath, one.record.status != .completed,
                let identity = one.record.part, let bytes = disk.content(path),
                let existingFile = try? disk.status(path), existingFile.isSameFile(as: identity)
            else { continue }
            let isOfThisBoot = progress.bootID == disk.bootID
            let claimed = ByteSet(text: isAfterPowerCut || !isOfThisBoot ? progress.synced : progress.written).ranges
                .map(\.self)
            guard !claimed.isEmpty else { continue }
            if Int64(bytes.count) < claimed.last?.upperBound ?? 0 {
                blame("\(path) has \(bytes.count) bytes, and the store says \(claimed)")
            } else if !plan.wantsDigest, !servers.contains(where: { $0.had(claimed, of: bytes) }) {
                // Where a digest is given, it is what decides in the end: versions that nothing else could tell apart may be mixed.
                blame("\(path) does not have the bytes of one version at \(claimed)")
            }
        }
    }

    /// What had come a quarter of a second before the process was killed is claimed, so that it need not come again.
    func checkLoss(
        _ saved: [DownloadStore.Saved],
        _ delivered: [(at: Int64, site: Int, range: Range<Int64>)],
        _ died: Int64
    ) {
        for (number, site) in sites.enumerated() {
            guard let one = saved.first(where: { $0.record.request.url == site.url }) else { continue }
            if one.record.status == .completed || one.record.status == .publishing { continue }
            var before = ByteSet()
            for piece in delivered where piece.site == number && piece.at < died - Self.quarter {
                before.formUnion(ByteSet(piece.range))
            }
            let claimed = one.progress.map { ByteSet(text: $0.written) } ?? ByteSet()
            let lost = before.subtracting(claimed)
            if lost.count > 0 {
                blame(
                    "a SIGKILL cost \(lost.count) bytes that had come more than a quarter of a second before it: \(lost.ranges)"
                )
            }
        }
    }

    /// Whether a run that did not complete was right not to.
    func isRightRefusal(_ run: LifeProcess.Run) -> Bool {
        switch run.outcome {
        case .completed?: true
        // The name is taken, and nothing may be overwritten. Where the user took the place of a partial file, or a power cut left it with
        // two names, the names that others share with it wait for that one.
        case .failed(let error)?:
            error.code == .fileExists
                || error.code == .inUse && plan.policy == .fail && sites.count > 1
                    && (foreignCount > 0 || plan.cutsPower)
        default: false
        }
    }

    /// At the very end nothing is left of what it took to get there.
    func checkEnd() throws {
        // A power cut may bring back the name of a file that was just set aside or removed.
        guard !plan.hasTwoStores, !plan.cutsPower, !failedToRemove, !wasDamaged else { return }
        // A download of its own that was killed and that nobody has asked to go on with is still there to be gone on with.
        let unfinished =
            hadTwoAtOnce
            ? try stores[0].saved().filter { $0.record.status != .completed }.compactMap(\.record.partPath) : []
        for path in disk.paths where path.hasSuffix(".haulpart") && foreign[path] == nil && !unfinished.contains(path) {
            blame("\(path) was left behind")
        }
        checkNoneTwice()
    }

    /// Processes that were given the same list have fetched each file once. Where the user moved files, some were fetched again, and
    /// what a cancelled download had is nobody's.
    private func checkNoneTwice() {
        guard plan.sharesList, plan.policy == .rename, foreignCount == 0, !plan.failsDisk else { return }
        for site in servers {
            for version in site.versions where !version.bytes.isEmpty {
                let paths = disk.paths.filter {
                    !$0.contains(".haulpart") && !$0.contains(".wrong-digest")
                        && disk.content($0)?.isSame(as: version.bytes) == true
                }
                if paths.count > 1 { blame("\(paths.sorted().joined(separator: " and ")) are one file") }
            }
        }
    }
}
