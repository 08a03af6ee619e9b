internal import Foundation
internal import HaulKit
internal import NIOHTTP1

/// Keys of a container, from the URL in `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or
/// `AWS_CONTAINER_CREDENTIALS_FULL_URI`.
struct ContainerCredentials: S3CredentialSource {
    private static let service = "The container's credentials service"

    let environment: [String: String]
    var host = "http://169.254.170.2"

    func load() async throws(FleetError) -> S3Credentials? {
        guard let url = try url() else { return nil }
        var headers: [(String, String)] = []
        if let token = try await token() { headers.append(("Authorization", token)) }
        let service = MetadataService(environment)
        guard let answer = await service.ask(.GET, url, headers: headers) else {
            throw FleetError(.destinationUnreachable, "\(Self.service) does not answer.")
        }
        guard answer.status == 200 else {
            throw FleetError(
                answer.status >= 500 || answer.status == 429 ? .destinationUnreachable : .destinationRefused,
                "\(Self.service) answered \(answer.status)."
            )
        }
        return try MetadataService.credentials(answer.body, from: Self.service)
    }

    private func url() throws(FleetError) -> String? {
        if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"], path.hasPrefix("/") { return host + path }
        guard let text = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"], !text.isEmpty else { return nil }
        let url = URLComponents(string: text)
        let plain = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "127.0.0.1", "[::1]", "localhost"]
        guard let url, url.scheme == "https" || (url.scheme == "http" && plain.contains(url.host ?? "")) else {
            throw FleetError(
                .destinationRefused,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https URL, or an http URL of this machine."
            )
        }
        return text
    }

    private func token() async throws(FleetError) -> String? {
        guard let path = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"], !path.isEmpty else {
            return environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        }
        return try await BlockingExecutor.system.run { () throws(FleetError) in
            do throws(SystemCalls.Errno) {
                let descriptor = try SystemCalls.openFile(path)
                defer { SystemCalls.close(descriptor) }
                var bytes: [UInt8] = []
                _ = try FileHash.read(descriptor, 0..<(16 << 10)) { bytes += $0 }
                return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            } catch {
                throw FleetError(
                    .destinationRefused,
                    "The file \(path) (AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE) cannot be read: "
                        + "\(SystemCalls.describe(errno: error.code))."
                )
            }
        }
    }
}

/// Keys of a machine's role, from version 2 of Amazon's instance metadata service.
struct InstanceCredentials: S3CredentialSource {
    private static let service = "The instance metadata service"

    let environment: [String: String]

    func load() async throws(FleetError) -> S3Credentials? {
        guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        var base =
            environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"].flatMap { $0.isEmpty ? nil : $0 }
            ?? "http://169.254.169.254"
        while base.hasSuffix("/") { base.removeLast() }
        let service = MetadataService(environment)
        let token = await service.ask(
            .PUT,
            base + "/latest/api/token",
            headers: [("x-aws-ec2-metadata-token-ttl-seconds", "21600")]
        )
        guard let token, token.status == 200 else { return nil }
        let headers = [("x-aws-ec2-metadata-token", String(decoding: token.body, as: UTF8.self))]
        let roles = base + "/latest/meta-data/iam/security-credentials/"
        guard let answer = await service.ask(.GET, roles, headers: headers) else { throw Self.silent }
        // The service answers 404 on a machine without a role. Any other error status also counts as no keys.
        guard answer.status == 200 else { return nil }
        let role = String(decoding: answer.body, as: UTF8.self).split(whereSeparator: \.isNewline).first
        guard let role else { return nil }
        guard let keys = await service.ask(.GET, roles + S3Encoding.value(String(role)), headers: headers) else {
            throw Self.silent
        }
        guard keys.status == 200 else {
            throw FleetError(.destinationUnreachable, "\(Self.service) answered \(keys.status) for the machine's role.")
        }
        return try MetadataService.credentials(keys.body, from: Self.service)
    }

    private static var silent: FleetError { FleetError(.destinationUnreachable, "\(service) does not answer.") }
}

extension S3CredentialCache {
    /// Asks the sources in the usual order: environment, shared file, container, machine.
    init(environment: [String: String]) {
        self.init([
            EnvironmentCredentials(environment: environment), SharedCredentialsFile(environment: environment),
            ContainerCredentials(environment: environment), InstanceCredentials(environment: environment),
        ])
    }
}
