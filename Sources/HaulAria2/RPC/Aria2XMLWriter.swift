package import NIOCore

extension ByteBuffer {
    /// Writes an XML-RPC response with one result.
    package mutating func writeXMLResponse(_ value: Aria2Value) {
        writeStaticString("<?xml version=\"1.0\"?><methodResponse><params><param>")
        writeXML(value)
        writeStaticString("</param></params></methodResponse>")
    }

    /// Writes an XML-RPC response with an error.
    package mutating func writeXMLFault(code: Int64, _ message: String) {
        writeStaticString("<?xml version=\"1.0\"?><methodResponse><fault>")
        writeXML(["faultCode": .integer(code), "faultString": .text(message)])
        writeStaticString("</fault></methodResponse>")
    }

    private mutating func writeXML(_ value: Aria2Value) {
        writeStaticString("<value>")
        switch value {
        case .null: writeStaticString("<nil/>")
        case .flag(let flag): writeString("<boolean>\(flag ? 1 : 0)</boolean>")
        case .integer(let number):
            // Integers of XML-RPC have 32 bits; `i8` is an extension.
            let type = Int32(exactly: number) == nil ? "i8" : "int"
            writeString("<\(type)>\(number)</\(type)>")
        case .decimal(let number): writeString("<double>\(number.isFinite ? number : 0)</double>")
        case .text(let text):
            writeStaticString("<string>")
            writeXMLText(text)
            writeStaticString("</string>")
        case .list(let items):
            writeStaticString("<array><data>")
            for item in items { writeXML(item) }
            writeStaticString("</data></array>")
        case .structure(let members):
            writeStaticString("<struct>")
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                writeStaticString("<member><name>")
                writeXMLText(name)
                writeStaticString("</name>")
                writeXML(value)
                writeStaticString("</member>")
            }
            writeStaticString("</struct>")
        }
        writeStaticString("</value>")
    }

    /// Writes a text. Replaces characters that XML 1.0 does not allow by a question mark.
    private mutating func writeXMLText(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": writeStaticString("&amp;")
            case "<": writeStaticString("&lt;")
            case ">": writeStaticString("&gt;")
            case "\t", "\n": writeString(String(scalar))
            // A parser would turn a plain carriage return into a line feed.
            case "\r": writeStaticString("&#13;")
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": writeStaticString("?")
            default: writeString(String(scalar))
            }
        }
    }
}
