import Foundation
import HaulServer
import NIOCore
import Testing

@testable import haul

/// Tests what `haul watch` reads and shows, without a daemon or a terminal.
@Suite struct WatchViewTests {
    private func event(_ name: String, _ json: String) -> ServerEvent { ServerEvent(name: name, data: Data(json.utf8)) }

    private func row(_ number: Int, _ more: String = #""state": "transferring", "name": "file.bin""#) -> String {
        """
        {"id": "01a20487-d608-77ce-8cf2-0ed74000000\(number)", \(more), "url": "http://h/f", "host": "h", "receivedBytes": 50, \
        "totalBytes": 100, "bytesPerSecond": 10, "connections": 1, "priority": 0, "addedAt": "2026-11-22T18:54:16.958Z"}
        """
    }

    private func id(_ number: Int) -> String { "01a20487-d608-77ce-8cf2-0ed74000000\(number)" }

    private func model(_ rows: [String]) throws -> WatchModel {
        var model = WatchModel()
        _ = try model.take(
            event("snapshot", #"{"rows": [\#(rows.joined(separator: ","))], "part": 1, "of": 1, "total": 1}"#)
        )
        return model
    }

    @Test func readsEventsFromPartsOfAStream() throws {
        let text = "retry: 2000\nid: a-1\nevent: hello\ndata: {\"boot\":\"a\"}\n\nevent: ping\ndata: {}\n\nid: a-2\nev"
        var reader = ServerEventReader()
        var events: [ServerEvent] = []
        for byte in text.utf8 { events += try reader.events(ByteBuffer(bytes: [byte])) }
        #expect(events.map(\.name) == ["hello", "ping"])
        #expect(String(decoding: events[0].data, as: UTF8.self) == "{\"boot\":\"a\"}")
        #expect(try reader.events(ByteBuffer(string: "ent: bye\ndata: {}\n\n")).map(\.name) == ["bye"])
    }

    @Test func mergesDeltas() throws {
        var model = try model([row(1), row(2)])
        #expect(model.order == [id(1), id(2)] && model.isWhole)
        _ = try model.take(
            event(
                "delta",
                #"{"rows": {"\#(id(1))": {"receivedBytes": 70, "totalBytes": null}}, "removed": ["\#(id(2))"]}"#
            )
        )
        #expect(model.order == [id(1)] && model.removed == [id(2)])
        #expect(model.row(id(1))?.receivedBytes == 70 && model.row(id(1))?.totalBytes == nil)
        // A row that was never sent whole is not shown.
        _ = try model.take(event("delta", #"{"rows": {"\#(id(3))": {"receivedBytes": 1}}, "removed": []}"#))
        #expect(model.order == [id(1)])
        guard case .readAgain = try model.take(event("delta", #"{"rows": {}, "removed": [], "stale": true}"#)) else {
            Issue.record("a stale list must be read again")
            return
        }
    }

    @Test func noLineIsWiderThanTheTerminalAndNothingOfANameIsObeyed() throws {
        let odd = #""state": "transferring", "name": "\u001b[2J家族の写真 with a long name that does not fit.jpg""#
        let model = try model([row(1, odd), row(2), row(3, #""state": "queued", "name": "b""#)])
        for columns in [20, 40, 80, 200] {
            var view = WatchView()
            let lines = view.lines(model, columns: columns, rows: 10)
            #expect(lines.count == 10)
            for line in lines {
                let shown = line.replacing(/\u{1B}\[[0-9]*m/, with: "")
                #expect(Format.width(shown) <= columns, "\(shown)")
                #expect(!shown.contains("\u{1B}"))
            }
        }
    }

    @Test func theSelectionStaysWithItsDownload() throws {
        let model = try model((1...9).map { row($0) })
        var view = WatchView()
        _ = view.lines(model, columns: 80, rows: 8)
        #expect(view.id == id(1))
        for _ in 0..<6 { view.move(.down, model.order, rows: 8) }
        #expect(view.id == id(7))
        // The list has scrolled until the selected row is visible.
        #expect(view.lines(model, columns: 80, rows: 8).contains { $0.hasPrefix("\u{1B}[7m") })
        view.follow(Array(model.order.dropFirst(3)))
        #expect(view.id == id(7) && view.selected == 3)
        view.move(.last, model.order, rows: 8)
        #expect(view.id == id(9))
        view.follow([])
        #expect(view.id == nil)
    }

    @Test func readsKeys() {
        let bytes = Array("q\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[1;5C\u{1B}[H j\u{3}".utf8)
        #expect(
            Key.keys(bytes[...]) == [
                .character("q"), .up, .down, .pageUp, .first, .character(" "), .character("j"),
            ]
        )
        #expect(Key.keys([0x1B][...]) == [] && Key.keys([0x1B, 0x5B][...]) == [])
    }
}
