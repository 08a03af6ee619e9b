/// A kept connection ended before the first byte of the answer. Servers close idle connections at any time, so this
/// says nothing about the request. The request has to be repeated on another connection (RFC 9112 §9.3.1).
///
/// ``ResponseDecoder`` throws it; ``ExchangeStep`` repeats the request.
struct KeptConnectionClosed: Error {}
