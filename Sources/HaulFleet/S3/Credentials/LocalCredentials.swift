internal import Foundation
internal import HaulKit

/// Keys from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
struct EnvironmentCredentials: S3CredentialSource {
    let environment: [String: String]

    func load() throws(FleetError) -> S3Credentials? {
        switch (try value("AWS_ACCESS_KEY_ID"), try value("AWS_SECRET_ACCESS_KEY")) {
        case (let accessKey?, let secretKey?):
            return S3Credentials(
                accessKey: accessKey,
                secretKey: secretKey,
                sessionToken: try value("AWS_SESSION_TOKEN")
            )
        case (nil, nil): return nil
        case (_?, nil): throw FleetError(.destinationRefused, "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not.")
        case (nil, _?): throw FleetError(.destinationRefused, "AWS_SECRET_ACCESS_KEY is set, AWS_ACCESS_KEY_ID is not.")
        }
    }

    /// Removes line breaks at both ends, because a variable set from a file often ends with one.
    private func value(_ name: String) throws(FleetError) -> String? {
        let text = environment[name]?.trimmingCharacters(in: .newlines)
        guard let text, !text.isEmpty else { return nil }
        guard S3Credentials.isPossible(text) else {
            throw FleetError(.destinationRefused, "\(name) holds a control character, which no key has.")
        }
        return text
    }
}

/// Keys from the shared credentials file, `~/.aws/credentials`. ``S3CredentialCache`` loads them again when the store
/// refuses them as expired, because other programs renew the file.
struct SharedCredentialsFile: S3CredentialSource {
    private static let mostBytes = 1 << 20

    let path: String
    let profile: String
    /// Whether `AWS_PROFILE` names the profile, which must then exist.
    let isRequired: Bool

    init(environment: [String: String]) {
        // An empty variable counts as one that is not set.
        let set = environment.filter { !$0.value.isEmpty }
        path =
            set["AWS_SHARED_CREDENTIALS_FILE"]
            ?? FilePaths.join(HomeFolder.path(environment), ".aws/credentials")
        profile = set["AWS_PROFILE"] ?? "default"
        isRequired = set["AWS_PROFILE"] != nil
    }

    func load() async throws(FleetError) -> S3Credentials? {
        let bytes: [UInt8]? = try await BlockingExecutor.system.run { [path] () throws(FleetError) in
            try Self.read(path)
        }
        let values = bytes.flatMap { Self.values(String(decoding: $0, as: UTF8.self), profile: profile) }
        guard let values else {
            guard !isRequired else {
                throw FleetError(
                    .destinationRefused,
                    "The profile \(RelativePath.quoted(profile)) (AWS_PROFILE) is not in \(path)."
                )
            }
            return nil
        }
        guard let accessKey = values["aws_access_key_id"], let secretKey = values["aws_secret_access_key"] else {
            guard !isRequired else {
                throw FleetError(
                    .destinationRefused,
                    "The profile \(RelativePath.quoted(profile)) of \(path) has no aws_access_key_id or no "
                        + "aws_secret_access_key; other kinds of profiles are not supported."
                )
            }
            return nil
        }
        guard [accessKey, secretKey, values["aws_session_token"] ?? ""].allSatisfy(S3Credentials.isPossible) else {
            throw FleetError(
                .destinationRefused,
                "The profile \(RelativePath.quoted(profile)) of \(path) holds a control character, which no key has."
            )
        }
        return S3Credentials(
            accessKey: accessKey,
            secretKey: secretKey,
            sessionToken: values["aws_session_token"]
        )
    }

    private static func read(_ path: String) throws(FleetError) -> [UInt8]? {
        do throws(SystemCalls.Errno) {
            let descriptor = try SystemCalls.openFile(path)
            defer { SystemCalls.close(descriptor) }
            var bytes: [UInt8] = []
            _ = try FileHash.read(descriptor, 0..<Int64(mostBytes)) { bytes += $0 }
            return bytes
        } catch  where error.code == ENOENT || error.code == ENOTDIR {
            return nil
        } catch {
            throw FleetError(
                .destinationRefused,
                "The credentials file \(path) cannot be read: \(SystemCalls.describe(errno: error.code))."
            )
        }
    }

    /// Returns the keys and values of a section; `nil` if the file has no such section.
    static func values(_ text: String, profile: String) -> [String: String]? {
        var (found, isInside): ([String: String]?, Bool) = (nil, false)
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("[") {
                let name = line.dropFirst().prefix { $0 != "]" }.trimmingCharacters(in: .whitespaces)
                isInside = name == profile
                if isInside { found = found ?? [:] }
            } else if isInside, let equals = line.firstIndex(of: "=") {
                let key = line[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
                found?[key] = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            }
        }
        return found
    }
}
