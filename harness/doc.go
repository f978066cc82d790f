// Package harness makes a model's thinking a reliable series of actions.
//
// [Runner.Stream] works one user request to its end: model calls and tool
// rounds until the model stops. It is a generator of events; [Runner.Run]
// drains it, so that there is one implementation.
//
// What it guarantees:
//
//   - The user's message is stored durably before the first model call, and
//     every tool result as soon as it exists. A kill at any moment leaves a
//     session that loads, keeps the pairing invariant and can go on.
//   - Done is the last event of every outcome, failure and abort included. The
//     error half of the sequence is non-nil only where no Done can be made.
//   - Every call gets ToolStart and ToolEnd, also one that is unknown, invalid
//     or refused.
//   - No text ever shows twice: a Retry says how much of what was streamed is
//     void.
//   - A consumer that stops ranging aborts the run. No goroutine outlives the
//     range, except one held by a tool that ignores cancellation, which is given
//     up after [abandonAfter] and counted.
//   - What the model has seen is never edited, apart from compaction,
//     shortening and undo, so that a vendor's prefix cache keeps serving.
package harness
