extension Downloader.Configuration {
    /// The networks and servers that downloads use, and how downloads identify themselves.
    ///
    /// ``Downloader/update(_:)`` changes every value except ``monitor``, ``meter``, ``cookies``, ``collectsCookies``
    /// and ``certificateAuthorities``, which are read when the downloader opens. ``binding``, ``deniedAddresses``,
    /// ``proxies``, ``netrc`` and ``userAgent`` apply to requests that are sent after the change; running transfers
    /// continue.
    public struct Network: Sendable {
        /// Speed limit of all downloads together, in bytes per second. `nil`, 0 or a negative number: no limit. A lower
        /// limit of the timetable takes precedence. Default: `nil`.
        public var bytesPerSecond: Int64?
        /// Whether downloads are held (``HoldReason/offline``) while no network leads to other machines. They continue
        /// as soon as a network is available. Downloads from this machine itself are not held. On a machine with no
        /// network interface but loopback, no download is held. Default: `true`.
        public var waitsForNetwork = true
        /// Whether downloads may run on a metered network, as reported by ``meter`` or ``monitor``. With `false` they
        /// are held (``HoldReason/metered``). A network counts as not metered if its kind is unknown. Default: `true`.
        public var allowsMetered = true
        /// Reports the state of the network. `nil`, the default: the library watches the interfaces of the system and
        /// asks ``meter`` whether the network is metered. On systems other than Linux, and in a sandbox that forbids
        /// rtnetlink, the status is then unknown, which counts as online.
        public var monitor: (any NetworkMonitor)? {
            get { assignedMonitor.value }
            set { assignedMonitor = Assigned(newValue) }
        }
        /// Reports whether the network is metered; not used with a ``monitor`` of the application. `nil`, the default:
        /// metering is unknown, and ``allowsMetered`` has no effect. The product `HaulDesktop` asks
        /// NetworkManager: `import HaulDesktop` and `configuration.useDesktopServices()`.
        public var meter: (any NetworkMeter)? {
            get { assignedMeter.value }
            set { assignedMeter = Assigned(newValue) }
        }
        /// Interface or local address to connect from, also for webhooks. `nil`, the default: the system chooses the
        /// route.
        public var binding: NetworkBinding?
        /// Addresses that downloads must not connect to, also after redirects and at mirrors. A server that downloads
        /// URLs named by strangers should deny ``AddressBlock/nonPublic``. Default: none.
        ///
        /// The addresses of a host name are checked for each connection. A proxy looks names up itself, so behind a
        /// proxy only URLs that contain such an address are refused. Webhooks are exempt. A download that leads to a
        /// denied address fails with ``DownloadError/Code/addressDenied``.
        public var deniedAddresses: [AddressBlock] = []
        /// Proxies for `http` and `https` URLs. Default: none; ``ProxySettings/environment(_:)`` reads the usual
        /// variables.
        public var proxies = ProxySettings.direct
        /// User names and passwords by host. `nil`, the default: none. ``Netrc/init(contentsOfFile:)`` reads a file,
        /// whose permissions the application has to check.
        public var netrc: Netrc? {
            get { assignedNetrc.value }
            set { assignedNetrc = Assigned(newValue) }
        }
        /// Cookies that every download starts with. Default: none. Until its run ends, each download also keeps the
        /// cookies that servers set. All its connections share these cookies, and send each only to the origin that
        /// set it.
        public var cookies = Cookies()
        /// Whether ``Downloader/cookies`` also holds the cookies that servers set. Default: `false`.
        public var collectsCookies = false
        /// Path of a PEM file with certificates to trust in addition to the system's; `nil`, the default, for none.
        public var certificateAuthorities: String?
        /// Value of the `User-Agent` field (RFC 9110 §10.1.5) of requests that do not set their own, and of webhooks.
        /// Default: `haul/` and the version.
        public var userAgent = "haul/" + Downloader.version
        /// Number of event loops that the process will have, set by a program that limits them; with `nil`, one for
        /// each core is assumed.
        package var eventLoops: Int?
        /// File descriptors that downloads leave free for the rest of the program, such as connections to a server of
        /// the program and files that it sends. Default: 0.
        package var otherDescriptors = 0
        /// Decides when requests may be sent, in addition to the downloader's own limits; `nil` for these limits alone.
        package var admission: (any RequestAdmission)?
        /// Time for which an idle connection is kept open. A server with few workers may tie up a worker for each idle
        /// connection and then answer no other request, not even the next one of this downloader. Default: 5 s.
        package var idleTimeout = Duration.seconds(5)

        var assignedMonitor = Assigned<(any NetworkMonitor)?>(initial: nil)
        var assignedMeter = Assigned<(any NetworkMeter)?>(initial: nil)
        var assignedNetrc = Assigned<Netrc?>(initial: nil)

        package init() {}
    }
}
