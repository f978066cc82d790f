package chat

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestEventsRoundTripThroughJSON(t *testing.T) {
	for _, e := range []Event{
		&TextDelta{Text: "a"},
		&ThinkingDelta{Text: "b"},
		&ToolStart{ID: "c1", Name: "read_file", Input: json.RawMessage(`{"path":"x"}`)},
		&ToolProgress{ID: "c1", Message: "half"},
		&ToolEnd{ID: "c1", Name: "read_file", Result: "ok", Duration: 1500 * time.Millisecond},
		&Permission{ID: "c1", Name: "run_command", Need: NeedExecute, Detail: "ls", Needs: []Need{{Kind: NeedExecute, Subject: "ls"}}},
		&Compaction{TokensBefore: 10, TokensAfter: 4},
		&Retry{Attempt: 1, Reason: "r", Wait: 2 * time.Second, Withdrawn: Withdrawn{TextBytes: 3, ThinkingBytes: 1}},
		&Notice{ID: "n", Text: "t", Args: []string{"1"}},
		&Done{Result: Result{
			Session: "s", Text: "x", StopReason: StopError, Error: NewError(ClassAuth, "err.x", "No %s.", "key"),
			Usage: Usage{Input: 1, Output: 2, Cost: .5}, ToolFailures: []ToolFailures{{Tool: "t", Kind: FailPanic, Count: 2}},
			Timings: Timings{Provider: time.Second, Tools: 20 * time.Millisecond},
		}},
	} {
		Stamp(e, "run", 7)
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := UnmarshalEvent(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !reflect.DeepEqual(got, e) {
			t.Errorf("%s\n got %+v\nwant %+v", b, got, e)
		}
	}
}

func TestEventsHaveTheDocumentedKeys(t *testing.T) {
	for want, e := range map[string]Event{
		`{"type":"retry","run":"r","seq":1,"attempt":2,"reason":"x","withdrawn":{"text_bytes":3,"thinking_bytes":0},"wait_ms":1500}`: &Retry{Attempt: 2, Reason: "x", Wait: 1500 * time.Millisecond, Withdrawn: Withdrawn{TextBytes: 3}},
		`{"type":"tool_end","run":"r","seq":1,"id":"c","name":"n","result":"x","is_error":true,"duration_ms":20}`:                    &ToolEnd{ID: "c", Name: "n", Result: "x", IsError: true, Duration: 20 * time.Millisecond},
		`{"type":"done","run":"r","seq":1,"result":{"session":"s","text":"","stop_reason":"end","error":null,"model":"m","usage":{"input":0,"output":0,"cache_read":0,"cache_write":0,"cost":0},"rounds":0,"compactions":0,"retries":0,"tool_failures":[],"refused":0,"timings_ms":{"provider":1,"tools":0,"compaction":0,"waiting":0}}}`: &Done{Result: Result{Session: "s", StopReason: StopEnd, Model: "m", ToolFailures: []ToolFailures{}, Timings: Timings{Provider: time.Millisecond}}},
	} {
		b, err := json.Marshal(Stamp(e, "r", 1))
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != want {
			t.Errorf("\n got %s\nwant %s", b, want)
		}
	}
}

func TestAnUnknownEventIsAnError(t *testing.T) {
	if _, err := UnmarshalEvent([]byte(`{"type":"new_thing"}`)); err == nil {
		t.Error("an unknown type was accepted")
	}
}

func TestArgumentsThatAreNoObjectAreNotValidInput(t *testing.T) {
	for in, want := range map[string]bool{``: true, ` `: true, `{}`: true, `{"a":1}`: true, `{"a":`: false, `null`: false, `"x"`: false, `[1]`: false, `{} x`: false} {
		if _, ok := (&ToolCall{Input: in}).ValidInput(); ok != want {
			t.Errorf("%q: %v", in, ok)
		}
	}
}
