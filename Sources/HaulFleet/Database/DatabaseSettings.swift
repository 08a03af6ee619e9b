internal import CLibPQ
internal import Foundation

/// Connection parameters of the database, from a connection string or URL, the environment (`PGHOST`, …) and the
/// fleet's defaults.
package struct DatabaseSettings: Sendable, CustomStringConvertible {
    /// Parameters of libpq, including the password.
    private(set) var parameters: [String: String]
    /// Limit for one attempt to connect.
    let connectTimeout: Duration

    /// Names the server, the database and the user to people, without the password.
    package var description: String {
        let shown = ["host", "hostaddr", "port", "dbname", "user", "service"]
        let words = shown.compactMap { name in parameters[name].map { "\(name)=\($0)" } }
        return words.isEmpty ? "the default database" : words.joined(separator: " ")
    }

    /// - Parameters:
    ///   - connectionString: a URL (`postgresql://…`) or `key=value` pairs; empty to use the environment alone.
    ///   - environment: the variables from which this initializer reads `PGHOST`, `PGSSLMODE` and the like; `nil` for
    ///     those of this process. libpq itself always reads those of this process.
    /// - Throws: ``FleetError/Code/invalidInput`` without the text, because the text may hold a password.
    package init(
        _ connectionString: String,
        environment: [String: String]? = nil
    ) throws(FleetError) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        var parameters = try Self.parse(connectionString)
        func named(_ key: String, _ variable: String) -> String? {
            [parameters[key], environment[variable]].compactMap(\.self).first { !$0.isEmpty }
        }
        func prefer(_ key: String, _ value: String) { if parameters[key] == nil { parameters[key] = value } }

        let hosts = (named("hostaddr", "PGHOSTADDR") ?? named("host", "PGHOST") ?? "").split(separator: ",")
        // Refuses impossible hosts and ports. An unescaped slash or at sign in a password moves a part of the password
        // into the host or port, and libpq would print that part.
        let ports = (named("port", "PGPORT") ?? "").split(separator: ",")
        guard ports.allSatisfy({ (1...65_535).contains(Int($0) ?? 0) }),
            !hosts.contains(where: { $0.dropFirst().contains("@") })
        else {
            throw FleetError(
                .invalidInput,
                "The connection string names an impossible host or port. Write / @ : of a password as %2F %40 %3A."
            )
        }
        // The hosts of a service file are unknown here, so the server counts as remote.
        let mayBeRemote =
            named("service", "PGSERVICE") != nil || hosts.contains { !Self.isOfThisMachine(String($0)) }
        if mayBeRemote, named("sslmode", "PGSSLMODE") == nil {
            parameters["sslmode"] = "verify-full"
            // Names the system's certificates, because libpq trusts only ~/.postgresql/root.crt by default.
            let own = (environment["HOME"] ?? "") + "/.postgresql/root.crt"
            let system = "/etc/ssl/certs/ca-certificates.crt"
            let files = FileManager.default
            if named("sslrootcert", "PGSSLROOTCERT") == nil, !files.fileExists(atPath: own),
                files.fileExists(atPath: system)
            {
                parameters["sslrootcert"] = system
            }
        }
        prefer("fallback_application_name", "haul-fleet")
        prefer("target_session_attrs", "read-write")
        prefer("keepalives_idle", "30")
        prefer("keepalives_interval", "10")
        prefer("keepalives_count", "3")
        prefer("tcp_user_timeout", "15000")
        parameters["client_encoding"] = "UTF8"
        self.parameters = parameters
        // libpq honours connect_timeout only in its blocking connect call, which this code does not use.
        let seconds = named("connect_timeout", "PGCONNECT_TIMEOUT").flatMap { Int($0) } ?? 0
        connectTimeout = .seconds((seconds > 0 ? min(seconds, 300) : 10) * max(1, hosts.count))
    }

    private static func parse(_ text: String) throws(FleetError) -> [String: String] {
        guard !text.utf8.contains(0), let options = PQconninfoParse(text, nil) else {
            throw FleetError(
                .invalidInput,
                "The connection string cannot be read: it is a URL (postgresql://USER@HOST/DATABASE) or key=value pairs."
            )
        }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var next = options
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val { found[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        return found
    }

    private static func isOfThisMachine(_ host: String) -> Bool {
        host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || host.wholeMatch(of: /127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}/) != nil
    }
}
