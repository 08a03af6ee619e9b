internal import Foundation
package import NIOCore

/// The answer to a request or to a WebSocket message.
package struct Aria2Answer: Sendable {
    package enum Encoding: Sendable {
        case json, script, xml

        var contentType: String {
            switch self {
            case .json: "application/json-rpc"
            case .script: "text/javascript"
            case .xml: "text/xml"
            }
        }
    }

    package var status: Int
    package var encoding: Encoding
    package var body: ByteBuffer
    /// Whether a call had no token or a wrong one. The server delays such an answer, so that guessing takes time.
    package var isUnauthorized = false
    /// Whether a call had the right token, or no token is needed.
    package var isAuthorized = false
}

/// Decodes the calls of requests, and encodes the answers.
package struct Aria2Endpoint: Sendable {
    private let methods: any Aria2Methods
    private let secret: Aria2Secret?

    package init(_ session: Aria2Session, secret: Aria2Secret?) { self.init(methods: session, secret: secret) }

    init(methods: any Aria2Methods, secret: Aria2Secret?) { (self.methods, self.secret) = (methods, secret) }

    package var needsToken: Bool { secret != nil }

    /// Whether a text is the secret.
    func accepts(_ text: String?) -> Bool {
        guard let secret, let text else { return false }
        return secret.isEqual(to: text)
    }

    // MARK: JSON

    /// - Parameter callback: the function that the answer calls, for a page of another origin (JSONP); `nil` for plain
    ///   JSON.
    package func json(_ body: ByteBuffer, callback: String? = nil) async -> Aria2Answer {
        let value = Aria2JSONReader.value(of: Array(body.readableBytesView))
        var calls = Aria2Calls(methods, secret)
        var answer = Aria2Answer(status: 200, encoding: callback == nil ? .json : .script, body: ByteBuffer())
        if let callback { answer.body.writeString(callback + "(") }
        switch value {
        case .structure(let members): answer.status = await calls.answer(members, into: &answer.body)
        case .list(let items) where items.count > Aria2Calls.most:
            let failure = Aria2CallError("A batch has at most \(Aria2Calls.most) calls.", code: -32_600)
            answer.status = failure.status
            answer.body.writeEnvelope(id: .null, .failure(failure))
        case .list(let items):
            answer.body.writeStaticString("[")
            var isFirst = true
            // Ignores elements that are no calls, as aria2 does.
            for case .structure(let members) in items {
                if !isFirst { answer.body.writeStaticString(",") }
                isFirst = false
                _ = await calls.answer(members, into: &answer.body)
            }
            answer.body.writeStaticString("]")
        default:
            answer.status = Aria2CallError.malformed.status
            answer.body.writeEnvelope(id: .null, .failure(.malformed))
        }
        if callback != nil { answer.body.writeStaticString(")") }
        answer.isUnauthorized = calls.isUnauthorized
        answer.isAuthorized = calls.isAuthorized
        return answer
    }

    /// Answers a call in the query of a GET: `method`, `id`, and `params` as base64 of a JSON text. Without `method`
    /// and `id`, `params` is a batch.
    package func query(_ query: Substring) async -> Aria2Answer {
        var fields: [Substring: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1] : ""
            fields[parts[0]] = value.removingPercentEncoding ?? String(value)
        }
        let callback = fields["jsoncallback"].flatMap { Self.isFunction($0) ? $0 : nil }
        let parameters = fields["params"].flatMap(Self.decoded)
        guard fields["method"] != nil || fields["id"] != nil || parameters == nil else {
            return await json(ByteBuffer(bytes: parameters ?? []), callback: callback)
        }
        var call: [String: Aria2Value] = [:]
        call["method"] = fields["method"].map { .text($0) }
        call["id"] = fields["id"].map { .text($0) }
        if fields["params"] != nil {
            // aria2 refuses the whole request if the parameters are unreadable.
            guard let value = parameters.flatMap({ Aria2JSONReader.value(of: $0) }) else {
                return await json(ByteBuffer(string: "{}"), callback: callback)
            }
            call["params"] = value
        }
        var body = ByteBuffer()
        body.writeJSON(.structure(call))
        return await json(body, callback: callback)
    }

    /// Whether a text is the name of a JavaScript function. Any other text would put code of the caller into the
    /// answer.
    private static func isFunction(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || "_$.".contains(character))
            }
    }

    /// Decodes base64 with or without padding, of either alphabet.
    private static func decoded(_ text: String) -> [UInt8]? {
        var text = text.replacing("-", with: "+").replacing("_", with: "/").replacing(" ", with: "+")
        text = String(text.prefix { $0 != "=" })
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).map { [UInt8]($0) }
    }

    // MARK: XML

    package func xml(_ body: ByteBuffer) async -> Aria2Answer {
        var answer = Aria2Answer(status: 200, encoding: .xml, body: ByteBuffer())
        let (method, parameters): (String, [Aria2Value])
        do throws(Aria2XMLReader.Malformed) {
            (method, parameters) = try Aria2XMLReader.call(Array(body.readableBytesView))
        } catch {
            answer.status = 400
            return answer
        }
        var calls = Aria2Calls(methods, secret)
        let result =
            method == "system.multicall"
            ? await calls.multicall(parameters, failed: Aria2Calls.asXML) : await calls.call(method, parameters)
        switch result {
        case .success(let value): answer.body.writeXMLResponse(value)
        case .failure(let failure): answer.body.writeXMLFault(code: failure.code, failure.message)
        }
        answer.isUnauthorized = calls.isUnauthorized
        answer.isAuthorized = calls.isAuthorized
        return answer
    }
}

extension Aria2Calls {
    /// Carries out one JSON-RPC call, and writes its answer.
    ///
    /// - Returns: the status of an HTTP response that contains only this answer.
    fileprivate mutating func answer(_ call: [String: Aria2Value], into body: inout ByteBuffer) async -> Int {
        // Ignores the member `jsonrpc`, because clients send `json-rpc` or nothing.
        guard let id = call["id"] else { return Self.refuse(.invalidRequest, id: .null, &body) }
        guard case .text(let method)? = call["method"] else { return Self.refuse(.invalidRequest, id: id, &body) }
        var parameters: [Aria2Value] = []
        switch call["params"] {
        case nil: break
        case .list(let list)?: parameters = list
        default: return Self.refuse(.invalidParameters, id: id, &body)
        }
        let result = await self.call(method, parameters)
        body.writeEnvelope(id: id, result)
        if case .failure(let failure) = result { return failure.status }
        return 200
    }

    private static func refuse(_ failure: Aria2CallError, id: Aria2Value, _ body: inout ByteBuffer) -> Int {
        body.writeEnvelope(id: id, .failure(failure))
        return failure.status
    }
}

extension ByteBuffer {
    fileprivate mutating func writeEnvelope(id: Aria2Value, _ result: Result<Aria2Value, Aria2CallError>) {
        writeStaticString("{\"id\":")
        writeJSON(id)
        writeStaticString(",\"jsonrpc\":\"2.0\",")
        switch result {
        case .success(let value):
            writeStaticString("\"result\":")
            writeJSON(value)
        case .failure(let failure):
            writeStaticString("\"error\":")
            writeJSON(Aria2Calls.asJSON(failure))
        }
        writeStaticString("}")
    }
}
