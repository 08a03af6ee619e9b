import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

/// Tests how many bytes the server keeps for clients that have not sent the secret.
@Suite("received bytes of aria2's RPC", .timeLimit(.minutes(60))) struct Aria2ReceivedBytesTests {
    private static let call = #"{"id":"a","method":"aria2.getVersion","params":["token:s"]}"#
    private static let half = String(repeating: " ", count: 9000)
    /// Bytes that the server counts for each message in addition to its content.
    private static let overhead = 256

    /// Starts a server with room for three halves but not for four.
    private func run(
        delay: Duration = .zero,
        configure: (inout Aria2ServerConfiguration) -> Void = { _ in },
        _ body: (Aria2ServerRig) async throws -> Void
    ) async throws {
        try await Aria2ServerRig.run(delay: delay) {
            ($0.secret, $0.maxRequestBytes, $0.maxReceivedBytes) = ("s", 10_000, 30_000)
            configure(&$0)
        } _: { rig in
            try await body(rig)
        }
    }

    private func isAnswered(_ rig: Aria2ServerRig) async throws -> Bool {
        try await Aria2Wire.with(rig.port) { wire in
            _ = try await wire.shakeHands()
            try await wire.send(.text, Self.call)
            return try await wire.frame().text.contains("1.37.0")
        }
    }

    @Test("unfinished messages count, and are given back when their sockets end")
    func unfinishedMessages() async throws {
        try await run { rig in
            try await Aria2Wire.with(rig.port) { first in
                _ = try await first.shakeHands()
                try await first.send(.text, Self.half, isFinal: false)
                try await Aria2Wire.with(rig.port) { second in
                    _ = try await second.shakeHands()
                    for _ in 0..<3 { try await second.send(.text, Self.call) }
                    for _ in 0..<3 { _ = try await second.frame() }
                    try await second.send(.text, "", isFinal: false)
                    for _ in 0..<90 { try await second.send(.more, String(repeating: " ", count: 100), isFinal: false) }
                    await rig.receives(2 * (9000 + Self.overhead))
                    try await Aria2Wire.with(rig.port) { third in
                        _ = try await third.shakeHands()
                        try await third.send(.text, Self.half, isFinal: false)
                        await rig.receives(3 * (9000 + Self.overhead))
                        try await Aria2Wire.with(rig.port) { fourth in
                            _ = try await fourth.shakeHands()
                            try await fourth.send(.text, Self.half, isFinal: false)
                            #expect(try await fourth.closeCode() == 1013)
                        }
                        await rig.receives(3 * (9000 + Self.overhead))
                    }
                    await rig.receives(2 * (9000 + Self.overhead))
                }
                await rig.receives(9000 + Self.overhead)
                try await first.send(.more, Self.call)
                #expect(try await first.frame().text.contains("1.37.0"))
                await rig.receives(0)
            }
            #expect(try await isAnswered(rig))
        }
    }

    @Test("unfinished frames count")
    func unfinishedFrames() async throws {
        // The head of a frame of 9,900 bytes, and 9,000 of those bytes.
        let part = [0x81, 0xFE, 0x26, 0xAC, 1, 2, 3, 4] + [UInt8](repeating: 0, count: 9000)
        try await run { rig in
            try await Aria2Wire.with(rig.port) { first in
                _ = try await first.shakeHands()
                try await first.send(bytes: part)
                try await Aria2Wire.with(rig.port) { second in
                    _ = try await second.shakeHands()
                    try await second.send(bytes: part)
                    try await Aria2Wire.with(rig.port) { third in
                        _ = try await third.shakeHands()
                        try await third.send(bytes: part)
                        await rig.receives(3 * part.count)
                        try await Aria2Wire.with(rig.port) { fourth in
                            _ = try await fourth.shakeHands()
                            try await fourth.send(bytes: part)
                            #expect(try await fourth.closeCode() == 1013)
                        }
                        let body = try await rig.request("POST", "/jsonrpc", body: Self.half)
                        #expect(body.hasPrefix("HTTP/1.1 503"))
                    }
                }
            }
            await rig.receives(0)
            #expect(try await isAnswered(rig))
        }
    }

    @Test("messages that wait for the answer to a wrong token count")
    func waitingMessages() async throws {
        try await run(delay: .seconds(3600)) { rig in
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                let wrong = #"{"id":"a","method":"aria2.getVersion","params":["token:x"]}"#
                try await wire.send(.text, wrong)
                // The server does not keep the first message while its answer is delayed.
                await rig.receives(0)
                for count in 1...3 {
                    try await wire.send(.text, Self.half)
                    await rig.receives(count * (9000 + Self.overhead))
                }
                try await wire.send(.text, Self.half)
                #expect(try await wire.closeCode() == 1013)
            }
            await rig.receives(0)
            #expect(try await isAnswered(rig))
        }
    }

    @Test("a message that does not come to its end ends its socket", arguments: [true, false])
    func slowMessages(_ isWholeFrame: Bool) async throws {
        try await run {
            $0.secondsToBody = 0
        } _: { rig in
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                if isWholeFrame {
                    try await wire.send(.text, Self.half, isFinal: false)
                } else {
                    try await wire.send(bytes: [0x81, 0xFE, 0x26])
                }
                #expect(try await wire.rest() == "")
            }
            await rig.receives(0)
        }
    }

    @Test("fragments that do not belong together end the socket")
    func oddFragments() async throws {
        try await run { rig in
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.more, "[]")
                #expect(try await wire.closeCode() == 1002)
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, "[", isFinal: false)
                try await wire.send(.text, "]")
                #expect(try await wire.closeCode() == 1002)
            }
            try await Aria2Wire.with(rig.port) { wire in
                _ = try await wire.shakeHands()
                try await wire.send(.text, Self.half, isFinal: false)
                try await wire.send(.more, Self.half)
                #expect(try await wire.closeCode() == 1009)
            }
            await rig.receives(0)
        }
    }
}
