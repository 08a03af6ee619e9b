import Foundation

@testable import HaulCore
@testable import HaulKit

/// Checks that hold in every life.
extension Life {
    private static let quarter: Int64 = 250_000_000

    /// Checks that each run had exactly one end, and that each completed run left the file that it reported.
    ///
    /// - Parameter isAlone: whether no other process can have published a file at the same path since.
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

    /// Checks that each final name holds a complete version of a server's file or a file of the user, and that all
    /// files of the user exist.
    func checkNames() {
        for path in disk.paths where !isPartial(path) && foreign[path] == nil && !path.contains(".moved") {
            check(path)
        }
        for (path, bytes) in foreign where disk.content(path) != bytes {
            // The policy `overwrite` allows the user's file to be replaced. A file at the path of a partial file counts
            // as left behind and may be replaced too.
            if plan.policy == .overwrite, !path.contains(".moved") { continue }
            blame("the user's file at \(path) is \(disk.content(path) == nil ? "gone" : "another one now")")
            foreign[path] = nil
        }
    }

    func published(_ path: String) {
        // The rename moved a file that was in the way.
        if isPartial(path) || foreign[path] != nil && plan.policy != .overwrite { return }
        check(path)
    }

    /// Returns whether a path is one of a partial file, or of a film that is put together beside it.
    private func isPartial(_ path: String) -> Bool { path.hasSuffix(".haulpart") || path.hasSuffix(".haulpart.film") }

    /// Returns whether the bytes are those of a site's file. Without a digest, the file of its mirror counts as well.
    private func has(_ site: Int, _ bytes: [UInt8]) -> Bool {
        sites[site].had(bytes) || !plan.wantsDigest && !mirrors.isEmpty && mirrors[site].had(bytes)
    }

    private func check(_ path: String) {
        guard let bytes = disk.content(path), !sites.indices.contains(where: { has($0, bytes) }) else { return }
        if foreign.values.contains(bytes) { return blame("the user's file has got the name \(path)") }
        // A file with the wrong digest may have any bytes.
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

    /// Checks that the bytes claimed by the store are on disk and belong to one version.
    ///
    /// - Parameter isDamaged: whether `saved` comes from a damaged store. A flipped byte may have changed the URL of a
    ///   download, or hidden that its file is a log. What such a download makes of its claims, its runs show.
    func checkClaims(_ saved: [DownloadStore.Saved], isAfterPowerCut: Bool, isDamaged: Bool = false) {
        for one in saved {
            guard let progress = one.progress, let path = one.record.partPath, one.record.status != .completed,
                let identity = one.record.part, let bytes = disk.content(path),
                let existingFile = try? disk.status(path), existingFile.isSameFile(as: identity)
            else { continue }
            let site = sites.first { $0.url == one.record.request.url }
            if isDamaged, site.map({ $0.film != nil && one.record.resource?.stream?.isLog != true }) ?? true {
                continue
            }
            let isOfThisBoot = progress.bootID == disk.bootID
            let claimed = ByteSet(text: isAfterPowerCut || !isOfThisBoot ? progress.synced : progress.written).ranges
                .map(\.self)
            guard !claimed.isEmpty else { continue }
            if Int64(bytes.count) < claimed.last?.upperBound ?? 0 {
                blame("\(path) has \(bytes.count) bytes, and the store says \(claimed)")
            } else if let film = site?.film, one.record.resource?.stream?.isLog == true {
                check(log: bytes, claimed, of: film, path)
            } else if !plan.wantsDigest, !isOfOneVersion(claimed, of: bytes, site) {
                // With a digest, versions that nothing else can tell apart may be mixed until the digest is checked.
                blame("\(path) does not have the bytes of one version at \(claimed)")
            }
        }
    }

    /// Returns whether the claimed bytes are of one version. Under a weak name, stretches that do not meet yet may be of
    /// different versions: they are compared where they meet, and before a resume.
    private func isOfOneVersion(_ claimed: [Range<Int64>], of bytes: [UInt8], _ site: LifeSite?) -> Bool {
        let mayDiffer = site.map { !$0.naming.isStrong } ?? false
        let together = mayDiffer ? claimed.map { [$0] } : [claimed]
        return together.allSatisfy { stretch in servers.contains { $0.had(stretch, of: bytes) } }
    }

    /// Checks that all bytes are claimed that arrived more than a quarter of a second before the kill, so that they
    /// need not be sent again.
    func checkLoss(
        _ saved: [DownloadStore.Saved],
        _ transport: LifeTransport,
        _ died: Int64
    ) {
        for (number, site) in sites.enumerated() {
            if site.film != nil {
                checkLoss(of: site, saved, transport.segments, died - Self.quarter)
                continue
            }
            guard let one = saved.first(where: { $0.record.request.url == site.url }) else { continue }
            if one.record.status == .completed || one.record.status == .publishing { continue }
            var before = ByteSet()
            for piece in transport.delivered where piece.site == number && piece.at < died - Self.quarter {
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

    /// Returns whether a run that did not complete had a valid reason.
    func isRightRefusal(_ run: LifeProcess.Run) -> Bool {
        switch run.outcome {
        case .completed?: true
        // The name is taken and must not be overwritten. `inUse`: downloads with the same name wait for one whose
        // partial file the user replaced, or that a power cut left with two names, or damage gave a download another
        // URL.
        case .failed(let error)? where error.code == .connectionLost:
            // The server has once stated a greater length for this version. Only the end of the connection marks the
            // end of its bodies, so each of them may be cut off.
            sites[run.site].framing == .close && !sites[run.site].hasRanges && !plan.isClean
        case .failed(let error)?:
            error.code == .fileExists
                && (!error.message.contains(".haulpart.film") || plan.policy == .fail && leavesFilms)
                || error.code == .inUse && plan.policy == .fail
                    && (wasDamaged || sites.count > 1 && (foreignCount > 0 || plan.cutsPower))
        default: false
        }
    }

    /// Whether a power cut may leave the film of another store without its log, which no run removes: a run of this
    /// store does not know whose film it is.
    private var leavesFilms: Bool { plan.hasTwoStores && plan.cutsPower }

    /// Checks that nothing temporary is left at the end.
    func checkEnd() throws {
        // A power cut may restore the name of a file that was just set aside or removed.
        guard !plan.hasTwoStores, !plan.cutsPower, !failedToRemove, !wasDamaged else { return }
        // A download that was killed and not requested again keeps its partial file.
        let unfinished =
            hadTwoAtOnce
            ? try stores[0].saved().filter { $0.record.status != .completed }.compactMap(\.record.partPath) : []
        for path in disk.paths
        where isPartial(path) && foreign[path] == nil && !unfinished.contains(where: { path.hasPrefix($0) }) {
            blame("\(path) was left behind")
        }
        checkNoneTwice()
    }

    /// Checks that processes with the same list fetched each file once. Files that the user moved may be fetched again,
    /// and the bytes of a cancelled download have no owner.
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
