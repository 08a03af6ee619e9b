/// A binary heap of small numbers; each number stands for a value stored elsewhere. The heap reports every change of an
/// element's place, so that the caller can move or remove an element from the middle and no stale element stays in the
/// heap.
///
/// The caller passes the order with each call. The order of two elements must not change while both are in the heap,
/// except for the element passed to ``settle(at:precedes:moved:)``. The first number is stored inline, so that a heap
/// of one element allocates nothing: a queue may have 100,000 such heaps, one for each host.
package struct IndexedHeap: Sendable {
    private var rest: [Int32] = []
    private var top: Int32 = -1

    package typealias Precedes = (Int, Int) -> Bool
    /// Receives a number and its new place; ``outside`` when the number has left the heap.
    package typealias Moved = (_ number: Int, _ place: Int) -> Void

    static let outside = -1

    package var isEmpty: Bool { top < 0 }
    package var count: Int { top < 0 ? 0 : rest.count + 1 }
    /// All numbers. The first precedes all others; the others are in no particular order.
    package var numbers: [Int] { top < 0 ? [] : [Int(top)] + rest.map(Int.init) }

    /// The number that precedes all others.
    package var first: Int? { top < 0 ? nil : Int(top) }

    /// The setter is for an element whose value got another number. The order of the element must not change.
    package subscript(place: Int) -> Int {
        get { Int(place == 0 ? top : rest[place - 1]) }
        set {
            if place == 0 { top = Int32(newValue) } else { rest[place - 1] = Int32(newValue) }
        }
    }

    package mutating func insert(_ number: Int, precedes: Precedes, moved: Moved) {
        let place = count
        if place > 0 { rest.append(Int32(number)) }
        sink(number, from: rise(number, from: place, precedes, moved), precedes, moved)
    }

    package mutating func remove(at place: Int, precedes: Precedes, moved: Moved) {
        moved(self[place], Self.outside)
        let last = count - 1
        let number = self[last]
        if last == 0 {
            top = -1
            return
        }
        rest.removeLast()
        // Frees the memory of an empty array.
        if rest.isEmpty { rest = [] }
        guard place != last else { return }
        sink(number, from: rise(number, from: place, precedes, moved), precedes, moved)
    }

    /// Restores the heap after the order of the element at `place` has changed.
    package mutating func settle(at place: Int, precedes: Precedes, moved: Moved) {
        let number = self[place]
        sink(number, from: rise(number, from: place, precedes, moved), precedes, moved)
    }

    /// Inserts, removes or repositions `number`, so that the heap contains it if and only if `isIn` is `true`. `place`
    /// is its present place, or ``outside``.
    package mutating func set(_ number: Int, at place: Int, isIn: Bool, precedes: Precedes, moved: Moved) {
        switch (place == Self.outside, isIn) {
        case (true, true): insert(number, precedes: precedes, moved: moved)
        case (false, true): settle(at: place, precedes: precedes, moved: moved)
        case (false, false): remove(at: place, precedes: precedes, moved: moved)
        case (true, false): break
        }
    }

    /// Moves the elements above `place` one level down, as long as they come after `number`.
    ///
    /// - Returns: the place that is free for `number` now.
    private mutating func rise(_ number: Int, from place: Int, _ precedes: Precedes, _ moved: Moved) -> Int {
        var place = place
        while place > 0 {
            let above = self[(place - 1) / 2]
            guard precedes(number, above) else { break }
            put(above, at: place, moved)
            place = (place - 1) / 2
        }
        return place
    }

    private mutating func sink(_ number: Int, from place: Int, _ precedes: Precedes, _ moved: Moved) {
        var place = place
        let count = count
        while 2 * place + 1 < count {
            var below = 2 * place + 1
            if below + 1 < count, precedes(self[below + 1], self[below]) { below += 1 }
            guard precedes(self[below], number) else { break }
            put(self[below], at: place, moved)
            place = below
        }
        put(number, at: place, moved)
    }

    private mutating func put(_ number: Int, at place: Int, _ moved: Moved) {
        self[place] = number
        moved(number, place)
    }
}
