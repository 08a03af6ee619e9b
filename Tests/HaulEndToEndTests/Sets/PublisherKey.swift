import Foundation
import HaulTesting

/// A key pair of OpenPGP in a folder of its own, with which a publisher signs lists.
final class PublisherKey: Sendable {
    private let home: TemporaryFolder

    struct Failure: Error { let text: String }

    /// Makes the keys, which have no passphrase.
    init(_ name: String) async throws {
        home = try TemporaryFolder()
        // gpg warns of a folder that others may enter.
        chmod(home.path, 0o700)
        let user = "\(name) <\(name.lowercased())@publisher.example>"
        try await gpg("--passphrase", "", "--quick-gen-key", user, "ed25519", "sign", "never")
    }

    deinit {
        // gpg has started the agent, which would outlive the tests for a moment. It ends without its folder too.
        try? SystemCommand.run("gpgconf", "--homedir", home.path, "--kill", "gpg-agent")
    }

    /// Returns a detached signature.
    func signature(of text: String, armoured: Bool = false) async throws -> [UInt8] {
        try await output(of: text, ["--detach-sign"] + (armoured ? ["--armor"] : []))
    }

    /// Returns the text with its signature (RFC 9580 §7).
    func clearSigned(_ text: String) async throws -> [UInt8] { try await output(of: text, ["--clear-sign"]) }

    /// Writes the public key to a file.
    func export(to path: String, armoured: Bool = false) async throws {
        try await gpg(["--output", path] + (armoured ? ["--armor"] : []) + ["--export"])
    }

    private func output(of text: String, _ options: [String]) async throws -> [UInt8] {
        let (input, output) = (home("input-\(UUID().uuidString)"), home("output-\(UUID().uuidString)"))
        try text.write(toFile: input, atomically: false, encoding: .utf8)
        try await gpg(["--output", output] + options + [input])
        return Array(try Data(contentsOf: URL(fileURLWithPath: output)))
    }

    private func gpg(_ arguments: String...) async throws { try await gpg(arguments) }

    private func gpg(_ arguments: [String]) async throws {
        let result = try await ChildProcess(
            "/usr/bin/env",
            ["gpg", "--homedir", home.path, "--batch", "--yes", "--quiet", "--pinentry-mode", "loopback"] + arguments
        ).result()
        guard result.status == 0 else { throw Failure(text: result.errors) }
    }
}
