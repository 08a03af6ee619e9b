package import HaulKit

/// Proxies for the requests to some origins, from a file of the worker. The queue does not have them.
package enum OriginProxies {
    private static let example = "https://data.example.org http://proxy.example.org:3128"

    /// Adds the proxies of lines such as `https://data.example.org http://USER:PASSWORD@proxy.example.org:3128`, or with
    /// `direct` in place of the proxy.
    ///
    /// - Parameter file: the file's name, for messages. Messages have no proxy.
    /// - Throws: ``FleetError/Code/invalidInput`` for any other line, and for a proxy that cannot be used.
    package static func add(_ text: String, of file: String, to proxies: inout ProxySettings) throws(FleetError) {
        for (origin, value, line) in try OriginLines(text, of: file, example: example).origins {
            do throws(DownloadError) {
                proxies.origins[origin] = .some(value == "direct" ? nil : try ProxySettings.Proxy(value))
            } catch { throw FleetError(.invalidInput, "Line \(line) of \(file): \(error.message)") }
        }
    }
}
