import Foundation
import HTTPTypes
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests the token, sessions, one-time codes, and the check before the routes.
@Suite struct SignInTests {
    private let page: HTTPFields = [.origin: "http://localhost"]

    @Test func theTokenIsMintedOnceIntoAFileThatOnlyItsOwnerReads() throws {
        let folder = try TemporaryFolder()
        let token = try AccessToken(stateFolder: folder.path)
        let again = try AccessToken(stateFolder: folder.path)
        #expect(token.text == again.text && token.text.count == 43 && !again.wasExposed)
        let mode = try FileManager.default.attributesOfItem(atPath: folder("token"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder("token"))
        #expect(try AccessToken(stateFolder: folder.path).wasExposed)
        #expect(try !AccessToken(stateFolder: folder.path).wasExposed)
        #expect(token.isEqual(to: again.text) && !token.isEqual(to: "") && !token.isEqual(to: again.text + "x"))
    }

    @Test func aTokenThatIsALinkOrTooShortIsRefused() throws {
        let folder = try TemporaryFolder()
        try "short\n".write(toFile: folder("token"), atomically: false, encoding: .utf8)
        #expect(throws: ServerError.self) { try AccessToken(stateFolder: folder.path) }
        try FileManager.default.removeItem(atPath: folder("token"))
        try FileManager.default.createSymbolicLink(atPath: folder("token"), withDestinationPath: folder("elsewhere"))
        #expect(throws: ServerError.self) { try AccessToken(stateFolder: folder.path) }
    }

    @Test func aTokenThatCannotBeUsedIsNamedWithWhatToDo() throws {
        let folder = try TemporaryFolder()
        func message() -> String? {
            do throws(ServerError) {
                _ = try AccessToken(stateFolder: folder.path)
                return nil
            } catch { return error.message }
        }
        try FileManager.default.createDirectory(atPath: folder("token"), withIntermediateDirectories: false)
        let ofFolder = try #require(message())
        #expect(ofFolder.contains(folder("token")) && ofFolder.contains("it is no regular file. Move the file away"))
        try FileManager.default.removeItem(atPath: folder("token"))
        for (text, reason) in [
            ("two words of a token", "cannot hold"), (String(repeating: "x", count: 5000), "longer than 4096"),
        ] {
            try text.write(toFile: folder("token"), atomically: false, encoding: .utf8)
            #expect(message()?.contains(reason) == true)
        }
    }

    /// A full disk at the first start leaves an empty token file.
    @Test func anEmptyTokenIsMintedAnew() throws {
        let folder = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder("token")))
        let token = try AccessToken(stateFolder: folder.path)
        #expect(try token.text.count == 43 && AccessToken(stateFolder: folder.path).text == token.text)
        #expect(try token.wasEmpty && !AccessToken(stateFolder: folder.path).wasEmpty)
        let mode = try FileManager.default.attributesOfItem(atPath: folder("token"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func aTokenIsWrittenBesideItsNameFirst() throws {
        let folder = try TemporaryFolder()
        // This file is the leftover of a crash.
        try "half".write(toFile: folder("token.new"), atomically: false, encoding: .utf8)
        let token = try AccessToken(stateFolder: folder.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["token"])
        #expect(throws: SecretFile.Failure.self) { try SecretFile.create(folder("token"), "other") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["token"])
        #expect(try AccessToken(stateFolder: folder.path).text == token.text)
    }

    @Test func aCodeSignsInOnceAndForTenMinutes() {
        let codes = OneTimeCodes()
        let now = Date()
        let code = codes.make(now: now)
        #expect(!codes.redeem("x", now: now))
        #expect(codes.redeem(code, now: now + 599))
        #expect(!codes.redeem(code, now: now + 599))
        #expect(!codes.redeem(codes.make(now: now), now: now + 601))
    }

    @Test func theTwentyFirstWrongTryOfAMinuteIsToldToWait() {
        let (tries, now) = (WrongTries(), Date())
        for _ in 0..<20 { #expect(tries.problem(now: now).status == 401) }
        #expect(tries.problem(now: now + 1).status == 429)
        #expect(tries.problem(now: now + 62).status == 401)
    }

    @Test func theRightTokenIsNeverLockedOut() async throws {
        try await ServerRig.run { rig, client in
            for _ in 0..<25 {
                _ = try await client.send(.get, "/api/v1/totals", [.authorization: "Bearer wrong"])
            }
            #expect(
                try await client.send(.get, "/api/v1/totals", [.authorization: "Bearer wrong"]).status
                    == .tooManyRequests
            )
            #expect(try await client.call(.get, "/api/v1/totals", rig).status == .ok)
        }
    }

    @Test func aSessionWorksByItsCookieUntilItIsSignedOut() async throws {
        try await ServerRig.run { rig, client in
            var fields = page
            fields[.contentType] = "application/json"
            let body = #"{"token": "\#(rig.token)"}"#
            let answer = try await client.send(.post, "/api/v1/session", fields, body: body)
            #expect(answer.status == .noContent)
            let cookie = try #require(answer.headers[.setCookie])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"))
            #expect(!cookie.contains("Secure"))
            var signed = page
            signed[.cookie] = "other=1; " + String(cookie.prefix { $0 != ";" })
            #expect(try await client.send(.get, "/api/v1/downloads", signed).status == .ok)
            #expect(try await client.send(.delete, "/api/v1/session", signed).status == .noContent)
            #expect(try await client.send(.get, "/api/v1/downloads", signed).status == .unauthorized)
        }
    }

    @Test func sessionsSurviveTheProcess() async throws {
        let folder = try TemporaryFolder()
        let logger = ServerRig.silent
        let secret = await Sessions(stateFolder: folder.path, logger: logger).make()
        let later = Sessions(stateFolder: folder.path, logger: logger)
        #expect(await later.session(secret) != nil)
        #expect(await later.session(secret + "x") == nil)
        let saved = try String(contentsOfFile: folder("sessions.json"), encoding: .utf8)
        #expect(!saved.contains(secret))
    }

    /// Every path needs a sign-in unless it holds no data. This applies to unknown paths and to every spelling of a
    /// path.
    @Test(arguments: [
        "/api/v1/downloads", "//api/v1/downloads", "/API/v1/downloads", "/api/v1/downloads/",
        "/api/v1/%2e%2e/downloads",
        "/api/v1/events", "/api/v1/openapi.json", "/metrics", "/nothing", "/livez/", "/livez/../metrics",
        "/index.html/x",
        "/api/v1/session", "/api%5cv1", "/%00", "/.", "/api/v1/configuration",
    ])
    func needsASignIn(_ path: String) async throws {
        try await ServerRig.run { _, client in
            for method in [HTTPRequest.Method.get, .head, .options, .put, .trace] {
                let fields: HTTPFields = [.origin: "http://localhost"]
                let status = try await client.send(method, path, fields).status
                #expect(status == .unauthorized, "\(method) \(path)")
            }
        }
    }

    @Test(arguments: ["/", "/index.html", "/livez", "/readyz", "/health"])
    func isOpen(_ path: String) async throws {
        try await ServerRig.run { _, client in
            let status = try await client.send(.get, path, [:]).status
            #expect(status == .ok)
        }
    }

    @Test(arguments: ["/", "/api/v1/downloads", "/nothing", "/livez"])
    func everyAnswerSaysWhatABrowserMayDo(_ path: String) async throws {
        try await ServerRig.run { rig, client in
            for answer in [try await client.send(.get, path, [:]), try await client.call(.get, path, rig)] {
                let policy = try #require(answer.headers[.contentSecurityPolicy])
                #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                #expect(!policy.contains("unsafe"))
                #expect(answer.headers[.xContentTypeOptions] == "nosniff")
                #expect(answer.headers[try #require(HTTPField.Name("Referrer-Policy"))] == "no-referrer")
                #expect(!answer.headers.contains { $0.name.rawName.lowercased().hasPrefix("access-control") })
            }
        }
    }

    @Test func forwardedFieldsOfAStrangerAreNotBelieved() async throws {
        try await ServerRig.run { rig, client in
            let fields: HTTPFields = [
                .contentType: "application/json", .origin: "https://localhost",
                try #require(.init("X-Forwarded-Proto")): "https", try #require(.init("X-Forwarded-Host")): "localhost",
            ]
            let body = #"{"token": "\#(rig.token)"}"#
            #expect(try await client.send(.post, "/api/v1/session", fields, body: body).status == .forbidden)
        }
    }
}
