import NIOCore
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite("Calls and answers of aria2's RPC") struct Aria2EndpointTests {
    /// Answers each call with its own parameters.
    private struct Echo: Aria2Methods {
        func call(_ method: String, _ parameters: [Aria2Value]) async throws(Aria2Error) -> Aria2Value {
            guard method == "aria2.echo" else { throw Aria2Error(.unknown, "No such method: \(method)") }
            return .list(parameters)
        }
    }

    private func endpoint(_ secret: String? = nil) -> Aria2Endpoint {
        Aria2Endpoint(methods: Echo(), secret: secret.flatMap { Aria2Secret($0) })
    }

    private func json(_ text: String, secret: String? = nil) async -> (status: Int, text: String) {
        let answer = await endpoint(secret).json(ByteBuffer(string: text))
        return (answer.status, String(buffer: answer.body))
    }

    @Test("answers echo the id in its own type, and a token is taken off where none is needed")
    func echoes() async {
        for id in ["1", "\"a\"", "null", "[1]", "1.5"] {
            let answer = await json(#"{"id":\#(id),"method":"aria2.echo","params":["token:x",1]}"#)
            #expect(answer.text == #"{"id":\#(id),"jsonrpc":"2.0","result":[1]}"#)
            #expect(answer.status == 200)
        }
    }

    @Test("refusals have aria2's codes, messages and statuses")
    func refuses() async {
        for (text, status, answer) in [
            ("x", 500, #"{"id":null,"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error."}}"#),
            ("5", 500, #"{"id":null,"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error."}}"#),
            ("{}", 400, #"{"id":null,"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request."}}"#),
            (#"{"id":1}"#, 400, #"{"id":1,"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request."}}"#),
            (
                #"{"id":1,"method":"a","params":{}}"#, 500,
                #"{"id":1,"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params."}}"#
            ),
            (
                #"{"id":1,"method":"a"}"#, 400,
                #"{"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"No such method: a"}}"#
            ),
        ] {
            let result = await json(text)
            #expect(result.status == status && result.text == answer)
        }
    }

    @Test("batches are answered with 200, and what is no call in them is passed over")
    func batches() async {
        let answer = await json(#"[1,{"id":1,"method":"aria2.echo"},{"id":2,"method":"x"}]"#)
        #expect(answer.status == 200)
        #expect(
            answer.text
                == #"[{"id":1,"jsonrpc":"2.0","result":[]},{"id":2,"jsonrpc":"2.0","error":{"code":1,"message":"No such method: x"}}]"#
        )
        #expect(await json("[]").text == "[]")
    }

    @Test("a batch of a hundred thousand calls is refused, and answers do not grow without bound")
    func largeBatches() async {
        let calls = String(repeating: "{},", count: 100_000) + "{}"
        let refused = await json("[\(calls)]")
        #expect(refused.status == 400 && refused.text.contains("at most 10000 calls"))
        let text = String(repeating: "x", count: 1 << 20)
        let calls2 = (0..<100).map { #"{"id":\#($0),"method":"aria2.echo","params":["\#(text)"]}"# }
        let long = await json("[\(calls2.joined(separator: ","))]")
        #expect(long.text.utf8.count < 40 << 20)
        #expect(long.text.hasSuffix(#"ask for less at once."}}]"#))
    }

    @Test("a call without the secret is unauthorized, but for the lists of names")
    func secrets() async {
        let wrong = #"{"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"Unauthorized"}}"#
        for parameters in ["[]", #"["token:"]"#, #"["token:s3cre"]"#, #"["s3cret"]"#, #"[1,"token:s3cret"]"#] {
            let body = ByteBuffer(string: #"{"id":1,"method":"aria2.echo","params":\#(parameters)}"#)
            let answer = await endpoint("s3cret").json(body)
            #expect(answer.isUnauthorized && !answer.isAuthorized && answer.status == 400)
            #expect(String(buffer: answer.body) == wrong)
        }
        let right = await endpoint("s3cret").json(
            ByteBuffer(string: #"{"id":1,"method":"aria2.echo","params":["token:s3cret",2]}"#)
        )
        #expect(right.isAuthorized && !right.isUnauthorized)
        #expect(String(buffer: right.body) == #"{"id":1,"jsonrpc":"2.0","result":[2]}"#)
        let names = await json(#"{"id":1,"method":"system.listMethods"}"#, secret: "s3cret")
        #expect(names.text.contains("aria2.addUri") && !names.text.contains("addTorrent"))
        let events = await json(#"{"id":1,"method":"system.listNotifications"}"#, secret: "s3cret")
        #expect(events.text.contains("aria2.onDownloadStart"))
    }

    @Test("multicall carries a token in each call, and tells each failure in its place")
    func multicall() async {
        let calls = """
            [{"methodName":"aria2.echo","params":["token:s",1]},{"methodName":"aria2.echo","params":["token:x"]},\
            {"methodName":"system.multicall"},{"x":1},5,{"methodName":"nope","params":["token:s"]}]
            """
        let answer = await json(#"{"id":1,"method":"system.multicall","params":[\#(calls)]}"#, secret: "s")
        #expect(
            answer.text == """
                {"id":1,"jsonrpc":"2.0","result":[[[1]],{"code":1,"message":"Unauthorized"},\
                {"code":1,"message":"Recursive system.multicall forbidden."},{"code":1,"message":"Missing methodName."},\
                {"code":1,"message":"system.multicall expected struct."},{"code":1,"message":"No such method: nope"}]}
                """
        )
        #expect(answer.status == 200)
    }

    @Test("a query has its parameters in base64, and names the function that a script calls")
    func queries() async {
        // ["token:x",1]
        let answer = await endpoint().query("method=aria2.echo&id=a&params=WyJ0b2tlbjp4IiwxXQ%3D%3D&jsoncallback=cb")
        #expect(answer.encoding.contentType == "text/javascript")
        #expect(String(buffer: answer.body) == #"cb({"id":"a","jsonrpc":"2.0","result":[1]})"#)
        // [{"id":1,"method":"aria2.echo"}]
        let batch = await endpoint().query("params=W3siaWQiOjEsIm1ldGhvZCI6ImFyaWEyLmVjaG8ifV0=")
        #expect(String(buffer: batch.body) == #"[{"id":1,"jsonrpc":"2.0","result":[]}]"#)
        for query in ["", "method=aria2.echo", "method=aria2.echo&id=1&params=!!!"] {
            #expect(await endpoint().query(query[...]).status == 400)
        }
        let script = await endpoint().query("method=aria2.echo&id=1&jsoncallback=alert(1)%2F%2F")
        #expect(String(buffer: script.body).hasPrefix("{"))
    }

    @Test("XML-RPC answers faults with 200, and what is no call with 400")
    func xml() async {
        let call =
            "<methodCall><methodName>aria2.echo</methodName><params><param><value>a</value></param></params></methodCall>"
        #expect(String(buffer: await endpoint().xml(ByteBuffer(string: call)).body).contains("<string>a</string>"))
        let fault = await endpoint("s").xml(ByteBuffer(string: call))
        #expect(fault.status == 200 && fault.isUnauthorized)
        #expect(String(buffer: fault.body).contains("<string>Unauthorized</string>"))
        let wrong = await endpoint().xml(ByteBuffer(string: "x"))
        #expect(wrong.status == 400 && wrong.body.readableBytes == 0)
        let many = """
            <methodCall><methodName>system.multicall</methodName><params><param><value><array><data><value><struct><member>\
            <name>methodName</name><value>x</value></member></struct></value></data></array></value></param></params></methodCall>
            """
        #expect(String(buffer: await endpoint().xml(ByteBuffer(string: many)).body).contains("faultString"))
    }
}
