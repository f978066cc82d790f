package desktop

import (
	"image"
	"testing"

	"perch/control"
)

func TestShotIsTheMonitorInUse(t *testing.T) {
	whole := image.Rect(0, 0, 3840, 1080)
	left, right := image.Rect(0, 0, 1920, 1080), image.Rect(1920, 0, 3840, 1080)
	both := []image.Rectangle{left, right}
	none := image.Rectangle{}
	for name, c := range map[string]struct {
		shot     control.Shot
		monitors []image.Rectangle
		window   image.Rectangle
		pointer  image.Point
		want     image.Rectangle
	}{
		"window on the right":              {control.Shot{What: ShotScreen}, both, image.Rect(2000, 100, 2500, 500), image.Pt(5, 5), right},
		"window across, more on the left":  {control.Shot{What: ShotScreen}, both, image.Rect(1000, 100, 2100, 500), image.Pt(2000, 5), left},
		"no window, mouse on the right":    {control.Shot{What: ShotScreen}, both, none, image.Pt(2000, 5), right},
		"no window, mouse nowhere":         {control.Shot{What: ShotScreen}, both, none, image.Pt(-1, 5), left},
		"server that knows no monitors":    {control.Shot{What: ShotScreen}, nil, none, image.Pt(5, 5), whole},
		"nothing asked in particular":      {control.Shot{}, both, none, image.Pt(2000, 5), right},
		"everything":                       {control.Shot{What: ShotAll}, both, none, image.Pt(5, 5), whole},
		"window that hangs over the edge":  {control.Shot{What: ShotWindow}, both, image.Rect(-50, 900, 300, 1200), image.Pt(5, 5), image.Rect(0, 900, 300, 1080)},
		"region":                           {control.Shot{What: ShotRegion, Rect: [4]int{10, 20, 30, 40}}, both, none, image.Pt(5, 5), image.Rect(10, 20, 40, 60)},
		"region across both monitors":      {control.Shot{What: ShotRegion, Rect: [4]int{1900, 0, 100, 10}}, both, none, image.Pt(5, 5), image.Rect(1900, 0, 2000, 10)},
		"region outside":                   {control.Shot{What: ShotRegion, Rect: [4]int{5000, 0, 100, 10}}, both, none, image.Pt(5, 5), none},
		"region of negative size is empty": {control.Shot{What: ShotRegion, Rect: [4]int{5, 5, 0, 0}}, both, none, image.Pt(5, 5), none},
	} {
		got := part(c.shot, whole, c.monitors, c.window, c.pointer)
		if got != c.want && !(got.Empty() && c.want.Empty()) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestMenusOfTheSameMeaningKeepTheirEntries(t *testing.T) {
	a := []Entry{{Label: "Ask", Action: "ask"}, {Separator: true}, {Label: "S · now", Action: "session", Arg: "1"}}
	for name, c := range map[string]struct {
		b    []Entry
		want bool
	}{
		"other age":     {[]Entry{a[0], a[1], {Label: "S · 5 min", Action: "session", Arg: "1"}}, true},
		"disabled":      {[]Entry{{Label: "Ask", Action: "ask", Disabled: true}, a[1], a[2]}, true},
		"other session": {[]Entry{a[0], a[1], {Label: "S · now", Action: "session", Arg: "2"}}, false},
		"one more":      {append(append([]Entry{}, a...), Entry{Action: "quit"}), false},
		"one less":      {a[:2], false},
		"other order":   {[]Entry{a[2], a[1], a[0]}, false},
	} {
		if got := sameMeaning(a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
