import NIOCore
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite("JSON of aria2's RPC") struct Aria2JSONTests {
    private func read(_ text: String) -> Aria2Value? { Aria2JSONReader.value(of: Array(text.utf8)) }

    private func written(_ value: Aria2Value) -> String {
        var buffer = ByteBuffer()
        buffer.writeJSON(value)
        return String(buffer: buffer)
    }

    @Test("reads every kind of value")
    func readsEveryKindOfValue() {
        let value = read(#" {"a": [1, -2, 2.5, true, false, null], "b": {"c": "d"}, "e": [], "f": {}} "#)
        let expected: Aria2Value = [
            "a": [1, -2, .decimal(2.5), .flag(true), .flag(false), .null], "b": ["c": "d"], "e": [], "f": [:],
        ]
        #expect(value == expected)
    }

    @Test("reads escapes, and replaces halves of characters")
    func readsEscapes() {
        #expect(read(#""\"\\\/\b\f\n\r\té😀""#) == .text("\"\\/\u{8}\u{C}\n\r\té😀"))
        #expect(read(#""\ud83dx""#) == "\u{FFFD}x")
        #expect(read(#""\ud83dA""#) == "\u{FFFD}A")
    }

    @Test("keeps whole numbers that fit, and takes larger ones as fractions")
    func readsNumbers() {
        #expect(read("9223372036854775807") == .integer(.max))
        #expect(read("-9223372036854775808") == .integer(.min))
        #expect(read("9223372036854775808") == .decimal(9_223_372_036_854_775_808))
        #expect(read("1e400") == nil && read("--1") == nil && read("1-1") == nil && read("-") == nil)
        #expect(read(String(repeating: "1", count: 100)) == nil)
    }

    @Test(
        "refuses what is no JSON",
        arguments: [
            "", " ", "x", "[", "]", "[1", "[1,]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:2}",
            "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\n\"", "tru", "nul", "1 2", "[1]]", "{}x", "+1",
            "\u{FEFF}1",
        ]
    )
    func refusesWhatIsNoJSON(_ text: String) { #expect(read(text) == nil) }

    @Test("refuses what is nested too deep, whatever its length")
    func refusesWhatIsNestedTooDeep() {
        let most = Aria2JSONReader.mostDepth
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(read(nested(most)) != nil)
        #expect(read(nested(most + 1)) == nil)
        #expect(read(String(repeating: "[", count: 1_000_000)) == nil)
        #expect(read(String(repeating: "{\"a\":", count: 100_000)) == nil)
    }

    @Test("repairs bytes that are no UTF-8")
    func repairsBytes() {
        #expect(Aria2JSONReader.value(of: [0x22, 0xFF, 0x22]) == .text("\u{FFFD}"))
    }

    @Test("reads what it writes")
    func readsWhatItWrites() {
        let value: Aria2Value = [
            "text": .text("a\"\\\n\r\t\u{1}\u{7F}é😀/"), "list": [1, .flag(true), .null, .decimal(0.5)], "": [:],
        ]
        #expect(read(written(value)) == value)
        #expect(written(["b": 1, "a": "x"]) == #"{"a":"x","b":1}"#)
    }
}

@Suite("XML-RPC") struct Aria2XMLTests {
    private func read(_ text: String) -> (method: String, parameters: [Aria2Value])? {
        do { return try Aria2XMLReader.call(Array(text.utf8)) } catch { return nil }
    }

    private func value(_ xml: String) -> Aria2Value? {
        read(
            "<methodCall><methodName>m</methodName><params><param>\(xml)</param></params></methodCall>"
        )?.parameters.first
    }

    @Test("reads a call as Python writes it")
    func readsACall() throws {
        let call = try #require(
            read(
                """
                <?xml version='1.0'?>
                <methodCall>
                <methodName>aria2.addUri</methodName>
                <params>
                <param>
                <value><string>token:s</string></value>
                </param>
                <param>
                <value><array><data>
                <value><string>http://a/?b&amp;c</string></value>
                </data></array></value>
                </param>
                <param>
                <value><struct>
                <member>
                <name>pause</name>
                <value><boolean>1</boolean></value>
                </member>
                </struct></value>
                </param>
                <param><value><int>-3</int></value></param>
                </params>
                </methodCall>
                """
            )
        )
        #expect(call.method == "aria2.addUri")
        #expect(call.parameters == ["token:s", ["http://a/?b&c"], ["pause": .flag(true)], -3])
    }

    @Test("reads every type, and texts without one")
    func readsEveryType() {
        #expect(value("<value>plain &lt;&#65;&#x42;</value>") == "plain <AB")
        #expect(value("<value/>") == "" && value("<value><string/></value>") == "")
        #expect(
            value("<value> <i4> 7 </i4> </value>") == 7 && value("<value><i8>5000000000</i8></value>") == 5_000_000_000
        )
        #expect(value("<value><double>1.5</double></value>") == .decimal(1.5))
        #expect(value("<value><nil/></value>") == .null)
        #expect(value("<value><base64>QUJD</base64></value>") == "QUJD")
        #expect(value("<value><![CDATA[<a>&b]]></value>") == "<a>&b")
        #expect(value("<value><!-- c --><string a=\"'>\">x</string></value>") == "x")
        #expect(value("<value><array><data></data></array></value>") == [])
        #expect(value("<value><array><data/></array></value>") == [])
        #expect(read("<methodCall><methodName>m</methodName></methodCall>")?.parameters == [])
    }

    @Test(
        "refuses what is no call, and what could do harm",
        arguments: [
            "", "x", "<methodCall>", "<methodCall/>", "<a/>", "<methodCall><methodName>m</methodName></methodCall>x",
            "<methodCall><methodName>m</methodName></methodCall><methodCall/>",
            "<!DOCTYPE x [<!ENTITY a \"b\">]><methodCall><methodName>m</methodName></methodCall>",
            "<methodCall><methodName>&a;</methodName></methodCall>",
            "<methodCall><methodName>&#0;</methodName></methodCall>",
            "<methodCall><methodName>&#xD800;</methodName></methodCall>",
            "<methodCall><methodName>&amp</methodName></methodCall>",
            "<methodCall><methodName>m</methodName><params></methodCall>",
            "<methodCall><methodName>m</methodName><params><param><value><int>x</int></value></param></params></methodCall>",
            "<methodCall><methodName>m</methodName><params><param><value><x>1</x></value></param></params></methodCall>",
            "<methodCall><methodName>m</methodName><params><param><value>a<int>1</int></value></param></params></methodCall>",
            "<methodCall <methodName>m</methodName></methodCall>", "<methodCall><!-- ", "<methodCall><![CDATA[",
            "<?xml",
        ]
    )
    func refusesWhatIsNoCall(_ text: String) { #expect(read(text) == nil) }

    @Test("refuses what is nested too deep, and entities in great number")
    func refusesWhatIsNestedTooDeep() {
        let open = String(repeating: "<value><array><data>", count: 100_000)
        #expect(value(open) == nil)
        #expect(read("<methodCall><methodName>" + String(repeating: "&lol;", count: 100_000)) == nil)
        #expect(read(String(repeating: "<!--", count: 100_000)) == nil)
    }

    @Test("writes responses and faults as aria2 does")
    func writesResponses() {
        var buffer = ByteBuffer()
        buffer.writeXMLResponse([["a": "<&>\u{1}"], [], 1])
        #expect(
            String(buffer: buffer) == """
                <?xml version="1.0"?><methodResponse><params><param><value><array><data><value><struct><member><name>a</name>\
                <value><string>&lt;&amp;&gt;?</string></value></member></struct></value><value><array><data></data></array></value>\
                <value><int>1</int></value></data></array></value></param></params></methodResponse>
                """
        )
        buffer.clear()
        buffer.writeXMLFault(code: 1, "No such method: a")
        #expect(
            String(buffer: buffer) == """
                <?xml version="1.0"?><methodResponse><fault><value><struct><member><name>faultCode</name><value><int>1</int></value>\
                </member><member><name>faultString</name><value><string>No such method: a</string></value></member></struct>\
                </value></fault></methodResponse>
                """
        )
    }
}
