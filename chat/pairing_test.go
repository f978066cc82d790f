package chat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func user(id, text string) Message {
	return Message{ID: id, Role: RoleUser, Parts: []Part{Text(text)}}
}

func asst(id string, calls ...string) Message {
	m := Message{ID: id, Role: RoleAssistant, Parts: []Part{Text("…")}}
	for _, c := range calls {
		m.Parts = append(m.Parts, Part{Type: PartCall, Call: &ToolCall{ID: c, Name: "t"}})
	}
	return m
}

func result(call, text string) Message {
	return Message{ID: "r" + text, Role: RoleTool, Result: &ToolResult{CallID: call, Name: "t", Text: text}}
}

func standIn(call string) Message {
	m := result(call, InterruptedText)
	m.Result.Interrupted, m.Result.IsError = true, true
	return m
}

// shape writes a history as one line: u, a(calls), call=text or call=!.
func shape(msgs []Message) string {
	s := ""
	for i := range msgs {
		m := &msgs[i]
		switch {
		case m.Role == RoleUser:
			s += " u"
		case m.Result != nil && m.Result.Interrupted:
			s += " " + m.Result.CallID + "=!"
		case m.Result != nil:
			s += " " + m.Result.CallID + "=" + m.Result.Text
		default:
			s += " a("
			for j, c := range m.Calls() {
				if j > 0 {
					s += ","
				}
				s += c.ID
			}
			s += ")"
		}
	}
	return s
}

func TestRepairRestoresThePairingInvariant(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []Message
		want string
	}{
		{"killed between call and result", []Message{user("1", "q"), asst("2", "a")}, " u a(a) a=!"},
		{"killed between two results", []Message{asst("1", "a", "b"), result("a", "x"), user("2", "q")}, " a(a,b) a=x b=! u"},
		{"a real result beats a stand-in", []Message{asst("1", "a"), standIn("a"), result("a", "x")}, " a(a) a=x"},
		{"the first of several real ones wins", []Message{asst("1", "a"), result("a", "x"), result("a", "y")}, " a(a) a=x"},
		{"declared order", []Message{asst("1", "a", "b"), result("b", "y"), result("a", "x")}, " a(a,b) a=x b=y"},
		{"a result behind the user's words moves up", []Message{asst("1", "a"), user("2", "q"), result("a", "x")}, " a(a) a=x u"},
		{"an orphan result is dropped", []Message{result("z", "x"), user("1", "q")}, " u"},
		{"a result of a removed assistant message", []Message{user("1", "q"), result("a", "x"), asst("2")}, " u a()"},
		{"a call id used again in a later turn", []Message{asst("1", "a"), result("a", "x"), asst("2", "a"), result("a", "y")}, " a(a) a=x a(a) a=y"},
		{"a late result does not answer an earlier turn's call", []Message{asst("1", "a"), asst("2", "b"), result("a", "x"), result("b", "y")}, " a(a) a=! a(b) b=y"},
		{"calls that share an id get one each", []Message{asst("1", "a", "a"), result("a", "x"), result("a", "y")}, " a(a,a~1) a=x a~1=y"},
		{"an empty id", []Message{asst("1", "", ""), result("", "x")}, " a(~1,~2) ~1=x ~2=!"},
		{"a tool message without a result", []Message{asst("1", "a"), {ID: "2", Role: RoleTool}, result("a", "x")}, " a(a) a=x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := json.Marshal(c.in)
			got, rep := Repair(c.in)
			if s := shape(got); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			if !Paired(got) {
				t.Error("the repaired history is not paired")
			}
			if !rep.Changed() && shape(c.in) != c.want {
				t.Error("the report says nothing changed")
			}
			if after, _ := json.Marshal(c.in); string(after) != string(before) {
				t.Error("the input was changed")
			}
		})
	}
}

func TestRepairReturnsAPairedHistoryAsItIs(t *testing.T) {
	in := []Message{user("1", "q"), asst("2", "a", "b"), result("a", "x"), result("b", "y"), asst("3"), user("4", "z")}
	got, rep := Repair(in)
	if rep.Changed() || &got[0] != &in[0] || len(got) != len(in) {
		t.Errorf("a paired history was rebuilt: %+v", rep)
	}
}

// history draws a history with random damage: results missing, doubled, moved,
// foreign, interrupted; ids empty, repeated, reused.
func history(t *rapid.T) []Message {
	ids := rapid.SampledFrom([]string{"", "a", "b", "c", "call_1"})
	n := rapid.IntRange(0, 12).Draw(t, "n")
	var out []Message
	for i := range n {
		id := fmt.Sprint("m", i)
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			out = append(out, user(id, rapid.StringN(0, 8, -1).Draw(t, "text")))
		case 1:
			out = append(out, asst(id, rapid.SliceOfN(ids, 0, 4).Draw(t, "calls")...))
		case 2:
			m := result(ids.Draw(t, "call"), fmt.Sprint("t", i))
			m.ID = id
			out = append(out, m)
		default:
			m := standIn(ids.Draw(t, "call"))
			m.ID = id
			out = append(out, m)
		}
	}
	return out
}

func users(msgs []Message) []Message {
	var out []Message
	for _, m := range msgs {
		if m.Role == RoleUser {
			out = append(out, m)
		}
	}
	return out
}

func TestRepairHoldsForAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := history(t)
		// A kill at any point cuts the history short.
		in = in[:rapid.IntRange(0, len(in)).Draw(t, "kill")]
		got, _ := Repair(in)
		if !Paired(got) {
			t.Fatalf("not paired: %s from %s", shape(got), shape(in))
		}
		if !reflect.DeepEqual(users(got), users(in)) {
			t.Fatalf("the user's words were touched: %s from %s", shape(got), shape(in))
		}
		again, rep := Repair(got)
		if rep.Changed() || !reflect.DeepEqual(again, got) {
			t.Fatalf("a second repair changed %s to %s", shape(got), shape(again))
		}
	})
}

func TestRoundImagesFollowAllResultsOfTheRound(t *testing.T) {
	r1, r2 := result("a", "x"), result("b", "y")
	r1.Result.Images = []Image{{Hash: "h1", MIME: "image/png"}}
	r2.Result.Images = []Image{{Hash: "h2", MIME: "image/png"}}
	in := []Message{user("1", "q"), asst("2", "a", "b"), r1, r2}
	for _, tail := range [][]Message{nil, {asst("3")}, {user("4", "next")}} {
		got := WithRoundImages(append(append([]Message(nil), in...), tail...))
		if len(got) != len(in)+1+len(tail) {
			t.Fatalf("%d messages, want one more", len(got))
		}
		m := got[len(in)]
		if m.Role != RoleUser || m.Kind != KindRoundImages || len(m.Parts) != 4 {
			t.Fatalf("not one user message with both images: %+v", m)
		}
		if m.Parts[1].Image.Hash != "h1" || m.Parts[3].Image.Hash != "h2" {
			t.Error("images are not in the order of their calls")
		}
		if !Paired(got) {
			t.Error("the images tear the round apart")
		}
	}
	if got := WithRoundImages(in[:2]); &got[0] != &in[0] {
		t.Error("a history without images was copied")
	}
}

func FuzzRepair(f *testing.F) {
	f.Add([]byte(`[{"id":"1","role":"assistant","parts":[{"type":"call","call":{"id":"a","name":"t","input":""}}]}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var msgs []Message
		if json.Unmarshal(b, &msgs) != nil {
			return
		}
		got, _ := Repair(msgs)
		if !Paired(got) {
			t.Fatalf("not paired: %s", shape(got))
		}
		if _, rep := Repair(got); rep.Changed() {
			t.Fatal("a second repair changed something")
		}
	})
}

func BenchmarkRepair10000(b *testing.B) {
	var msgs []Message
	for i := range 2500 {
		id := fmt.Sprint(i)
		msgs = append(msgs, user("u"+id, "q"), asst("a"+id, "c"+id), result("c"+id, "x"), asst("b"+id))
	}
	b.Run("paired", func(b *testing.B) {
		for b.Loop() {
			Repair(msgs)
		}
	})
	broken := append([]Message{result("z", "x")}, msgs...)
	b.Run("broken at the start", func(b *testing.B) {
		for b.Loop() {
			Repair(broken)
		}
	})
}
