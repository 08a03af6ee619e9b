internal import Foundation

/// Address and access token of the hub, from the environment variables and the file that the hub's own programs use.
package struct HubAccess: Sendable {
    package var endpoint = HubSource.defaultEndpoint
    package var token: String?

    /// Reads the endpoint from `HF_ENDPOINT`, and the token from `HF_TOKEN` or else from the file that a login with the
    /// hub's own program has written: the file `HF_TOKEN_PATH`, else `token` in `HF_HOME`, else `huggingface/token` in
    /// `XDG_CACHE_HOME` or `~/.cache`.
    package init(environment: [String: String]) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let endpoint = value("HF_ENDPOINT") { self.endpoint = endpoint }
        token = value("HF_TOKEN").flatMap(Self.trimmed)
        guard token == nil else { return }
        let cache = value("XDG_CACHE_HOME") ?? value("HOME").map { FilePaths.join($0, ".cache") }
        let folder = value("HF_HOME") ?? cache.map { FilePaths.join($0, "huggingface") }
        token = (value("HF_TOKEN_PATH") ?? folder.map { FilePaths.join($0, "token") }).flatMap(Self.token)
    }

    /// Returns the token in the first 4 KiB of a file; `nil` if the file is empty or cannot be read. Without a login,
    /// there is no file.
    private static func token(at path: String) -> String? {
        guard let file = try? PosixFile.reading(path), let bytes = try? file.read(at: 0, count: 4096) else {
            return nil
        }
        return trimmed(String(decoding: bytes, as: UTF8.self))
    }

    private static func trimmed(_ token: String) -> String? {
        let text = token.trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
