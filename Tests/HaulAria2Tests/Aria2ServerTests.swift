import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite("HTTP of aria2's RPC", .timeLimit(.minutes(60))) struct Aria2ServerTests {
    private static let call = #"{"jsonrpc":"2.0","id":"a","method":"aria2.getSessionInfo","params":["token:s"]}"#

    @Test("a POST of any content type is answered as aria2 answers it")
    func posts() async throws {
        try await Aria2ServerRig.run {
            $0.secret = "s"
        } _: { rig in
            for fields in [[], ["Content-Type: application/x-www-form-urlencoded"]] {
                let answer = try await rig.request("POST", "/jsonrpc", fields, body: Self.call)
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(answer.contains("Content-Type: application/json-rpc\r\n"))
                #expect(answer.contains(#"{"id":"a","jsonrpc":"2.0","result":{"sessionId":""#))
                #expect(!answer.contains("Access-Control"))
            }
            let xml = "<methodCall><methodName>system.listMethods</methodName></methodCall>"
            let answer = try await rig.request("POST", "/rpc", body: xml)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains("Content-Type: text/xml\r\n"))
            #expect(answer.contains("<string>aria2.addUri</string>"))
            // ["token:s"]
            let script = try await rig.request(
                "GET",
                "/jsonrpc?method=aria2.getVersion&id=x&params=WyJ0b2tlbjpzIl0%3D&jsoncallback=cb"
            )
            #expect(script.contains("Content-Type: text/javascript\r\n") && script.contains("\r\n\r\ncb({\"id\":\"x\""))
            #expect(try await rig.request("GET", "/").hasPrefix("HTTP/1.1 404"))
            #expect(try await rig.request("PUT", "/jsonrpc", body: "x").hasPrefix("HTTP/1.1 404"))
        }
    }

    @Test("a connection is kept for further requests, and ends after an error")
    func keepsConnections() async throws {
        try await Aria2ServerRig.run { rig in
            let body = #"{"id":1,"method":"system.listMethods"}"#
            let one = "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let wrong = "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"
            let answers = try await rig.exchange(one + one + wrong)
            #expect(answers.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
            #expect(answers.contains("HTTP/1.1 500") && answers.contains("Connection: close"))
        }
    }

    @Test("a missing or wrong token is unauthorized, over every door")
    func tokens() async throws {
        try await Aria2ServerRig.run {
            $0.secret = "s"
        } _: { rig in
            let without = #"{"id":1,"method":"aria2.tellActive"}"#
            for body in [without, #"{"id":1,"method":"aria2.tellActive","params":["token:S"]}"#] {
                let answer = try await rig.request("POST", "/jsonrpc", body: body)
                #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains(#""message":"Unauthorized""#))
            }
            let query = try await rig.request("GET", "/jsonrpc?method=aria2.tellActive&id=1")
            #expect(query.contains("Unauthorized"))
        }
    }

    private func status(_ rig: Aria2ServerRig, _ fields: [String] = [], host: String = "127.0.0.1") async throws
        -> String
    {
        String(try await rig.request("POST", "/jsonrpc", fields, host: host, body: Self.call).dropFirst(9).prefix(3))
    }

    @Test("pages of other sites and other host names are refused")
    func originsAndHosts() async throws {
        try await Aria2ServerRig.run {
            $0.allowedHosts = ["nas"]
        } _: { rig in
            let plain = try await status(rig)
            #expect(plain == "200")
            #expect(try await status(rig, host: "nas:6800") == "200")
            #expect(try await status(rig, host: "evil.example") == "421")
            #expect(try await status(rig, ["Origin: http://evil.example"]) == "403")
            #expect(try await status(rig, ["Origin: null"]) == "403")
            #expect(try await status(rig, ["Origin: http://127.0.0.1"]) == "200")
            #expect(try await status(rig, ["Sec-Fetch-Site: cross-site"]) == "403")
            #expect(try await status(rig, ["Host: other"]) == "400")
            #expect(try await rig.exchange("GET /jsonrpc HTTP/1.1\r\n\r\n").contains(" 400 "))
        }
    }

    @Test("configured origins may read answers, and are told so before they ask")
    func allowedOrigins() async throws {
        let wanted = [
            "Origin: https://a.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x",
        ]
        try await Aria2ServerRig.run {
            $0.allowedOrigins = ["https://a.example"]
        } _: { rig in
            let preflight = try await rig.request("OPTIONS", "/jsonrpc", wanted)
            #expect(preflight.hasPrefix("HTTP/1.1 200 OK\r\n"))
            for field in [
                "Access-Control-Allow-Origin: https://a.example", "Access-Control-Allow-Methods: POST, GET, OPTIONS",
                "Access-Control-Max-Age: 1728000", "Access-Control-Allow-Headers: x",
            ] { #expect(preflight.contains(field + "\r\n")) }
            let answer = try await rig.request("POST", "/jsonrpc", [wanted[0]], body: Self.call)
            #expect(answer.contains(" 200 ") && answer.contains("Access-Control-Allow-Origin: https://a.example"))
            #expect(try await rig.request("OPTIONS", "/jsonrpc", ["Origin: https://b.example"]).contains(" 403 "))
        }
        try await Aria2ServerRig.run {
            $0.allowedOrigins = ["*"]
        } _: { rig in
            let answer = try await rig.request("POST", "/jsonrpc", wanted, body: Self.call)
            #expect(answer.contains(" 200 ") && answer.contains("Access-Control-Allow-Origin: *\r\n"))
        }
    }

    @Test("a request over the limit is refused before its body has come")
    func largeRequests() async throws {
        try await Aria2ServerRig.run {
            $0.maxRequestBytes = 10_000
        } _: { rig in
            let announced = try await rig.exchange(
                "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nx"
            )
            #expect(announced.hasPrefix("HTTP/1.1 413"))
            let chunk = "2000\r\n" + String(repeating: " ", count: 8192) + "\r\n"
            let chunked = try await rig.exchange(
                "POST /rpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)\(chunk)"
            )
            #expect(chunked.hasPrefix("HTTP/1.1 413"))
            #expect(try await rig.request("POST", "/jsonrpc", body: Self.call).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("a download is added outside its folder by neither its folder nor its name")
    func confinement() async throws {
        try await Aria2ServerRig.run { rig in
            for options in [
                #"{"dir":"/etc"}"#, #"{"dir":"/"}"#, #"{"out":"../x"}"#, #"{"out":"/etc/x"}"#, #"{"out":"a/../../x"}"#,
                #"{"dir":"../.."}"#,
            ] {
                let call = #"{"id":1,"method":"aria2.addUri","params":[["http://127.0.0.1:1/x"],\#(options)]}"#
                let answer = try await rig.request("POST", "/jsonrpc", body: call)
                #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains(#""code":1"#), "\(options): \(answer)")
            }
            let change = #"{"id":1,"method":"aria2.changeGlobalOption","params":[{"dir":"/etc"}]}"#
            #expect(try await rig.request("POST", "/jsonrpc", body: change).hasPrefix("HTTP/1.1 400"))
            #expect(try await rig.session.downloader.count() == 0)
        }
    }
}

@Suite("WebSockets of aria2's RPC", .timeLimit(.minutes(60))) struct Aria2SocketTests {
    private static let call = #"{"id":"a","method":"aria2.getVersion","params":["token:s"]}"#

    @Test("a socket answers calls and batches, whole or in fragments, and pings")
    func calls() async throws {
        try await Aria2ServerRig.run {
            $0.secret = "s"
        } _: { rig in
            try await Aria2Wire.with(rig.port) { wire in
                let head = try await wire.shakeHands()
                #expect(head.hasPrefix("HTTP/1.1 101") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
                try await wire.send(.text, Self.call)
                #expect(try await wire.frame().text.hasPrefix(#"{"id":"a","jsonrpc":"2.0","result":"#))
                try await wire.send(.text, String(Self.call.prefix(5)), isFinal: false)
                try await wire.send(.ping, "p")
                try await wire.send(.more, String(Self.call.dropFirst(5)))
                let pong = try await wire.frame()
                #expect(pong.opcode == .pong && pong.text == "p")
                #expect(try await wire.frame().text.contains(#""version":"1.37.0""#))
                try await wire.send(.text, "[\(Self.call),\(Self.call)]")
                #expect(try await wire.frame().text.hasPrefix("[{"))
                try await wire.send(.text, "{")
                #expect(try await wire.frame().text.contains("-32700"))
                try await wire.send(.close, "\u{3}\u{E8}")
                #expect(try await wire.frame().opcode == .close)
                #expect(try await wire.rest() == "")
            }
        }
    }

    @Test("a socket is told of downloads once it has shown the secret")
    func notifications() async throws {
        try await Aria2ServerRig.run {
            $0.secret = "s"
        } _: { rig in
            try await Aria2Wire.with(rig.port) { stranger in
                _ = try await stranger.shakeHands()
                try await Aria2Wire.with(rig.port) { byQuery in
                    _ = try await byQuery.shakeHands("/jsonrpc?token=s")
                    try await Aria2Wire.with(rig.port) { byCall in
                        _ = try await byCall.shakeHands()
                        try await byCall.send(.text, Self.call)
                        _ = try await byCall.frame()
                        let gid = try await rig.session.add("a")
                        try await rig.session.wait(gid, for: "active")
                        func text(_ name: String) -> String {
                            #"{"jsonrpc":"2.0","method":"aria2.onDownload\#(name)","params":[{"gid":"\#(gid)"}]}"#
                        }
                        try await rig.session.call("pause", .text(gid))
                        try await rig.session.call("unpause", .text(gid))
                        rig.session.script.step()
                        rig.session.script.step()
                        for name in ["Start", "Pause", "Start", "Complete"] {
                            #expect(try await byCall.frame().text == text(name))
                            #expect(try await byQuery.frame().text == text(name))
                        }
                    }
                }
                try await stranger.send(.text, Self.call)
                #expect(try await stranger.frame().text.contains("1.37.0"))
            }
        }
    }

    @Test("failures and removals are told, and without a secret to everyone")
    func otherNotifications() async throws {
        try await Aria2ServerRig.run { rig in
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try rig.session.script.respond(to: "https://example.org/gone", with: .status(404))
                _ = try await rig.session.call("addUri", ["https://example.org/gone"])
                #expect(try await wire.frame().text.contains("onDownloadStart"))
                #expect(try await wire.frame().text.contains("onDownloadError"))
                let gid = try await rig.session.add("b")
                try await rig.session.wait(gid, for: "active")
                try await rig.session.call("remove", .text(gid))
                #expect(try await wire.frame().text.contains("onDownloadStart"))
                #expect(try await wire.frame().text.contains("onDownloadStop"))
            }
        }
    }

    @Test("a new connection takes the place of one without a whole request, and of a socket without a token")
    func placesRunOut() async throws {
        try await Aria2ServerRig.run {
            ($0.secret, $0.maxConnections) = ("s", 3)
        } _: { rig in
            try await Aria2Wire.with(rig.port) { half in
                try await half.send(
                    "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90\r\nExpect: 100-continue\r\n\r\n{"
                )
                #expect(try await half.head().hasPrefix("HTTP/1.1 100"))
                try await Aria2Wire.with(rig.port) { stranger in
                    _ = try await stranger.shakeHands()
                    try await Aria2Wire.with(rig.port) { known in
                        _ = try await known.shakeHands()
                        try await known.send(.text, Self.call)
                        #expect(try await known.frame().text.contains("1.37.0"))
                        try await Aria2Wire.with(rig.port) { next in
                            #expect(try await next.shakeHands("/jsonrpc?token=s").hasPrefix("HTTP/1.1 101"))
                            #expect(try await half.rest() == "")
                            let answer = try await rig.request("POST", "/jsonrpc", body: Self.call)
                            #expect(answer.hasPrefix("HTTP/1.1 200"))
                            #expect(try await stranger.rest() == "")
                            try await next.send(.text, Self.call)
                            #expect(try await next.frame().text.contains("1.37.0"))
                        }
                        try await known.send(.text, Self.call)
                        #expect(try await known.frame().text.contains("1.37.0"))
                    }
                }
            }
        }
    }

    @Test("a handshake of another version, or without the words for one, is no call")
    func oddHandshakes() async throws {
        try await Aria2ServerRig.run { rig in
            try await Aria2Wire.with(rig.port) { wire in
                let head = try await wire.shakeHands(version: "8")
                #expect(head.hasPrefix("HTTP/1.1 426") && head.contains("\r\nSec-WebSocket-Version: 13\r\n"))
            }
            try await Aria2Wire.with(rig.port) { wire in
                let head = try await wire.shakeHands(connection: "keep-alive")
                #expect(head.hasPrefix("HTTP/1.1 400"))
            }
        }
    }

    @Test("handshakes of other sites and of other paths are refused")
    func refusesHandshakes() async throws {
        try await Aria2ServerRig.run { rig in
            for (target, fields, status) in [
                ("/jsonrpc", ["Origin: http://evil.example"], "403"), ("/rpc", [], "404"),
                ("/jsonrpc", ["Host: b"], "400"),
            ] {
                try await Aria2Wire.with(rig.port) { wire in
                    let head = try await wire.shakeHands(target, fields)
                    #expect(head.dropFirst(9).hasPrefix(status), "\(head)")
                }
            }
        }
    }

    @Test("frames without a mask, too large, or of bytes end the socket")
    func refusesFrames() async throws {
        try await Aria2ServerRig.run {
            $0.maxRequestBytes = 1000
        } _: { rig in
            let large = String(repeating: " ", count: 900)
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, "[]", isMasked: false)
                #expect(try await wire.closeCode() == 1002)
                #expect(try await wire.rest() == "")
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, bytes: Array("[]".utf8), reserved: 0x40)
                #expect(try await wire.closeCode() == 1002)
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, bytes: [0x22, 0xFF, 0x22])
                #expect(try await wire.closeCode() == 1007)
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, large, isFinal: false)
                try await wire.send(.more, large)
                #expect(try await wire.frame().opcode == .close)
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, large + large)
                #expect(try await wire.frame().opcode == .close)
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.binary, "[]")
                #expect(try await wire.frame().opcode == .close)
            }
        }
    }

    @Test("a client that reads nothing is let go, and others go on")
    func unreadNotifications() async throws {
        try await Aria2ServerRig.run { rig in
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                let gid = GID.random()
                // The client reads nothing, so the socket buffers fill first and then the server's own buffer.
                for _ in 0..<400_000 { rig.session.session.notifications.tell(.start, gid) }
                try await Aria2Wire.with(rig.port) { other in
                    _ = try await other.shakeHands()
                    try await other.send(.text, Self.call)
                    #expect(try await other.frame().text.contains("1.37.0"))
                }
            }
        }
    }
}
