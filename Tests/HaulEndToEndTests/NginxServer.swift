import Foundation
import HaulTesting

/// Runs nginx on a free port of the loopback interface, serving a folder.
final class NginxServer: Sendable {
    let port: Int
    let root: TemporaryFolder
    private let folder: TemporaryFolder
    private let process: ChildProcess

    struct Failure: Error { let text: String }

    /// - Parameter limitRate: nginx's `limit_rate` in bytes per second and connection, such as `20m`.
    static func start(limitRate: String = "0") async throws -> NginxServer {
        let root = try TemporaryFolder()
        let folder = try TemporaryFolder()
        chmod(root.path, 0o755)
        var failure = "nginx is not installed"
        // Another process may take the free port first. nginx then fails, and the loop tries another port.
        for _ in 0..<10 {
            let port = try freePort()
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: " ")
            let text = """
                worker_processes 1; pid \(folder("pid")); error_log \(folder("error.log"));
                events { worker_connections 256; }
                http { access_log \(folder("access.log")); sendfile on; root \(root.path); \(temporary)
                server { listen 127.0.0.1:\(port); limit_rate \(limitRate); } }
                """
            try text.write(toFile: folder("nginx.conf"), atomically: true, encoding: .utf8)
            // nginx runs in the foreground, because a daemon would keep the pipes of the tests open.
            let process = try ChildProcess(
                "/usr/sbin/nginx",
                ["-c", folder("nginx.conf"), "-e", folder("error.log"), "-g", "daemon off;"]
            )
            let server = NginxServer(port, root, folder, process)
            if try await server.answers() { return server }
            failure = await process.result().errors
        }
        throw Failure(text: failure)
    }

    private init(_ port: Int, _ root: TemporaryFolder, _ folder: TemporaryFolder, _ process: ChildProcess) {
        self.port = port
        self.root = root
        self.folder = folder
        self.process = process
    }

    /// Waits until the port answers. Returns `false` if nginx has ended.
    private func answers() async throws -> Bool {
        while process.isRunning {
            if try await ChildProcess.run("curl", "-s", "-o", "/dev/null", url("/")).status == 0 { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    deinit { process.send(SIGTERM) }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    func serve(_ content: TestContent, as name: String) throws {
        try Data().write(to: URL(fileURLWithPath: root(name)))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: root(name)))
        for start in stride(from: 0, to: content.count, by: 1 << 20) {
            try handle.write(contentsOf: Data(content.bytes(start..<min(start + 1 << 20, content.count))))
        }
        try handle.close()
        chmod(root(name), 0o644)
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw Failure(text: "no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
