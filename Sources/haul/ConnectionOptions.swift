import ArgumentParser
import HaulKit

/// Options for connecting to servers, and limits on time and attempts.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "Seconds without data, or for connecting, after which an attempt fails.")
    var timeout: Seconds?

    @Option(help: "Number of attempts in a row that may fail without a new byte.")
    var retries: Int?

    @Option(help: "Proxy for all URLs: http://host:port or socks5://host:port. Default: the proxy variables.")
    var proxy: String?

    @Option(
        help: ArgumentHelp("Network interface or local address to connect from.", valueName: "name|address")
    )
    var interface: BindingArgument?

    @Option(help: "Trust the certificates in this PEM file in addition to the system's.", completion: .file())
    var cacert: String?

    @Flag(help: "Without a network, wait until there is one instead of failing.")
    var waitForNetwork = false

    @Flag(help: "Follow redirects from https to http.")
    var allowInsecureRedirects = false

    func validate() throws {
        if let retries, retries < 0 { throw ValidationError("--retries takes a number of at least 0.") }
        if let timeout, !timeout.isPositive {
            throw ValidationError("--timeout takes a number of seconds above 0.")
        }
        if let proxy, proxy.isEmpty {
            throw ValidationError(
                "--proxy takes http://host:port or socks5://host:port. For no proxy, set no_proxy='*'."
            )
        }
    }
}

/// A number of seconds in decimal notation. `Double.init` would also accept `0x10` and `nan`.
struct Seconds: ExpressibleByArgument {
    let value: Double

    init?(argument: String) {
        let isDecimal = argument.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        guard isDecimal, let value = Double(argument) else { return nil }
        self.value = value
    }

    /// Whether `value` is above 0 and below 1,000,000 s (eleven days).
    var isPositive: Bool { value > 0 && value < 1e6 }
}
