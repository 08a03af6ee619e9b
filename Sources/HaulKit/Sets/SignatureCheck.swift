internal import Foundation

/// Checks signatures with programs of the system: `gpgv` or `sqv`, and `minisign`. The programs parse bytes from
/// outside, so each runs as a process of its own on files in a folder of its own. None needs the network.
enum SignatureCheck {
    /// Checks a detached OpenPGP signature.
    ///
    /// - Returns: the signer's name and fingerprint.
    static func openPGP(_ list: [UInt8], _ signature: [UInt8], keys: [UInt8]) async throws(DownloadError) -> String {
        try await inFolder([("list", list), ("signature", signature), ("keys", keys)]) { folder throws(DownloadError) in
            if let program = SystemPrograms.path(of: "gpgv") {
                return try await gpgv(program, folder, ["\(folder)/signature", "\(folder)/list"])
            }
            guard let program = SystemPrograms.path(of: "sqv") else { throw missing("gpgv or sqv") }
            let output = try await run(
                program,
                ["--keyring", "\(folder)/keys", "\(folder)/signature", "\(folder)/list"]
            )
            let fingerprints = output.text.split(whereSeparator: \.isNewline)
            guard output.status == 0, let first = fingerprints.first else { throw refused(output.complaint) }
            return String(first)
        }
    }

    /// Checks a list that contains its own OpenPGP signature (cleartext signature, RFC 9580 §7).
    ///
    /// - Returns: the text that the signature covers, and the signer's name and fingerprint.
    static func clearSigned(_ list: [UInt8], keys: [UInt8]) async throws(DownloadError) -> ([UInt8], String) {
        try await inFolder([("list", list), ("keys", keys)]) { folder throws(DownloadError) in
            guard let program = SystemPrograms.path(of: "gpgv") else { throw missing("gpgv") }
            let text = "\(folder)/text"
            let signer = try await gpgv(program, folder, ["--output", text, "\(folder)/list"])
            return (try await SetFile.read(text), signer)
        }
    }

    /// Checks a signature of minisign.
    ///
    /// - Parameter key: path of a public key file, or the key itself.
    /// - Returns: `minisign` with the name of the key file or with the key itself.
    static func minisign(_ list: [UInt8], _ signature: [UInt8], key: String) async throws(DownloadError) -> String {
        guard let program = SystemPrograms.path(of: "minisign") else { throw missing("minisign") }
        let isFile = FileManager.default.fileExists(atPath: key)
        return try await inFolder([("list", list), ("signature", signature)]) { folder throws(DownloadError) in
            let output = try await run(
                program,
                ["-V", "-q", isFile ? "-p" : "-P", key, "-x", "\(folder)/signature", "-m", "\(folder)/list"]
            )
            guard output.status == 0 else { throw refused(output.complaint + output.text) }
            return "minisign \(isFile ? FilePaths.name(of: key) : key)"
        }
    }

    /// Runs gpgv and reads its status lines. At least one signature must be good and none bad. Signatures by unknown
    /// keys are accepted beside a good one, because publishers sign with a new key and the old one.
    private static func gpgv(_ program: String, _ folder: String, _ files: [String]) async throws(DownloadError)
        -> String
    {
        let output = try await run(
            program,
            ["--homedir", folder, "--keyring", "\(folder)/keys", "--status-fd", "1"] + files
        )
        let lines = output.text.split(whereSeparator: \.isNewline).compactMap { line -> [Substring]? in
            let words = line.split(separator: " ")
            return words.first == "[GNUPG:]" ? Array(words.dropFirst()) : nil
        }
        let isBad = lines.contains { ["BADSIG", "REVKEYSIG"].contains($0.first) }
        // The line with the fingerprint follows the line with the name of the signer.
        let first = lines.firstIndex { $0.first == "GOODSIG" }
        guard !isBad, let first, let valid = lines[first...].first(where: { $0.first == "VALIDSIG" && $0.count > 1 })
        else {
            if lines.contains(where: { $0.first == "NO_PUBKEY" }), !isBad {
                throw DownloadError(
                    .unprovedSet,
                    "The list is signed by a key that is not in the key ring. No file was asked for."
                )
            }
            if lines.contains(where: { $0.first == "EXPKEYSIG" }), !isBad {
                throw DownloadError(
                    .unprovedSet,
                    "The list is signed by a key that has expired. No file was asked for."
                )
            }
            throw refused(output.complaint)
        }
        return "\(lines[first].dropFirst(2).joined(separator: " ")) (\(valid[1]))"
    }

    private static func refused(_ complaint: String) -> DownloadError {
        let lines = complaint.split(whereSeparator: \.isNewline)
        return DownloadError(
            .unprovedSet,
            "The signature does not prove the list. No file was asked for.",
            cause: lines.isEmpty ? nil : lines.suffix(3).joined(separator: "; ")
        )
    }

    private static func missing(_ programs: String) -> DownloadError {
        DownloadError(.programMissing, "The signature can be checked only by \(programs). Install the package.")
    }

    private static func run(_ program: String, _ arguments: [String]) async throws(DownloadError) -> ProgramOutput {
        do {
            return try await ProgramOutput.of(
                program,
                arguments,
                environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
            )
        } catch {
            if error is CancellationError {
                throw DownloadError(.cancelled, "The check of the signature was cancelled.")
            }
            throw error as? DownloadError
                ?? DownloadError(.programMissing, "\(program) could not be run.", cause: "\(error)")
        }
    }

    /// Runs `body` with files in a folder that only this user can read, and removes the folder.
    private static func inFolder<Value: Sendable>(
        _ files: [(name: String, bytes: [UInt8])],
        _ body: (String) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "haul-\(UUID().uuidString)").path
        // Nobody needs the files afterwards: a folder that cannot be removed costs only its space.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
        } catch {
            throw DownloadError(.diskFailed, "The signature cannot be checked in \(folder).", cause: "\(error)")
        }
        return try await body(folder)
    }
}
