internal import Foundation

extension URL {
    /// Whether a request can be made for the URL. The layers below trap on ports and host names that do not exist.
    var isAskable: Bool {
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https", let host else { return false }
        return HTTPHost.isPossible(host) && (1...65535).contains(port ?? 80)
    }
}
