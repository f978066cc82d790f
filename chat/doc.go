// Package chat holds the types that every layer of Perch shares: messages,
// events, classed errors, tool definitions and results, and the rule that ties
// tool calls to their results.
//
// It imports nothing of ours and does no I/O. What it guarantees:
//
//   - A [Message] is plain data; its JSON form is what the store keeps and what
//     a session export holds.
//   - [Repair] is the only implementation of the pairing invariant: every tool
//     call in a history is answered by exactly one tool result, directly after
//     the assistant message that made it, in the order declared.
//   - An [Event] round-trips through its JSON form unchanged.
package chat
