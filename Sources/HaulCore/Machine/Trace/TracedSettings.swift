internal import Foundation

/// The settings on which the decisions of a machine depend. Of the request, a trace contains neither the destination
/// nor the header fields nor the values that the application keeps with it.
private struct TracedSettings: Codable {
    var url: URL
    var target: String?
    var mirrors: [Metalink.Source]
    var retry: RetryPolicy
    var checksum: DownloadRequest.Checksum?
    var size: Int64?
    var pieces: PieceHashes?
    var isRepair: Bool
    var resumesUnverified: Bool
    var failsOnChange: Bool
    var waitsForSpace: Bool
    var limits: Transfer.Limits
    var adopts: DownloadRequest.Adoption?
    var maxConnections: Int?
    var initialConnections: Int?
    var canAskForSource: Bool
    var isLinkVouchedFor: Bool
    /// Whether the request is a POST. A trace never contains its body, which may be a secret. `nil` means `false`.
    var isPost: Bool?
}

extension DownloadMachine.Settings: Codable {
    package init(from decoder: any Decoder) throws {
        let traced = try TracedSettings(from: decoder)
        var request = DownloadRequest(traced.url, to: .folder(path: "/"))
        request.target = traced.target
        request.mirrors = traced.mirrors
        request.checksum = traced.checksum
        request.size = traced.size
        request.pieces = traced.pieces
        request.resumesUnverified = traced.resumesUnverified
        request.failsOnChange = traced.failsOnChange
        request.adopts = traced.adopts
        request.maxConnections = traced.maxConnections
        request.initialConnections = traced.initialConnections
        if traced.isPost == true { request.method = .post(body: Data(), type: "") }
        self.init(
            request: request,
            retry: traced.retry,
            isRepair: traced.isRepair,
            waitsForSpace: traced.waitsForSpace,
            limits: traced.limits,
            canAskForSource: traced.canAskForSource,
            isLinkVouchedFor: traced.isLinkVouchedFor
        )
    }

    package func encode(to encoder: any Encoder) throws {
        try TracedSettings(
            url: request.url,
            target: request.target,
            mirrors: request.mirrors,
            retry: retry,
            checksum: request.checksum,
            size: request.size,
            pieces: request.pieces,
            isRepair: isRepair,
            resumesUnverified: request.resumesUnverified,
            failsOnChange: request.failsOnChange,
            waitsForSpace: waitsForSpace,
            limits: limits,
            adopts: request.adopts,
            maxConnections: request.maxConnections,
            initialConnections: request.initialConnections,
            canAskForSource: canAskForSource,
            isLinkVouchedFor: isLinkVouchedFor,
            isPost: request.method == .get ? nil : true
        ).encode(to: encoder)
    }
}
