"""The far side of a call: what a server spent on a request, reported by it and shown under the client's call.

A server says how long its own sections took, in durations only, so that no clocks need to agree: in HTTP's header
`Server-Timing`, in gRPC's trailing metadata. Its side is turned on by hand, in one line: `asgi`, `wsgi`, `aiohttp` and
`grpc` here. The client's side is recorded without an edit (instruments/).
"""
