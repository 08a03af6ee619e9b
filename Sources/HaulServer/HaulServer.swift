package import Foundation
package import HaulKit
package import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// Serves a downloader over HTTP: the API under `/api/v1`, its event streams, and the page.
///
/// ```swift
/// let server = try HaulServer(downloader, configuration, logger: logger)
/// try await ServiceGroup(services: [server], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// The server does not own the downloader: shut it down after ``run()`` has returned.
package final class HaulServer: Service {
    private let services: Services
    private let page = PageAssets()
    private let gate: Gate
    private let codes: OneTimeCodes
    /// Codes that give a browser extension its key.
    private let connectingCodes = OneTimeCodes()
    private let token: AccessToken
    private let logger: Logger
    private let onListening: @Sendable (ServerConfiguration.Listener) -> Void
    /// The TCP address at which the server listens, with the port that the system chose; `nil` before that, and if the
    /// server listens only at its socket.
    private let listener = Mutex<ServerConfiguration.Listener?>(nil)

    /// Creates a server. Reads the sessions and the token, or creates a token. Does not listen yet.
    ///
    /// - Parameters:
    ///   - downloader: the downloader to serve. The server does not shut it down.
    ///   - configuration: addresses, folders and limits.
    ///   - logger: receives the messages of the server.
    ///   - metrics: the metrics that the downloader reports, for `/metrics`; `nil` if it reports them elsewhere.
    ///   - onListening: called when the server accepts TCP connections, with the address and the port that the system
    ///     chose.
    /// - Throws: ``ServerError`` when the token cannot be read or written, or the settings changed on the page cannot
    ///   be read.
    package init(
        _ downloader: Downloader,
        _ configuration: ServerConfiguration,
        logger: Logger,
        metrics: MetricsRegistry? = nil,
        onListening: @escaping @Sendable (ServerConfiguration.Listener) -> Void = { _ in }
    ) throws(ServerError) {
        token = try AccessToken(stateFolder: configuration.stateFolder)
        if token.wasExposed {
            logger.warning(
                "The token \(configuration.stateFolder)/token could be read by others. Its mode is 0600 now."
            )
        }
        if token.wasEmpty {
            logger.warning("The token \(configuration.stateFolder)/token was empty. It is a new one now.")
        }
        let live = LiveConfiguration(configuration, try ChangedSettings(stateFolder: configuration.stateFolder))
        Self.warn(of: live, logger)
        codes = OneTimeCodes()
        self.logger = logger
        self.onListening = onListening
        let feed = ChangeFeed(downloader, folder: { live.folders.fallback }, logger: logger)
        services = Services(
            downloader: downloader,
            feed: feed,
            sessions: Sessions(stateFolder: configuration.stateFolder, logger: logger),
            live: live,
            settings: SettingsKeeper(live),
            sets: SetKeeper(downloader, live, feed, logger: logger),
            logger: logger,
            metrics: metrics
        )
        gate = Gate(
            live: services.live,
            token: token,
            sessions: services.sessions,
            keys: ScopedKeys(stateFolder: configuration.stateFolder, logger: logger),
            cookie: SessionCookie(stateFolder: configuration.stateFolder),
            tries: WrongTries(),
            openPaths: page.openPaths.union(HealthRoutes.open).union([Gate.signInState]),
            refusals: RefusalLog(logger)
        )
    }

    /// Returns a link that signs in once, within ten minutes. The code is in the fragment. Browsers do not send
    /// the fragment with a request for the page, so no log of a proxy or a server contains the code.
    package func signInLink(_ listener: ServerConfiguration.Listener) -> String {
        Self.address(listener) + "#code=" + codes.make()
    }

    /// Returns the address of the page, for a browser on this machine.
    private static func address(_ listener: ServerConfiguration.Listener) -> String {
        let host = ["0.0.0.0", "::"].contains(listener.host) ? "127.0.0.1" : listener.host
        return "http://\(ServerConfiguration.Listener(host: host, port: listener.port))/"
    }

    /// Applies the settings that may change while the server runs; the `update` method of ``LiveConfiguration`` lists
    /// them. Ignores all other settings. Settings that were changed over the API stay.
    ///
    /// - Throws: ``DownloadError`` if the proxy is invalid, or the downloader was shut down.
    package func reload(_ configuration: ServerConfiguration) async throws(DownloadError) {
        _ = try ProxyText.settings(configuration.proxy, nil)
        services.live.update(configuration)
        Self.warn(of: services.live, logger)
        _ = try await services.downloader.update(try services.live.networkChange())
    }

    /// Warns of settings whose folder is no longer allowed.
    private static func warn(of live: LiveConfiguration, _ logger: Logger) {
        if let folder = live.changed.folder, live.folders.fallback != folder {
            logger.warning(
                "The folder \(folder) of the page is not allowed any more. Downloads go to \(live.folders.fallback)."
            )
        }
        do throws(Problem) { try live.placement.check(live.folders) } catch {
            logger.warning("\(error.detail) Downloads that it chooses are refused.")
        }
    }

    /// Chooses the placement of a new download by the rules, as for a request that names neither folder nor group.
    ///
    /// - Parameter name: the requested file name; `nil` for the name in the URL.
    /// - Throws: ``Problem`` if the folder of a rule is not allowed.
    package func placement(of url: URL, name: String?) throws(Problem) -> PlacementRules.Placement {
        try services.live.placement.placement(
            of: RuleTarget(url, name: name),
            folder: nil,
            group: nil,
            in: services.folders
        )
    }

    /// The folders in which downloads may be saved at present.
    package var folders: AllowedFolders { services.folders }

    /// Returns the routes; also for tests without a socket.
    package func router() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.add(middleware: SecurityHeaders())
        router.add(middleware: gate)
        let routes = RouteTable(router)
        page.add(to: routes)
        HealthRoutes(services: services).add(to: routes)
        SessionRoutes(gate: gate, codes: codes) { [weak self] in
            self.flatMap { server in server.listener.withLock { $0 }.map(server.signInLink) }
        }.add(to: routes)
        KeyRoutes(keys: gate.keys, tries: gate.tries, codes: connectingCodes) { [weak self] in
            self.flatMap { server in server.listener.withLock { $0 }.map(HaulServer.address) }
        }.add(to: routes)
        DaemonRoute(services: services).add(to: routes)
        ListRoutes(services: services).add(to: routes)
        AddRoutes(services: services).add(to: routes)
        SetRoutes(services: services).add(to: routes)
        ControlRoutes(services: services).add(to: routes)
        DetailRoute(services: services).add(to: routes)
        FileRoute(services: services).add(to: routes)
        FolderRoutes(services: services).add(to: routes)
        ConfigurationRoutes(services: services).add(to: routes)
        EventRoute(services: services).add(to: routes)
        routes.finish()
        return router
    }

    /// Serves until the service group shuts down gracefully or the task is cancelled. Event streams end with `bye`.
    ///
    /// - Throws: ``ServerError`` when the server cannot listen at an address.
    package func run() async throws {
        let responder = router().buildResponder()
        let messages = ServingLog()
        let quiet = messages.logger(logger)
        var listeners: [Listening] = []
        if let listener = services.configuration.listener {
            let server = application(responder, .hostname(listener.host, port: listener.port), quiet) {
                [weak self, onListening] channel in
                let bound = ServerConfiguration.Listener(
                    host: listener.host,
                    port: channel.localAddress?.port ?? listener.port
                )
                self?.listener.withLock { $0 = bound }
                onListening(bound)
            }
            listeners.append(
                Listening(server: server, address: listener.description, option: "--listen", messages: messages)
            )
        }
        if let path = services.configuration.socketPath {
            // Denies other users access to the socket, whatever the umask is.
            let server = application(responder, .unixDomainSocket(path: path), quiet) { _ in chmod(path, 0o600) }
            listeners.append(Listening(server: server, address: path, option: "--socket", messages: messages))
        }
        let feed = services.feed
        let ends = EndLog(services.downloader, logger: logger)
        await services.sets.resume()
        // The failure of one listener shuts down the other one gracefully.
        let members: [ServiceGroupConfiguration.ServiceConfiguration] = listeners.map {
            .init(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
        }
        var settings = ServiceGroupConfiguration(services: members, logger: logger)
        // Limits the shut-down to 1 s, so that it does not wait for a client that reads a large file.
        settings.maximumGracefulShutdownDuration = .seconds(1)
        let group = ServiceGroup(configuration: settings)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await feed.run() }
            tasks.addTask { await ends.run() }
            tasks.addTask {
                try await withGracefulShutdownHandler {
                    try await group.run()
                } onGracefulShutdown: {
                    messages.end()
                    Task {
                        await feed.end()
                        await group.triggerGracefulShutdown()
                    }
                }
                throw CancellationError()
            }
            do { while try await tasks.next() != nil {} } catch is CancellationError {}
            tasks.cancelAll()
        }
        await feed.end()
    }

    private func application(
        _ responder: RouterResponder<ServerContext>,
        _ address: BindAddress,
        _ quiet: Logger,
        _ onRunning: @escaping @Sendable (any Channel) -> Void
    ) -> Application<RouterResponder<ServerContext>> {
        let unheard = UnheardConnections(most: max(4, services.configuration.maxConnections / 4))
        let openPaths = gate.openPaths
        return Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [ConnectionRules.Installer(unheard, openPaths: openPaths)],
                    idleTimeout: .seconds(60),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: HeaderLimits.field,
                        maxHeaderListSize: HeaderLimits.all,
                        maxHeaderFieldCount: HeaderLimits.count
                    )
                )
            ),
            configuration: .init(
                address: address,
                availableConnectionsDelegate: MaximumAvailableConnections(services.configuration.maxConnections)
            ),
            onServerRunning: { onRunning($0) },
            logger: quiet
        )
    }
}
