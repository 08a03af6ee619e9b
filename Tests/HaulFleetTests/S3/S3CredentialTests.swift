import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

@Suite struct S3CredentialTests {
    private static let answer = """
        {"Code": "Success", "AccessKeyId": "ASIA", "SecretAccessKey": "s/+=", "Token": "t", "Expiration": "2030-01-01T00:00:00Z"}
        """

    private func value(_ environment: [String: String]) async throws(FleetError) -> S3Credentials {
        var environment = environment
        // The test must not read the metadata service if it runs on EC2.
        if environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == nil { environment["AWS_EC2_METADATA_DISABLED"] = "true" }
        return try await S3CredentialCache(environment: environment).credentials()
    }

    @Test func `The environment comes first, with and without a token`() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder("credentials")
            try "[default]\naws_access_key_id=F\naws_secret_access_key=G\n".write(
                toFile: file,
                atomically: true,
                encoding: .utf8
            )
            var environment = [
                "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_SHARED_CREDENTIALS_FILE": file,
            ]
            #expect(try await value(environment) == S3Credentials(accessKey: "A", secretKey: "B"))
            environment["AWS_SESSION_TOKEN"] = "C"
            #expect(try await value(environment) == S3Credentials(accessKey: "A", secretKey: "B", sessionToken: "C"))
            environment["AWS_ACCESS_KEY_ID"] = ""
            await #expect(throws: FleetError.self) { try await value(environment) }
            environment["AWS_SECRET_ACCESS_KEY"] = nil
            #expect(try await value(environment).accessKey == "F")
        }
    }

    @Test
    func `A line break behind a key is not of the key, and one within it is refused with the name of the variable`()
        async throws
    {
        let keys = try await value(["AWS_ACCESS_KEY_ID": "AKID\n", "AWS_SECRET_ACCESS_KEY": "s/+= \r\n"])
        #expect(keys.accessKey == "AKID" && keys.secretKey == "s/+= ")
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] {
            var environment = ["AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "topsecret"]
            environment[name] = "topsecret\nX-Other: a"
            let error = await #expect(throws: FleetError.self) { try await value(environment) }
            #expect(error?.message.hasPrefix(name) == true && error?.message.contains("topsecret") == false)
        }
    }

    @Test func `The shared file is read by profile, with comments, spaces and foreign lines`() async throws {
        let text = """
            # comment
            [default]
            region = x
            [ work ]
            aws_access_key_id = A=B
            AWS_SECRET_ACCESS_KEY=c/d+e==
            nonsense
            ; other
            aws_session_token =  tok
            [empty]
            """
        try await TemporaryFolder.with { folder in
            let file = folder("credentials")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let environment = ["AWS_SHARED_CREDENTIALS_FILE": file]
            let found = try await value(environment.merging(["AWS_PROFILE": "work"]) { $1 })
            #expect(found == S3Credentials(accessKey: "A=B", secretKey: "c/d+e==", sessionToken: "tok"))
            for profile in ["empty", "missing", "default"] {
                let error = await #expect(throws: FleetError.self) {
                    try await value(environment.merging(["AWS_PROFILE": profile]) { $1 })
                }
                #expect(error?.message.contains(profile) == true)
            }
            let none = await #expect(throws: FleetError.self) { try await value(environment) }
            #expect(none?.message.contains("No credentials") == true)
            // Tries a file that is not text, and a folder.
            try Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 7) }).write(to: URL(fileURLWithPath: file))
            await #expect(throws: FleetError.self) { try await value(environment) }
            await #expect(throws: FleetError.self) { try await value(["AWS_SHARED_CREDENTIALS_FILE": folder.path]) }
        }
    }

    @Test func `A machine's role is asked for with a token of the second version`() async throws {
        let server = try await TestServer.start { request in
            switch (request.method, request.path) {
            case ("PUT", "/latest/api/token"):
                request["x-aws-ec2-metadata-token-ttl-seconds"] == "21600" ? .text("the-token") : .empty(400, "Bad")
            case ("GET", _) where request["x-aws-ec2-metadata-token"] != "the-token": .empty(401, "Unauthorized")
            case ("GET", "/latest/meta-data/iam/security-credentials/"): .text("my-role\n")
            case ("GET", "/latest/meta-data/iam/security-credentials/my-role"): .text(Self.answer)
            default: .empty(404, "Not Found")
            }
        }
        let environment = [
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url(""), "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            "AWS_METADATA_SERVICE_TIMEOUT": "600",
        ]
        let keys = try await value(environment)
        #expect(keys.accessKey == "ASIA" && keys.secretKey == "s/+=" && keys.sessionToken == "t")
        #expect(keys.expires == Date(timeIntervalSince1970: 1_893_456_000))
        await server.stop()
    }

    @Test func `A container's keys are asked for with its token`() async throws {
        let server = try await TestServer.start { request in
            request["Authorization"] == "Bearer x" ? .text(Self.answer) : .empty(403, "Forbidden")
        }
        try await TemporaryFolder.with { folder in
            try "Bearer x\n".write(toFile: folder("token"), atomically: true, encoding: .utf8)
            var environment = [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url("/keys?a=b"),
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": folder("token"),
                "AWS_METADATA_SERVICE_TIMEOUT": "600",
                "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            ]
            #expect(try await value(environment).accessKey == "ASIA")
            #expect(server.requests.last?.target == "/keys?a=b")
            environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = nil
            await #expect(throws: FleetError.self) { try await value(environment) }
            // Refuses to fetch keys over plain HTTP from another machine.
            environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://192.0.2.1/keys"
            let error = await #expect(throws: FleetError.self) { try await value(environment) }
            #expect(error?.message.contains("https") == true)
        }
        await server.stop()
    }

    @Test(arguments: ["silence", "nonsense", "endless"])
    func `A service that answers nothing of use is given up within seconds and not quoted`(kind: String) async throws {
        let server = try await TestServer.start { request in
            switch kind {
            case "silence": TestReply([.stall])
            case "nonsense": .text("{\"AccessKeyId\": \"half a secret\"")
            default:
                TestReply([
                    .head(status: 200, reason: "OK", headers: [("Content-Length", "999999999")]),
                    .body(0..<999_999_999, of: TestContent(count: 999_999_999)),
                ])
            }
        }
        let environment = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url("/"), "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        ]
        let error = await #expect(throws: FleetError.self) { try await value(environment) }
        #expect(error?.message.contains("half") == false)
        await server.stop()
    }

    @Test func `Keys are asked for again five minutes before they end, once however many wait`() async throws {
        let source = ExpiringCredentials()
        let box = ClockBox(Date(timeIntervalSince1970: 1000))
        let cache = S3CredentialCache([source]) { box.now }
        func load() async throws -> Set<String> {
            try await withThrowingTaskGroup { group in
                for _ in 0..<50 { group.addTask { try await cache.credentials().accessKey } }
                return try await group.reduce(into: []) { $0.insert($1) }
            }
        }
        #expect(try await load() == ["key-1"])
        box.now = Date(timeIntervalSince1970: 1000 + 3600 - 301)
        #expect(try await load() == ["key-1"])
        box.now = Date(timeIntervalSince1970: 1000 + 3600 - 299)
        #expect(try await load() == ["key-2"])
        #expect(source.loads == 2)
        // The service fails now, so the cache uses the old keys until they expire.
        source.fail()
        box.now = Date(timeIntervalSince1970: 1000 + 7200 - 10)
        #expect(try await load() == ["key-2"])
        box.now = Date(timeIntervalSince1970: 1000 + 7200 + 10)
        await #expect(throws: FleetError.self) { _ = try await cache.credentials() }
    }
}

final class ClockBox: Sendable {
    private let clock: Mutex<Date>

    init(_ now: Date) { clock = Mutex(now) }

    var now: Date {
        get { clock.withLock { $0 } }
        set { clock.withLock { $0 = newValue } }
    }
}

/// Returns keys that each expire a fixed hour after the previous ones.
final class ExpiringCredentials: S3CredentialSource {
    private let state = Mutex((loads: 0, fails: false))

    var loads: Int { state.withLock { $0.loads } }
    func fail() { state.withLock { $0.fails = true } }

    func load() throws(FleetError) -> S3Credentials? {
        let number = state.withLock { state -> Int? in
            guard !state.fails else { return nil }
            state.loads += 1
            return state.loads
        }
        guard let number else { throw FleetError(.destinationUnreachable, "The service does not answer.") }
        return S3Credentials(
            accessKey: "key-\(number)",
            secretKey: "s",
            expires: Date(timeIntervalSince1970: 1000 + 3600 * Double(number))
        )
    }
}
