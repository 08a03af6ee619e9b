import ArgumentParser
import HaulKit

/// How to connect to servers, and limits on time and attempts.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "Seconds without data, or for connecting, after which an attempt fails.")
    var timeout: Double?

    @Option(help: "Number of attempts in a row that may fail without a new byte.")
    var retries: Int?

    @Option(help: "Proxy for all URLs: http://host:port or socks5://host:port. Default: the proxy variables.")
    var proxy: String?

    @Option(
        name: .customLong("interface"),
        help: ArgumentHelp("Network interface or local address to connect from.", valueName: "name|address")
    )
    var binding: NetworkBinding?

    @Option(help: "Trust the certificates in this PEM file in addition to the system's.", completion: .file())
    var cacert: String?

    @Flag(help: "Without a network, wait until there is one instead of failing.")
    var waitForNetwork = false

    @Flag(help: "Follow redirects from https to http.")
    var allowInsecureRedirects = false

    func validate() throws {
        if let retries, retries < 0 { throw ValidationError("--retries takes a number of at least 0.") }
        if let timeout, !(timeout > 0 && timeout < 1e6) {
            throw ValidationError("--timeout takes a number of seconds above 0.")
        }
    }
}
