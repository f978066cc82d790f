package chatview

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"

	"perch/popup/flow"
	"perch/popup/look"
	"perch/popup/transcript"
)

// user draws a piece of what the user wrote, in a bubble at the right.
func (b *builder) user() float32 {
	row := b.row
	opt := flow.Body()
	most := b.width * bubbleShare
	sp := []flow.Span{{Text: row.Text}}
	y, bottom := float32(0), float32(0)
	if row.First {
		y = turnGap
	}
	if row.Last {
		bottom = look.Unit
	}
	w := most
	t := b.r.flow()
	h := t.Set(sp, opt, most-2*pad)
	if row.First && row.Last {
		w = min(most, t.Natural()+1+2*pad)
		h = t.Set(sp, opt, w-2*pad)
	}
	x := b.left + b.width - w
	in, out := float32(0), float32(0)
	if row.First {
		in = 2 * look.Unit
	}
	if row.Last {
		out = 2 * look.Unit
	}
	b.box(look.Bubble, x, y, w, h+in+out, row.First, row.Last, look.Radius)
	t.Move(fyne.NewPos(x+pad, y+in))
	b.r.objects = append(b.r.objects, t)
	b.r.text, b.r.textPos = t, fyne.NewPos(x+pad, y+in)
	if row.First && row.Message != "" && b.r.v.actions.Edit != nil {
		n := len(b.r.objects)
		bx := x - buttonWidth("") - look.Unit
		message, text := row.Message, row.Text
		b.button("edit", "", look.Muted, bx, y+in, func() { b.r.v.actions.Edit(message, text) })
		for _, o := range b.r.objects[n:] {
			o.Hide()
			b.r.onHover = append(b.r.onHover, o)
		}
	}
	return y + in + h + out + bottom
}

// indented sets off list depth and quotation, draws bars and markers, and
// returns where the text stands.
func (b *builder) indented(top, height float32, line float32) (x, w float32) {
	x = b.left
	for range b.row.Quote {
		bar := canvas.NewRectangle(look.Color(look.Hairline))
		bar.CornerRadius = 1.5
		from := top
		if b.prev != nil && b.prev.Quote > 0 {
			from = 0
		}
		b.add(bar, x+1, from, 3, top+height-from)
		x += quoteStep
	}
	x += float32(b.row.Indent) * indentStep
	m := b.row.Marker
	if m.Kind != transcript.NoMarker {
		mx := x - indentStep
		switch m.Kind {
		case transcript.Bullet:
			const dot = 5
			c := canvas.NewCircle(look.Color(look.Muted))
			b.add(c, mx+look.Unit+1, top+(line-dot)/2, dot, dot)
		case transcript.Number:
			text := strings.TrimSpace(markerText(m, ""))
			opt := flow.Body()
			nw := flow.Width(text, opt.Size, fyne.TextStyle{})
			if nw > indentStep-look.Unit { // a wide number pushes its text
				x += nw - (indentStep - look.Unit)
			}
			opt.NoWrap = true
			b.put([]flow.Span{{Text: text, Color: look.Muted}}, opt, x-nw-look.Unit-1, top, nw+2)
		case transcript.Unchecked, transcript.Checked:
			const side = 13
			box := canvas.NewRectangle(theme.Color(theme.ColorNameShadow))
			box.CornerRadius, box.StrokeWidth, box.StrokeColor = 3, 1.5, look.Color(look.Muted)
			if m.Kind == transcript.Checked {
				box.FillColor, box.StrokeColor = look.Color(look.Accent), look.Color(look.Accent)
			}
			b.add(box, mx+1, top+(line-side)/2, side, side)
			if m.Kind == transcript.Checked {
				b.icon("check", theme.ColorNameForegroundOnPrimary, mx+1, top+(line-side)/2, side)
			}
		}
	}
	return x, b.left + b.width - x
}

// paragraph draws running text and headings.
func (b *builder) paragraph() float32 {
	row := b.row
	opt := flow.Body()
	gap := blockGap
	heading := row.Kind == transcript.Heading
	switch {
	case heading:
		gap = headingGap
	case b.prev != nil && (row.Indent > 0 && b.prev.Indent > 0 || row.Quote > 0 && b.prev.Quote > 0):
		gap = itemGap
	}
	sp := spans(row.Runs, heading, row.Dim)
	if heading && row.Level > 2 {
		for i := range sp {
			if sp[i].Color == "" && sp[i].Link == "" {
				sp[i].Color = look.Muted
			}
		}
	}
	probe := b.r.flow()
	x, w := b.measureIndent()
	h := max(probe.Set(sp, opt, w), opt.Line)
	b.indented(gap, h, opt.Line)
	probe.Move(fyne.NewPos(x, gap))
	b.r.objects = append(b.r.objects, probe)
	b.r.links = append(b.r.links, placed{probe, fyne.NewPos(x, gap)})
	b.r.text, b.r.textPos = probe, fyne.NewPos(x, gap)
	total := gap + h
	if heading && row.Level == 1 {
		b.box(look.Hairline, b.left, total+2, b.width, 1, false, false, 0)
		total += look.Unit
	}
	return total
}

// measureIndent is where indented will put the text.
func (b *builder) measureIndent() (x, w float32) {
	x = b.left + float32(b.row.Quote)*quoteStep + float32(b.row.Indent)*indentStep
	if b.row.Marker.Kind == transcript.Number {
		nw := flow.Width(strings.TrimSpace(markerText(b.row.Marker, "")), look.BodySize(), fyne.TextStyle{})
		if nw > indentStep-look.Unit {
			x += nw - (indentStep - look.Unit)
		}
	}
	return x, b.left + b.width - x
}

var codeColors = map[transcript.Class]fyne.ThemeColorName{
	transcript.Keyword: look.CodeKeyword, transcript.Name: look.CodeName, transcript.String: look.CodeString,
	transcript.NumberLit: look.CodeNumber, transcript.Comment: look.CodeComment, transcript.Operator: look.CodeOperator,
	transcript.Added: look.CodeString, transcript.Removed: look.Alarm,
}

func codeSpans(lines [][]transcript.Token) []flow.Span {
	var out []flow.Span
	for i, l := range lines {
		if i > 0 {
			if n := len(out); n > 0 {
				out[n-1].Text += "\n"
			} else {
				out = append(out, flow.Span{Text: "\n", Mono: true})
			}
		}
		for _, t := range l {
			out = append(out, flow.Span{Text: strings.ReplaceAll(t.Text, "\t", "    "), Mono: true, Color: codeColors[t.Class]})
		}
	}
	return out
}

func monoOptions() flow.Options {
	opt := flow.Small()
	opt.Anywhere = true
	return opt
}

// code draws a piece of a code block, the first with language and copy button.
func (b *builder) code() float32 {
	row := b.row
	opt := monoOptions()
	x, w := b.measureIndent()
	y, head := float32(0), float32(0)
	if row.First {
		y = blockGap
		head = flow.Small().Line + 2*look.Unit
	}
	t := b.r.flow()
	h := t.Set(codeSpans(row.Tokens()), opt, w-2*pad)
	in, out := float32(0), float32(0)
	if row.First {
		in = head
	}
	if row.Last {
		out = 2 * look.Unit
	}
	b.box(look.Sunken, x, y, w, in+h+out, row.First, row.Last, look.Radius)
	if row.First {
		label := row.Lang
		if label == "" {
			label = b.r.v.actions.text("popup.code")
		}
		small := flow.Small()
		small.NoWrap = true
		b.put([]flow.Span{{Text: label, Color: look.Muted}}, small, x+pad, y+look.Unit, w/2)
		word := b.r.v.actions.text("popup.copy")
		block := row.Block
		b.button("copy", word, look.Muted, x+w-buttonWidth(word)-look.Unit, y+look.Unit-2, func() {
			if b.r.v.actions.Copy != nil {
				b.r.v.actions.Copy(block.Text())
			}
		})
	}
	t.Move(fyne.NewPos(x+pad, y+in))
	b.r.objects = append(b.r.objects, t)
	b.r.text, b.r.textPos = t, fyne.NewPos(x+pad, y+in)
	return y + in + h + out
}

// output draws a piece of a tool's input or result.
func (b *builder) output() float32 {
	row := b.row
	opt := monoOptions()
	x, w := b.left+iconSize+look.Unit, b.width-iconSize-look.Unit
	y, in, out := float32(0), float32(0), float32(0)
	if row.First {
		y, in = look.Unit, 2*look.Unit
	}
	if row.Last {
		out = 2 * look.Unit
	}
	t := b.r.flow()
	color := fyne.ThemeColorName("")
	if row.Dim {
		color = look.Muted
	}
	h := t.Set([]flow.Span{{Text: strings.ReplaceAll(row.Text, "\t", "    "), Mono: true, Color: color}}, opt, w-2*pad)
	b.box(look.Sunken, x, y, w, in+h+out, row.First, row.Last, look.RadiusSmall)
	t.Move(fyne.NewPos(x+pad, y+in))
	b.r.objects = append(b.r.objects, t)
	b.r.text, b.r.textPos = t, fyne.NewPos(x+pad, y+in)
	return y + in + h + out
}

func (b *builder) math() float32 {
	opt := flow.Body()
	opt.Align = flow.AlignCentre
	h := b.main([]flow.Span{{Text: b.row.Text, Italic: true}}, opt, b.left, blockGap, b.width)
	return blockGap + h
}

func (b *builder) rule() float32 {
	const gap = 4 * look.Unit
	b.box(look.Hairline, b.left, gap, b.width, 1, false, false, 0)
	return 2*gap + 1 - blockGap
}

// estimate guesses a row's height before it is drawn. It is close for ordinary
// text, which keeps the scroll bar steady.
func estimate(r *transcript.Row, width float32) float32 {
	body, small := flow.Body(), flow.Small()
	w := max(width-2*look.Edge, 100)
	lines := func(text string, size float32) float32 {
		perLine := max(1, int(w/(size*0.52)))
		n := 0
		for _, l := range strings.Split(text, "\n") {
			n += 1 + len(l)/perLine
		}
		return float32(n)
	}
	switch r.Kind {
	case transcript.Paragraph, transcript.Heading:
		return blockGap + lines(plain(r), body.Size)*body.Line
	case transcript.User:
		return turnGap + lines(r.Text, body.Size)*body.Line + 4*look.Unit
	case transcript.Code, transcript.Output:
		return lines(r.Text, small.Size)*small.Line + 5*look.Unit
	case transcript.Table:
		return float32(len(r.Table.Rows)+1)*(body.Line+3*look.Unit) + blockGap
	case transcript.Picture:
		return pictureSize(r.Image, w).Height + blockGap
	}
	return small.Line + 2*look.Unit
}
