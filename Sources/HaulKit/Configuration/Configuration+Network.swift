extension Downloader.Configuration {
    /// The networks and servers that downloads use, and how they identify themselves. ``Downloader/update(_:)`` changes them, but
    /// ``monitor``, ``meter``, ``cookies``, ``collectsCookies`` and ``certificateAuthorities``, which are read when the downloader
    /// opens. ``binding``, ``deniedAddresses``, ``proxies``, ``netrc`` and ``userAgent`` apply to requests that are sent after the
    /// change: no transfer is cut short.
    public struct Network: Sendable {
        /// Speed limit of all downloads together, in bytes per second; `nil`, 0 or a negative number for no limit. Where
        /// the timetable sets a lower limit, that applies. Default: `nil`.
        public var bytesPerSecond: Int64?
        /// Whether downloads are held (``HoldReason/offline``) while no network leads to other machines, and continue
        /// when a network does. Downloads from this machine itself are not held, nor are any on a machine that has no
        /// network interface but loopback. Default: `true`.
        public var waitsForNetwork = true
        /// Whether downloads may run on a metered network, as reported by ``meter`` or ``monitor``. Otherwise they are
        /// held (``HoldReason/metered``). A network of which it is not known counts as not metered. Default: `true`.
        public var allowsMetered = true
        /// Reports the state of the network; `nil` for ``SystemNetworkMonitor``, which knows the interfaces, and with
        /// ``meter`` whether the network is metered. Default: `nil`.
        public var monitor: (any NetworkMonitor)? {
            get { assignedMonitor.value }
            set { assignedMonitor = Assigned(newValue) }
        }
        /// Reports whether the network is metered, in addition to ``SystemNetworkMonitor``; not used with another
        /// ``monitor``. `nil`, the default: it is not known, and ``allowsMetered`` has no effect. The product
        /// `HaulDesktop` asks NetworkManager: `import HaulDesktop` and `configuration.useDesktopServices()`.
        public var meter: (any NetworkMeter)? {
            get { assignedMeter.value }
            set { assignedMeter = Assigned(newValue) }
        }
        /// Interface or local address to connect from; `nil` lets the system route. Default: `nil`.
        public var binding: NetworkBinding?
        /// Addresses that downloads may not connect to, at redirects and mirrors too: a server that downloads what strangers name should
        /// deny ``AddressBlock/nonPublic``. What a name stands for is looked at for each connection. A proxy looks names up
        /// itself, so behind one only URLs with such an address are refused; webhooks are not concerned. A download that leads
        /// there fails with ``DownloadError/Code/addressDenied``. Default: none.
        public var deniedAddresses: [AddressBlock] = []
        /// Proxies for `http` and `https` URLs. Default: none; ``ProxySettings/environment(_:)`` reads the usual
        /// variables.
        public var proxies = ProxySettings.direct
        /// User names and passwords by host; `nil`, the default, for none. ``Netrc/init(contentsOfFile:)`` reads a file.
        /// Check ``Netrc/isReadableByOthers``: the downloader does not check the file's permissions.
        public var netrc: Netrc? {
            get { assignedNetrc.value }
            set { assignedNetrc = Assigned(newValue) }
        }
        /// Cookies that every download starts with. Cookies that a server sets are kept for the run of each download,
        /// shared by its connections, and sent only to the origin that set them. Default: none.
        public var cookies = Cookies()
        /// Whether ``Downloader/cookies`` also holds the cookies that servers set. Default: `false`.
        public var collectsCookies = false
        /// Path of a PEM file with certificates to trust in addition to the system's; `nil`, the default, for none.
        public var certificateAuthorities: String?
        /// Value of the `User-Agent` field (RFC 9110 §10.1.5) of requests that do not set their own, and of webhooks.
        /// Default: `haul/` and the version.
        public var userAgent = "haul/" + Downloader.version
        /// Number of event loops that the process will have; `nil` when unknown.
        package var eventLoops: Int?
        /// Descriptors that the rest of the program may have open at once, and that downloads leave to it: connections to a server, files
        /// that are sent.
        package var otherDescriptors = 0
        /// Decides when requests may be sent, beside the downloader's own limits; nil: nothing else does.
        package var admission: (any RequestAdmission)?
        /// How long a connection is kept without a request. A server with few workers may keep one of them for it, and then
        /// answers no other request, not even the next one of this downloader.
        package var idleTimeout = Duration.seconds(5)

        var assignedMonitor = Assigned<(any NetworkMonitor)?>(initial: nil)
        var assignedMeter = Assigned<(any NetworkMeter)?>(initial: nil)
        var assignedNetrc = Assigned<Netrc?>(initial: nil)

        /// The default values.
        public init() {}
    }
}
