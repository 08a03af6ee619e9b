/// The reason why a hub refused a request, from the status and the `X-Error-Code` of its response.
struct HubRefusal {
    private enum Reason { case unknownOrPrivate, badToken, gated, noSuchRevision, noSuchFile }

    private let reason: Reason
    private let status: Int

    /// - Returns: `nil` for a response that says nothing about the repository.
    init?(_ head: ResponseHead) {
        switch (head.status, head.headers.first(name: "X-Error-Code")) {
        case (401, "GatedRepo"), (403, "GatedRepo"): reason = .gated
        // To a request with an unknown token, the hub answers 401 without `X-Error-Code`, even for public repositories.
        case (401, nil): reason = .badToken
        case (401, _), (403, "RepoNotFound"), (404, "RepoNotFound"): reason = .unknownOrPrivate
        case (404, "RevisionNotFound"): reason = .noSuchRevision
        case (404, "EntryNotFound"): reason = .noSuchFile
        default: return nil
        }
        status = head.status
    }

    /// - Parameter hasToken: whether the request had an access token.
    func error(for reference: HubReference, hasToken: Bool) -> DownloadError {
        let message =
            switch reason {
            case .badToken where hasToken: "The hub does not know the access token."
            case .unknownOrPrivate where hasToken:
                "The hub has no \(reference), or the access token may not read it."
            case .unknownOrPrivate, .badToken:
                "The hub has no \(reference), or it is private and needs an access token."
            case .gated where hasToken:
                "\(reference) is gated, and the owner of the access token has no access yet: ask for it on its page."
            case .gated: "\(reference) is gated: ask for access on its page, and give the access token."
            case .noSuchRevision: "\(reference) has no revision \u{201C}\(reference.revision ?? "main")\u{201D}."
            case .noSuchFile: "\(reference) has no such file any more."
            }
        return DownloadError(.refusedByServer, message, status: status)
    }
}
