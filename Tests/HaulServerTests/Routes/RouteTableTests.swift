import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests the methods of the paths.
@Suite struct RouteTableTests {
    @Test(arguments: [
        (HTTPRequest.Method.delete, "/api/v1/downloads", "GET, HEAD, POST"),
        (.get, "/api/v1/downloads/actions", "POST"), (.head, "/api/v1/downloads/move", "POST"),
        (.put, "/api/v1/downloads/01a20487-d608-77ce-8cf2-0ed7401a7d0e", "DELETE, GET, HEAD, PATCH"),
        (.post, "/metrics", "GET, HEAD"), (.options, "/", "GET, HEAD"), (.post, "/api/v1/events", "GET, HEAD"),
    ])
    func anotherMethodIsRefusedWithThoseThatThePathHas(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ allowed: String
    ) async throws {
        try await ServerRig.run { rig, client in
            let answer = try await client.call(method, path, rig)
            #expect(answer.status == .methodNotAllowed && answer.headers[.allow] == allowed)
            #expect(answer.headers[.contentType] == "application/problem+json")
            if method != .head { #expect(answer.code == "methodNotAllowed") }
            // A path that does not exist is no question of the method.
            let nothing = try await client.call(method, "/nothing", rig)
            #expect(nothing.status == .notFound)
        }
    }

    @Test(arguments: ["/api/v1/downloads", "/api/v1/totals", "/api/v1/configuration", "/livez", "/metrics"])
    func headHasTheFieldsOfGetWithoutContent(_ path: String) async throws {
        try await ServerRig.run { rig, client in
            let whole = try await client.call(.get, path, rig)
            let head = try await client.call(.head, path, rig)
            #expect(head.status == .ok && head.body.readableBytes == 0)
            #expect(head.headers[.contentType] == whole.headers[.contentType])
            #expect(head.headers[.contentLength] != nil)
        }
    }

    @Test func headOfTheEventsEndsAtOnce() async throws {
        try await ServerRig.run { rig, client in
            let head = try await client.call(.head, "/api/v1/events", rig)
            #expect(head.status == .ok && head.headers[.contentType]?.hasPrefix("text/event-stream") == true)
        }
    }
}
