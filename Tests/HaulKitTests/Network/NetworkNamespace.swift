import Foundation
import HaulTesting
import Synchronization

@testable import HaulCore
@testable import HaulKit

/// Two network namespaces with a cable between them: `near` in the first, `far` in the second. Needs root.
final class NetworkNamespace: Sendable {
    struct Failure: Error { let text: String }

    private let name: String
    private var other: String { name + "-far" }

    /// Whether this process may create network namespaces.
    static let isPossible = geteuid() == 0 && (try? NetworkNamespace()) != nil

    init() throws {
        name = "haul-\(UUID().uuidString.prefix(8))"
        try SystemCommand.run("ip", "netns", "add", name)
        do {
            try SystemCommand.run("ip", "netns", "add", name + "-far")
            try SystemCommand.run(
                [
                    "ip", "-n", name, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns",
                    name + "-far",
                ]
            )
        } catch {
            remove()
            throw error
        }
    }

    deinit { remove() }

    private func remove() {
        for namespace in [name, other] { try? SystemCommand.run("ip", "netns", "delete", namespace) }
    }

    /// Runs `ip` on the `near` end of the cable.
    func near(_ words: String...) throws { try SystemCommand.run(["ip", "-n", name] + words) }
    /// Runs `ip` on the `far` end of the cable.
    func far(_ words: String...) throws { try SystemCommand.run(["ip", "-n", other] + words) }

    /// Runs `work` on a thread in the first namespace. A socket that it opens stays in that namespace.
    func inside<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
        let result = Mutex<Result<Value, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        let path = "/run/netns/" + name
        // The namespace belongs to the thread, so the thread must not be one of a pool.
        Thread.detachNewThread {
            let value = Result {
                try Self.enter(path)
                return try work()
            }
            result.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        guard let value = result.withLock({ $0 }) else { throw Failure(text: "nothing came back") }
        return try value.get()
    }

    private static func enter(_ path: String) throws {
        // Swift's Glibc module has no `setns`.
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        guard let symbol = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "setns") else {
            throw Failure(text: "there is no setns")
        }
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        guard unsafeBitCast(symbol, to: SetNamespace.self)(descriptor, 0x4000_0000) == 0 else {
            throw Failure(text: String(cString: strerror(errno)))
        }
    }
}
