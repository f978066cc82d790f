// Package look is the appearance of the popup in one file: colours for light and
// dark, spacing, two text sizes, radii. Every text colour has a contrast of at
// least 4.5:1 on the surfaces it is used on; a test holds that.
package look

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// Names of the colours beyond those of the toolkit.
const (
	// Surface is the entry, cards and menus; Sunken is code and tool output.
	Surface fyne.ThemeColorName = "perch-surface"
	Sunken  fyne.ThemeColorName = "perch-sunken"
	// Bubble is behind what the user wrote.
	Bubble fyne.ThemeColorName = "perch-bubble"
	// Hairline are borders and rules.
	Hairline fyne.ThemeColorName = "perch-hairline"
	// Muted is secondary text; Accent is what can be acted on.
	Muted  fyne.ThemeColorName = "perch-muted"
	Accent fyne.ThemeColorName = "perch-accent"
	// Marked is behind selected text.
	Marked fyne.ThemeColorName = "perch-marked"
	// Caution is behind a question or warning.
	Caution fyne.ThemeColorName = "perch-caution"
	// Alarm is text about a failure.
	Alarm fyne.ThemeColorName = "perch-alarm"
	// The colours of code.
	CodeKeyword  fyne.ThemeColorName = "perch-code-keyword"
	CodeName     fyne.ThemeColorName = "perch-code-name"
	CodeString   fyne.ThemeColorName = "perch-code-string"
	CodeNumber   fyne.ThemeColorName = "perch-code-number"
	CodeComment  fyne.ThemeColorName = "perch-code-comment"
	CodeOperator fyne.ThemeColorName = "perch-code-operator"
)

// Sizes in units of the toolkit, which are pixels at scale 1. All spacing is a
// multiple of Unit.
const (
	Unit float32 = 4
	// Body and Small are the two text sizes.
	Body  float32 = 14
	Small float32 = 12
	// Line is the height of a line of text as a multiple of its size.
	Line float32 = 1.5
	// Edge is the distance of content from the window's edge.
	Edge = 4 * Unit
	// Radius is the corner of bubbles, cards and the entry; RadiusSmall of chips,
	// buttons and inline code.
	Radius      float32 = 10
	RadiusSmall float32 = 6
)

type palette map[fyne.ThemeColorName]color.NRGBA

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func rgba(v uint32, a uint8) color.NRGBA {
	c := rgb(v)
	c.A = a
	return c
}

var light = palette{
	theme.ColorNameBackground: rgb(0xfbfaf7), Surface: rgb(0xffffff), Sunken: rgb(0xf3f1ec), Bubble: rgb(0xe9f1ee),
	theme.ColorNameForeground: rgb(0x20242a), Muted: rgb(0x5f6672), Accent: rgb(0x0b6b5f), Hairline: rgb(0xe3dfd6),
	Marked: rgba(0x0b8f7e, 0x40), Caution: rgb(0xfdf3dc), Alarm: rgb(0xb3261e),
	CodeKeyword: rgb(0x8a3ab9), CodeName: rgb(0x1f5fae), CodeString: rgb(0x2f6f2f), CodeNumber: rgb(0x9a4a00),
	CodeComment: rgb(0x646a73), CodeOperator: rgb(0x4a5058),
}

var dark = palette{
	theme.ColorNameBackground: rgb(0x1a1c20), Surface: rgb(0x24272c), Sunken: rgb(0x14161a), Bubble: rgb(0x243733),
	theme.ColorNameForeground: rgb(0xe7e8ea), Muted: rgb(0xa2a8b2), Accent: rgb(0x63cdb9), Hairline: rgb(0x353940),
	Marked: rgba(0x63cdb9, 0x50), Caution: rgb(0x3a3120), Alarm: rgb(0xff8d84),
	CodeKeyword: rgb(0xcf9bf0), CodeName: rgb(0x8dbdf7), CodeString: rgb(0x9fd08c), CodeNumber: rgb(0xf0b07a),
	CodeComment: rgb(0x8d949e), CodeOperator: rgb(0xb8bec6),
}

// Theme is Perch's look. The zero value follows the system.
type Theme struct {
	// Variant is "", "light" or "dark"; "" follows the system.
	Variant string
	// Scale multiplies text sizes; 0 counts as 1.
	Scale float32
	// Fonts replaces the bundled fonts, nil for none.
	Fonts func(fyne.TextStyle) fyne.Resource
}

var _ fyne.Theme = Theme{}

func (t Theme) palette(v fyne.ThemeVariant) palette {
	switch {
	case t.Variant == "dark", t.Variant != "light" && v == theme.VariantDark:
		return dark
	}
	return light
}

// Color is the colour of a name.
func (t Theme) Color(name fyne.ThemeColorName, v fyne.ThemeVariant) color.Color {
	p := t.palette(v)
	if c, ok := p[name]; ok {
		return c
	}
	isDark := p[theme.ColorNameBackground] == dark[theme.ColorNameBackground]
	switch name {
	case theme.ColorNamePrimary, theme.ColorNameHyperlink, theme.ColorNameSuccess:
		return p[Accent]
	case theme.ColorNameFocus:
		return rgba(0x2fa58f, 0x66)
	case theme.ColorNameSelection:
		return p[Marked]
	case theme.ColorNameInputBackground, theme.ColorNameMenuBackground, theme.ColorNameOverlayBackground, theme.ColorNameHeaderBackground:
		return p[Surface]
	case theme.ColorNameInputBorder: // forms: it must be seen what can be typed into
		if isDark {
			return rgb(0x5a606a)
		}
		return rgb(0xb5b0a5)
	case theme.ColorNameSeparator, theme.ColorNameInnerWindowBorder:
		return p[Hairline]
	case theme.ColorNamePlaceHolder, theme.ColorNameDisabled:
		return p[Muted]
	case theme.ColorNameButton, theme.ColorNameDisabledButton:
		return p[Sunken]
	case theme.ColorNameHover:
		if isDark {
			return rgba(0xffffff, 0x12)
		}
		return rgba(0x000000, 0x0b)
	case theme.ColorNamePressed:
		if isDark {
			return rgba(0xffffff, 0x20)
		}
		return rgba(0x000000, 0x18)
	case theme.ColorNameScrollBar:
		if isDark {
			return rgba(0xffffff, 0x40)
		}
		return rgba(0x000000, 0x38)
	case theme.ColorNameScrollBarBackground, theme.ColorNameShadow:
		return color.NRGBA{}
	case theme.ColorNameError, theme.ColorNameWarning:
		return p[Alarm]
	case theme.ColorNameForegroundOnPrimary, theme.ColorNameForegroundOnError, theme.ColorNameForegroundOnSuccess, theme.ColorNameForegroundOnWarning:
		if isDark {
			return rgb(0x0e1b18)
		}
		return rgb(0xffffff)
	}
	if isDark {
		return theme.DefaultTheme().Color(name, theme.VariantDark)
	}
	return theme.DefaultTheme().Color(name, theme.VariantLight)
}

// Font is the bundled font of a style, or the one that replaces it. Scripts that
// it lacks come from the system's fonts.
func (t Theme) Font(s fyne.TextStyle) fyne.Resource {
	if t.Fonts != nil {
		if f := t.Fonts(s); f != nil {
			return f
		}
	}
	return theme.DefaultTheme().Font(s)
}

// Icon is the toolkit's icon of a name.
func (t Theme) Icon(name fyne.ThemeIconName) fyne.Resource { return theme.DefaultTheme().Icon(name) }

// Size is the size of a name.
func (t Theme) Size(name fyne.ThemeSizeName) float32 {
	scale := t.Scale
	if scale <= 0 {
		scale = 1
	}
	switch name {
	case theme.SizeNameText, theme.SizeNameHeadingText, theme.SizeNameSubHeadingText:
		return Body * scale
	case theme.SizeNameCaptionText:
		return Small * scale
	case theme.SizeNamePadding:
		return Unit
	case theme.SizeNameInnerPadding:
		return 2 * Unit
	case theme.SizeNameLineSpacing:
		return Unit
	case theme.SizeNameInlineIcon:
		return 18 * scale
	case theme.SizeNameInputRadius, theme.SizeNameSelectionRadius:
		return RadiusSmall
	case theme.SizeNameInputBorder, theme.SizeNameSeparatorThickness:
		return 1
	case theme.SizeNameScrollBar:
		return 8
	case theme.SizeNameScrollBarSmall:
		return 4
	case theme.SizeNameScrollBarRadius:
		return 4
	}
	return theme.DefaultTheme().Size(name)
}

// Color is a colour of the theme in use.
func Color(name fyne.ThemeColorName) color.Color { return theme.Color(name) }

// BodySize and SmallSize are the text sizes of the theme in use.
func BodySize() float32 { return theme.Size(theme.SizeNameText) }

// SmallSize is the smaller text size of the theme in use.
func SmallSize() float32 { return theme.Size(theme.SizeNameCaptionText) }
