import Foundation

@testable import HaulCore

/// The source provider: good and bad links, asked and unasked.
extension ShadowDownload {
    mutating func askForSource(_ id: DownloadMachine.AskID, _ reason: SourceQuery.Reason) {
        if ask != nil { complain("asks twice for a link") }
        if !machine.link.canAsk { complain("asks where nobody can be asked") }
        if (reason == .noneYet) != machine.link.isMissing { complain("asks because \(reason)") }
        ask = id
    }

    mutating func answerAsk() {
        guard let asked = ask else { return }
        ask = nil
        if fails(25) { return send(.sourceFailed(asked, DownloadError(.sourceFailed, "the application is out"))) }
        let fresh = freshLink()
        record(fresh)
        send(.sourceFound(asked, fresh))
    }

    mutating func replaceLink() {
        let fresh = freshLink()
        if !isOver { record(fresh) }
        send(.sourceReplaced(fresh))
    }

    /// Records the new link in the store, before the machine gets it.
    private mutating func record(_ fresh: DownloadMachine.Link) {
        if !machine.link.isMissing, store.resource?.place == nil { store.resource?.place = machine.settings.url.place }
    }

    private mutating func freshLink() -> DownloadMachine.Link {
        links += 1
        var number = links
        var host =
            ["files.example/a.iso", "files.example/a.iso", "cdn1.example/x.iso", "cdn2.example/y.iso"]
            .randomElement(using: &random) ?? ""
        // The server refuses the link, or the link leads to another file.
        if machine.link.canAsk, fails(20) { number = server.revoked }
        if machine.persisted.count > 0, fails(5) { host = ShadowServer.wrongHost + "/z" }
        let life = Int.random(in: -1000...4000, using: &random)
        let isKnown = chance(50) && !isBenevolent
        return .init(
            url: link("https://\(host)?s=\(number)"),
            expiresAt: isKnown ? now + .milliseconds(life) : isBenevolent && chance(50) ? now + .seconds(600) : nil
        )
    }
}

extension ShadowServer {
    static let wrongHost = "wrong.example"
    /// Added to the number of a version to get the file behind a wrong link.
    static let wrong = 2000

    /// Whether the server refuses the link of the present request.
    var refusesLink: Bool {
        let number = asked.query.flatMap { Int($0.dropFirst(2)) } ?? 0
        return number <= revoked
    }

    func refusedLink(_ random: inout SplitMix64) -> Answer {
        let status = [400, 401, 403, 403, 404, 410, 200].randomElement(using: &random) ?? 403
        guard status != 200 else {
            return Answer(head: head(200, nil, ["Content-Type": "text/html", "Content-Length": "900"]))
        }
        return Answer(head: head(status, nil))
    }

    /// The version at the host of the present request. Other hosts have other tags.
    var versionBehindLink: Version? {
        var version = current
        switch asked.host {
        case Self.wrongHost: return versions[current.number + Self.wrong]
        case "cdn1.example": version.tag = tag("cdn1-\(current.number)")
        case "cdn2.example": version.tag = tag("cdn2-\(current.number)")
        default: break
        }
        return version
    }

    /// Returns all tags of a version, at all hosts.
    func names(of version: Version) -> Set<String?> {
        [version.tag, tag("cdn1-\(version.number)"), tag("cdn2-\(version.number)")]
    }
}
