import Foundation
import HaulTesting
import Testing

/// Runs `haul get` in its own network namespace, whose only cable is pulled and put back.
@Suite(.timeLimit(.minutes(60)), .enabled(if: Cable.isPossible, "network namespaces need root and iproute2"))
struct CutCableTests {
    private static let content = TestContent(seed: 9, count: 3_000_000)
    private let haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    /// Runs `haul get` in the namespace and pulls the cable in the middle of the download. Puts the cable back once the
    /// command reports that it waits, and returns the output.
    private func run(_ words: [String]) async throws -> (status: Int32, printed: String, asked: Int) {
        let cable = try Cable()
        let hold = BodyHold(after: 600_000)
        let server = try await TestServer.start(host: cable.here) { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            hold.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
        let printed = folder("printed")
        let url = "http://\(cable.here):\(server.port)/file.bin"
        let script = "exec ip netns exec \"$0\" \"$1\" get -c1 --timeout 9000 \"${@:4}\" -d \"$2\" \(url) > \"$3\" 2>&1"
        let process = try haul.start(
            ["-c", script, cable.name, HaulCommand.path, folder.path, printed] + words,
            as: "/bin/bash"
        )
        try await until(folder("file.bin.haulpart"), beginsWith: 600_000, of: Self.content)
        try cable.pull()
        try await until(printed, holds: words.contains("--json") ? "\"offline\"" : "Waiting for the network.")
        #expect(try folder.names.contains("file.bin.haulpart"))
        hold.release()
        try cable.putBack()
        let result = await process.result()
        let asked = server.requests.count
        await server.stop()
        return (result.status, try String(contentsOfFile: printed, encoding: .utf8), asked)
    }

    @Test func waitsForTheNetworkAndGoesOnWhereItWas() async throws {
        let (status, printed, asked) = try await run(["--wait-for-network"])
        #expect(status == 0, "\(printed)")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(asked == 2)
        #expect(printed.split(separator: "\n").filter { $0.contains("Waiting for the network.") }.count == 1)
    }

    @Test func saysSoInItsEventsOnce() async throws {
        struct Line: Decodable {
            var event: String
            var state: String?
            var hold: String?
        }
        let (status, printed, _) = try await run(["--wait-for-network", "--json"])
        #expect(status == 0, "\(printed)")
        let states = try printed.split(separator: "\n")
            .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }.filter { $0.event == "changed" }
        #expect(states.filter { $0.state == "paused" }.map(\.hold) == ["offline"])
        #expect(states.last?.state == "completed")
    }
}

/// A network namespace with a cable to this machine. Needs root.
private final class Cable: Sendable {
    let name = "haul-\(UUID().uuidString.prefix(8))"
    private var near: String { "h" + name.dropFirst(5) }
    /// Address of this machine's end, from a network reserved for documentation (RFC 5737).
    let here: String
    private let there: String

    /// Blackhole route for the other end. While the link is down, it keeps packets from the default route.
    private let blackhole: [String]

    static let isPossible = geteuid() == 0 && (try? Cable()) != nil

    init() throws {
        let number = try Self.takeNetwork()
        (here, there) = ("203.0.113.\(number + 1)", "203.0.113.\(number + 2)")
        blackhole = Self.blackhole(number)
        do {
            try SystemCommand.run("ip", "netns", "add", name)
            try SystemCommand.run(
                ["ip", "link", "add", near, "type", "veth", "peer", "name", "eth0", "netns", name]
            )
            try SystemCommand.run("ip", "address", "add", here + "/30", "dev", near)
            try SystemCommand.run("ip", "link", "set", near, "up")
            try SystemCommand.run("ip", "-n", name, "address", "add", there + "/30", "dev", "eth0")
            for device in ["lo", "eth0"] { try SystemCommand.run("ip", "-n", name, "link", "set", device, "up") }
        } catch {
            remove()
            throw error
        }
    }

    /// Returns a route whose metric is higher than that of the link's route, so the link's route wins while the link is
    /// up.
    private static func blackhole(_ number: Int) -> [String] {
        ["blackhole", "203.0.113.\(number)/30", "metric", "4096"]
    }

    /// Adds the blackhole route of a network that no other cable uses. The kernel refuses a second route for the same
    /// network.
    ///
    /// - Returns: The last number of the network's address.
    private static func takeNetwork() throws -> Int {
        var failure: (any Error)?
        for number in (0..<60).shuffled().map({ $0 * 4 }) {
            do {
                try SystemCommand.run(["ip", "route", "add"] + blackhole(number))
                return number
            } catch { failure = error }
        }
        throw failure ?? CocoaError(.featureUnsupported)
    }

    // The cable is deleted with the namespace. The name of a leftover shows its origin.
    deinit { remove() }

    private func remove() {
        try? SystemCommand.run("ip", "netns", "delete", name)
        // Deleted after the link, so that no packet takes the default route meanwhile.
        try? SystemCommand.run(["ip", "route", "delete"] + blackhole)
    }

    func pull() throws {
        try SystemCommand.run("ip", "link", "set", near, "down")
        // Only the blackhole route is left.
        #expect(throws: (any Error).self) { try SystemCommand.run("ip", "route", "get", there) }
    }
    func putBack() throws { try SystemCommand.run("ip", "link", "set", near, "up") }
}
