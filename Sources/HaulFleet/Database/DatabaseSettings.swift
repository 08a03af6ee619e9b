internal import CLibPQ
internal import Foundation

/// Where the database is: what `PGHOST` and the others, and a connection string or URL, say, with the fleet's defaults added.
package struct DatabaseSettings: Sendable, CustomStringConvertible {
    /// Parameters of libpq, with the password among them.
    private(set) var parameters: [String: String]
    /// How long one attempt to connect may take.
    let connectTimeout: Duration

    /// What a person reads; without the password.
    package var description: String {
        let shown = ["host", "hostaddr", "port", "dbname", "user", "service"]
        let words = shown.compactMap { name in parameters[name].map { "\(name)=\($0)" } }
        return words.isEmpty ? "the default database" : words.joined(separator: " ")
    }

    /// - Parameters:
    ///   - connectionString: a URL (`postgresql://…`) or the `key=value` form; empty: the environment alone.
    ///   - environment: what is looked up for `PGHOST`, `PGSSLMODE` and the like; nil: that of this process, which libpq reads.
    /// - Throws: ``FleetError/Code/invalidInput``, which does not repeat the text: it may hold a password.
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
        // A password with a slash or an at sign that is not escaped ends up in one of these, and libpq would print it.
        let ports = (named("port", "PGPORT") ?? "").split(separator: ",")
        guard ports.allSatisfy({ (1...65_535).contains(Int($0) ?? 0) }),
            !hosts.contains(where: { $0.dropFirst().contains("@") })
        else {
            throw FleetError(
                .invalidInput,
                "The connection string names an impossible host or port. Write / @ : of a password as %2F %40 %3A."
            )
        }
        // What a service file names is not known here: it is held for another machine.
        let mayBeRemote =
            named("service", "PGSERVICE") != nil || hosts.contains { !Self.isOfThisMachine(String($0)) }
        if mayBeRemote, named("sslmode", "PGSSLMODE") == nil {
            parameters["sslmode"] = "verify-full"
            // libpq trusts ~/.postgresql/root.crt only, unless it is told otherwise.
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
        // libpq reads connect_timeout only in the call that blocks, which is not the one that is used.
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
