package look

import (
	"image/color"
	"math"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// minContrast is what WCAG 2.1 asks of text at level AA.
const minContrast = 4.5

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	lin := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.03928 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}

func TestTextIsReadableOnEverySurface(t *testing.T) {
	texts := []fyne.ThemeColorName{theme.ColorNameForeground, Muted, Accent, Alarm, theme.ColorNamePlaceHolder}
	surfaces := []fyne.ThemeColorName{theme.ColorNameBackground, Surface, Sunken, Bubble, Caution, theme.ColorNameButton}
	code := []fyne.ThemeColorName{CodeKeyword, CodeName, CodeString, CodeNumber, CodeComment, CodeOperator}
	for _, variant := range []string{"light", "dark"} {
		th := Theme{Variant: variant}
		check := func(text, on fyne.ThemeColorName) {
			if c := contrast(th.Color(text, 0), th.Color(on, 0)); c < minContrast {
				t.Errorf("%s: %s on %s has contrast %.2f", variant, text, on, c)
			}
		}
		for _, on := range surfaces {
			for _, text := range texts {
				check(text, on)
			}
		}
		for _, text := range code {
			check(text, Sunken)
		}
		check(theme.ColorNameForegroundOnPrimary, theme.ColorNamePrimary)
	}
}

func TestVariantSettingWinsOverTheSystem(t *testing.T) {
	if got := (Theme{Variant: "dark"}).Color(theme.ColorNameBackground, theme.VariantLight); got != dark[theme.ColorNameBackground] {
		t.Errorf("got %v", got)
	}
	if got := (Theme{}).Color(theme.ColorNameBackground, theme.VariantDark); got != dark[theme.ColorNameBackground] {
		t.Errorf("system dark gave %v", got)
	}
	if got := (Theme{Scale: 2}).Size(theme.SizeNameText); got != 2*Body {
		t.Errorf("text size %v", got)
	}
}
