/// An answer of the hub that is an error. Clients read the code and the message from fields of the header.
struct HubProblem: Error {
    let status: Int
    let reason: String
    /// The value of `X-Error-Code`; `nil` for an answer without the field.
    let code: String?
    /// The value of `X-Error-Message`.
    let message: String
    /// The value of `X-Repo-Commit`; `nil` for an answer without the field.
    var commit: String?

    static let noPage = HubProblem(status: 404, reason: "Not Found", code: nil, message: "Not found")
    /// A token that the hub does not know. The hub then refuses even public repositories.
    static let unknownToken = HubProblem(
        status: 401,
        reason: "Unauthorized",
        code: nil,
        message: "Invalid credentials in Authorization header"
    )
    /// Without a token: the repository does not exist or is private.
    static let repositoryWithoutToken = HubProblem(
        status: 401,
        reason: "Unauthorized",
        code: "RepoNotFound",
        message: "Invalid username or password."
    )
    /// With a token: the repository does not exist, or the token may not see it.
    static let repository = HubProblem(
        status: 404,
        reason: "Not Found",
        code: "RepoNotFound",
        message: "Repository not found"
    )

    static func gated(_ repository: String, hasToken: Bool, commit: String) -> HubProblem {
        let start = "Access to model \(repository) is restricted"
        return HubProblem(
            status: hasToken ? 403 : 401,
            reason: hasToken ? "Forbidden" : "Unauthorized",
            code: "GatedRepo",
            message: start
                + (hasToken
                    ? " and you are not in the authorized list."
                    : ". You must have access to it and be authenticated to access it. Please log in."),
            commit: commit
        )
    }

    static func revision(_ revision: String) -> HubProblem {
        // A line break in a revision must not begin another field.
        let shown = revision.filter { !$0.isNewline }
        return HubProblem(
            status: 404,
            reason: "Not Found",
            code: "RevisionNotFound",
            message: "Invalid rev id: \(shown)"
        )
    }

    static func entry(commit: String) -> HubProblem {
        HubProblem(
            status: 404,
            reason: "Not Found",
            code: "EntryNotFound",
            message: "Entry not found",
            commit: commit
        )
    }

    var headers: [(String, String)] {
        let fields = [("X-Error-Code", code), ("X-Error-Message", message), ("X-Repo-Commit", commit)]
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }
}
