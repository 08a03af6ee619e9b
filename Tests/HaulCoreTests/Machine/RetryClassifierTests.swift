import Testing

@testable import HaulCore

struct RetryClassifierTests {
    private static let table: [(TransportError.Kind, retries: Bool, DownloadError.Code)] = [
        (.invalidURL, false, .invalidURL), (.bindingFailed, true, .connectionFailed),
        (.nameNotResolved, true, .nameNotResolved),
        (.addressDenied, false, .addressDenied), (.connectionRefused, true, .connectionFailed),
        (.connectionFailed, true, .connectionFailed),
        (.connectTimeout, true, .timedOut), (.responseTimeout, true, .timedOut), (.stalled, true, .timedOut),
        (.connectionLost, true, .connectionLost), (.tlsRefused, false, .tlsFailed),
        (.proxyFailed, true, .proxyFailed),
        (.proxyRefused, false, .proxyFailed),
        (.tooManyRedirects, false, .tooManyRedirects), (.insecureRedirect, false, .insecureRedirect),
        (.tooManyOpenFiles, true, .tooManyOpenFiles), (.badRedirect, false, .malformedResponse),
        (.malformedResponse, true, .malformedResponse),
    ]

    @Test(arguments: table)
    func saysOfEachFailureWhetherItPasses(_ kind: TransportError.Kind, _ retries: Bool, _ code: DownloadError.Code) {
        let decision = RetryClassifier.decision(on: TransportError(kind), host: "files.example")
        #expect(decision.isWorthRetrying == retries && decision.error.code == code)
        #expect(decision.error.cause == nil && decision.error.message.hasSuffix("."))
        let detailed = RetryClassifier.decision(on: TransportError(kind, "why"), host: "files.example")
        #expect(detailed.error.cause == "why" && detailed.isWorthRetrying == retries)
    }

    @Test func theTableIsWhole() {
        #expect(Set(Self.table.map(\.0)) == Set(TransportError.Kind.allCases))
    }

    @Test(arguments: 100...599)
    func retriesTheStatusesThatPass(_ status: Int) {
        let passing = [408, 425, 429].contains(status) || (status >= 500 && status != 501 && status != 505)
        #expect(RetryClassifier.isWorthRetrying(status: status, isRedirected: false) == passing)
        let renewing = [401, 403, 404, 410].contains(status)
        #expect(RetryClassifier.isWorthRetrying(status: status, isRedirected: true) == (passing || renewing))
    }

    @Test(arguments: [-1, 0, 99, 600, 999])
    func retriesNoStatusOutsideTheProtocol(_ status: Int) {
        #expect(!RetryClassifier.isWorthRetrying(status: status, isRedirected: false))
        #expect(!RetryClassifier.isWorthRetrying(status: status, isRedirected: true))
    }

    @Test func keepsTheStatusOfARefusal() {
        for status in [401, 403, 404, 407, 410, 416, 429, 500, 503, 999] {
            let decision = RetryClassifier.decision(
                on: .status(status),
                host: "files.example",
                isRedirected: false
            )
            // This includes 407, because a 407 of the user's own proxy does not get here.
            #expect(decision.error.code == .refusedByServer)
            #expect(decision.error.status == status)
            #expect(decision.error.message.contains("\(status)"))
        }
    }

    @Test func waitsForAPortalToGoAway() {
        let decision = RetryClassifier.decision(on: .webPage, host: "files.example", isRedirected: true)
        #expect(decision.isWorthRetrying && decision.error.code == .unexpectedWebPage)
        let garbled = RetryClassifier.decision(on: .malformed("why"), host: "files.example", isRedirected: false)
        #expect(garbled.isWorthRetrying && garbled.error.code == .malformedResponse && garbled.error.cause == "why")
    }
}
