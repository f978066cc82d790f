package place

import "testing"

func TestPopupOpensInTheUpperThirdOfTheScreenInUse(t *testing.T) {
	one := []Rect{{0, 0, 1920, 1080}}
	two := []Rect{{0, 0, 1920, 1080}, {1920, 0, 2560, 1440}}
	mixed := []Rect{{0, 0, 3840, 2160}, {3840, 540, 1920, 1080}} // one at scale 2, one at 1, in pixels
	above := []Rect{{0, 0, 1920, 1080}, {0, -1200, 1920, 1200}}
	cases := []struct {
		name string
		d    Desktop
		w, h int
		want Point
	}{
		{"one screen", Desktop{Screens: one}, 640, 120, Point{640, 180}},
		{"focus decides", Desktop{Screens: two, Focus: Rect{2000, 100, 800, 600}, Pointer: Point{10, 10}}, 640, 120, Point{2880, 240}},
		{"most of the focused window decides", Desktop{Screens: two, Focus: Rect{1800, 100, 800, 600}}, 640, 120, Point{2880, 240}},
		{"pointer without focus", Desktop{Screens: two, Pointer: Point{2500, 700}}, 640, 120, Point{2880, 240}},
		{"pointer when the focus is nowhere", Desktop{Screens: two, Focus: Rect{-500, -500, 10, 10}, Pointer: Point{2500, 700}}, 640, 120, Point{2880, 240}},
		{"pointer in a gap", Desktop{Screens: mixed, Pointer: Point{3900, 10}}, 1280, 240, Point{1280, 360}},
		{"scale 2", Desktop{Screens: mixed, Pointer: Point{10, 10}}, 1280, 240, Point{1280, 360}},
		{"scale 1 beside it", Desktop{Screens: mixed, Pointer: Point{4000, 700}}, 640, 120, Point{4480, 720}},
		{"screen above", Desktop{Screens: above, Pointer: Point{10, -10}}, 640, 120, Point{640, -1000}},
		{"panel at the top", Desktop{Screens: one, Work: Rect{0, 40, 1920, 1040}}, 640, 120, Point{640, 213}},
		{"panel at the left", Desktop{Screens: one, Work: Rect{100, 0, 1820, 1080}}, 620, 120, Point{700, 180}},
		{"tall window moves up", Desktop{Screens: one}, 640, 1000, Point{640, 72}},
		{"window higher than the screen", Desktop{Screens: one}, 640, 1200, Point{640, 0}},
		{"window wider than the screen", Desktop{Screens: []Rect{{100, 0, 600, 800}}, Pointer: Point{200, 5}}, 640, 100, Point{100, 133}},
		{"no screen known", Desktop{}, 640, 100, Point{320, 133}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := On(c.d, c.w, c.h); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestRoomEndsAboveTheScreensEdge(t *testing.T) {
	if got, want := Room(Desktop{Screens: []Rect{{0, 0, 1920, 1080}}}), 1080-180-edge; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
