package look

import (
	"fmt"
	"image/color"

	"fyne.io/fyne/v2"
)

// The icons, drawn as strokes on a grid of 24.
var icons = map[string]string{
	"copy":     `<rect x="8" y="8" width="12" height="12" rx="2"/><path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2"/>`,
	"check":    `<path d="M5 12.5l4.5 4.5L19 7.5"/>`,
	"cross":    `<path d="M6 6l12 12M18 6L6 18"/>`,
	"right":    `<path d="M9.5 6l6 6-6 6"/>`,
	"down":     `<path d="M6 9.5l6 6 6-6"/>`,
	"end":      `<path d="M12 4v13M6 11.5l6 6 6-6"/>`,
	"send":     `<path d="M12 20V5M5.5 11L12 4.5 18.5 11"/>`,
	"stop":     `<rect x="7" y="7" width="10" height="10" rx="1.5"/>`,
	"plus":     `<path d="M12 5v14M5 12h14"/>`,
	"clip":     `<rect x="6" y="5" width="12" height="15" rx="2"/><path d="M9.5 5V4a1 1 0 0 1 1-1h3a1 1 0 0 1 1 1v1M9 11h6M9 15h4"/>`,
	"camera":   `<path d="M4 8.5h3.5L9 6h6l1.5 2.5H20V19H4z"/><circle cx="12" cy="13" r="3.2"/>`,
	"file":     `<path d="M7 3h7l4 4v14H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1z"/><path d="M13.5 3.5V8H18"/>`,
	"select":   `<path d="M9 5H7M15 5h2M12 5v14M9 19H7M15 19h2"/>`,
	"gear":     `<circle cx="12" cy="12" r="3"/><path d="M12 3.5v3M12 17.5v3M3.5 12h3M17.5 12h3M6 6l2.1 2.1M15.9 15.9L18 18M18 6l-2.1 2.1M8.1 15.9L6 18"/>`,
	"pin":      `<path d="M9 4h6l-.8 6 2.8 3.5H7L9.800 10zM12 13.500V20"/>`,
	"tool":     `<path d="M14.500 6.500a4 4 0 0 0 5 5L12 19a2.800 2.800 0 0 1-4-4z"/>`,
	"warn":     `<path d="M12 4.500L21 19.500H3zM12 10.500v4M12 17v.4"/>`,
	"again":    `<path d="M19 12a7 7 0 1 1-2.300-5.200M17.500 3.500v3.800h-3.800"/>`,
	"fork":     `<circle cx="7" cy="6" r="2"/><circle cx="17" cy="6" r="2"/><circle cx="12" cy="19" r="2"/><path d="M7 8v1.500c0 2 5 2 5 4.500v3M17 8v1.500c0 2-5 2-5 4.500"/>`,
	"edit":     `<path d="M5 19l1-4L16.500 4.500l3 3L9 18z"/>`,
	"trash":    `<path d="M5 7h14M10 7V4.500h4V7M7 7l.8 13h8.400L17 7"/>`,
	"search":   `<circle cx="11" cy="11" r="6"/><path d="M15.500 15.500L20 20"/>`,
	"list":     `<path d="M5 7h14M5 12h14M5 17h14"/>`,
	"back":     `<path d="M19 12H5M11 6l-6 6 6 6"/>`,
	"book":     `<path d="M12 6.500C10 5 7 4.800 4 5.500v13c3-.7 6-.5 8 1 2-1.500 5-1.700 8-1v-13c-3-.7-6-.5-8 1zM12 6.500v13"/>`,
	"keys":     `<rect x="3.500" y="6.500" width="17" height="11" rx="2"/><path d="M7 10h.2M11 10h.2M15 10h.2M8 14h8"/>`,
	"bubble":   `<path d="M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-4.500 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z"/>`,
	"image":    `<rect x="4" y="5" width="16" height="14" rx="2"/><circle cx="9" cy="10" r="1.500"/><path d="M5 17l5-4 3 2.500 3-3 4 4"/>`,
	"undo":     `<path d="M8 6L4 10l4 4M4.500 10H14a5 5 0 0 1 0 10h-3"/>`,
	"download": `<path d="M12 4v11M7 10.500l5 5 5-5M5 20h14"/>`,
	"insert":   `<path d="M4 12h11M10 7l5 5-5 5M19 5v14"/>`,
	"pause":    `<path d="M9 6v12M15 6v12"/>`,
	"perch":    `<path d="M4 18.500h16M6.500 18.500c0-6 3-11 8.500-11 1 0 2 .3 2.700 1L20.500 9l-2 2c0 4-3 7.500-7 7.500"/><path d="M15.500 10.200v.2"/>`,
}

// Icon is an icon in a colour of the theme in use, as it is now: ask again when
// the theme has changed.
func Icon(name string, c fyne.ThemeColorName) fyne.Resource {
	hex := hexOf(Color(c))
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24" fill="none" stroke="%s" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">%s</svg>`, hex, icons[name])
	return fyne.NewStaticResource("perch-"+name+"-"+hex[1:]+".svg", []byte(svg))
}

func hexOf(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
