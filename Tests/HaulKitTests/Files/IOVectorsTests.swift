import Foundation
import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit

struct IOVectorsTests {
    private let buffers = [
        ByteBuffer(string: "abc"), ByteBuffer(string: ""), ByteBuffer(string: "defgh"), ByteBuffer(string: "i"),
    ]

    private func text(_ vectors: UnsafeBufferPointer<iovec>) -> String {
        vectors.map { String(decoding: UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len), as: UTF8.self) }
            .joined(separator: "|")
    }

    private func first(_ most: Int, of vectors: inout IOVectors) -> String {
        do throws(SystemCalls.Errno) { return try vectors.withFirst(most) { text($0) } } catch { return "\(error)" }
    }

    @Test func givesTheFrontAndKeepsTheRest() {
        IOVectors.withMemory(of: buffers) { vectors in
            #expect(vectors.count == 9)
            #expect(first(4, of: &vectors) == "abc||d")
            #expect(first(100, of: &vectors) == "abc||defgh|i")
            vectors.removeFirst(5)
            #expect(vectors.count == 4)
            #expect(first(2, of: &vectors) == "fg")
            #expect(first(4, of: &vectors) == "fgh|i")
            vectors.removeFirst(3)
            #expect(first(4, of: &vectors) == "i")
            vectors.removeFirst(1)
            #expect(vectors.count == 0)
            #expect(first(4, of: &vectors) == "")
        }
    }

    @Test(arguments: 0...10)
    func copiesTheFront(size: Int) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { memory.deallocate() }
        IOVectors.withMemory(of: buffers) { vectors in
            let count = vectors.copyFirst(into: memory)
            #expect(String(decoding: memory[..<count], as: UTF8.self) == String("abcdefghi".prefix(size)))
            vectors.removeFirst(4)
            let rest = vectors.copyFirst(into: memory)
            #expect(String(decoding: memory[..<rest], as: UTF8.self) == String("efghi".prefix(size)))
        }
    }
}
