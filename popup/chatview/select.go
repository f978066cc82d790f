package chatview

import (
	"strings"

	"fyne.io/fyne/v2"

	"perch/popup/transcript"
)

// point is a place in the text: a row and a byte of its plain text.
type point struct{ row, off int }

func (p point) before(q point) bool { return p.row < q.row || p.row == q.row && p.off < q.off }

// selection is the selected text, from anchor to head in the order the user
// made it.
type selection struct {
	on           bool
	anchor, head point
}

func (s *selection) ordered() (from, to point) {
	if s.head.before(s.anchor) {
		return s.head, s.anchor
	}
	return s.anchor, s.head
}

// clip drops a selection that reaches beyond the rows.
func (s *selection) clip(rows int) {
	if s.anchor.row >= rows || s.head.row >= rows {
		*s = selection{}
	}
}

// within are the selected bytes of a row of n bytes.
func (s *selection) within(row, n int) (from, to int) {
	if !s.on {
		return 0, 0
	}
	a, b := s.ordered()
	if row < a.row || row > b.row {
		return 0, 0
	}
	from, to = 0, n+1
	if row == a.row {
		from = a.off
	}
	if row == b.row {
		to = b.off
	}
	return from, to
}

// pointAt is the place in the text nearest to a position of the content.
func (v *View) pointAt(pos fyne.Position) point {
	i := v.rowAt(pos.Y)
	if i >= len(v.rows) {
		i = len(v.rows) - 1
		if i < 0 {
			return point{}
		}
		return point{i, len(plain(v.rows[i]))}
	}
	r := v.shown[i]
	if r == nil {
		return point{i, 0}
	}
	return point{i, r.offsetAt(pos.Subtract(r.Position()))}
}

func (v *View) begin(p point) {
	had := v.sel.on
	v.sel = selection{anchor: p, head: p}
	if had {
		v.reselect()
	}
}

func (v *View) extend(p point) {
	v.sel.head, v.sel.on = p, true
	v.reselect()
}

func (v *View) selectWord(p point) {
	r := v.shown[p.row]
	if r == nil || r.text == nil {
		return
	}
	from, to := r.text.WordAt(p.off)
	v.sel = selection{on: true, anchor: point{p.row, from}, head: point{p.row, to}}
	v.reselect()
}

func (v *View) selectBlock(p point) {
	if p.row >= len(v.rows) {
		return
	}
	v.sel = selection{on: true, anchor: point{p.row, 0}, head: point{p.row, len(plain(v.rows[p.row]))}}
	v.reselect()
}

// SelectNone drops the selection and reports whether there was one.
func (v *View) SelectNone() bool {
	had := v.sel.on
	v.sel = selection{}
	if had {
		v.reselect()
	}
	return had
}

func (v *View) reselect() {
	for i, r := range v.shown {
		v.selectRow(i, r)
	}
}

func (v *View) selectRow(i int, r *rowView) {
	if r.text == nil {
		return
	}
	from, to := v.sel.within(i, len(r.text.Plain()))
	r.text.Select(from, to)
}

// primary tells the owner that the user has made a selection.
func (v *View) primary() {
	if v.actions.Selected != nil {
		if text := v.SelectedText(); text != "" {
			v.actions.Selected(text)
		}
	}
}

// SelectedText is the selected text, blocks apart by blank lines.
func (v *View) SelectedText() string {
	if !v.sel.on {
		return ""
	}
	a, b := v.sel.ordered()
	var out strings.Builder
	for i := a.row; i <= b.row && i < len(v.rows); i++ {
		text := plain(v.rows[i])
		from, to := v.sel.within(i, len(text))
		from, to = min(from, len(text)), min(to, len(text))
		if from > to {
			continue
		}
		piece := text[from:to]
		if piece == "" && text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString(between(v.rows[i-1], v.rows[i]))
		}
		if i != a.row || from == 0 {
			out.WriteString(lead(v.rows[i]))
		}
		out.WriteString(piece)
	}
	return out.String()
}

// plain is the text of a row that can be selected.
func plain(r *transcript.Row) string {
	switch r.Kind {
	case transcript.User, transcript.Code, transcript.Output, transcript.Math:
		return r.Text
	case transcript.Paragraph, transcript.Heading:
		var b strings.Builder
		for i := range r.Runs {
			b.WriteString(r.Runs[i].Text)
		}
		return b.String()
	case transcript.Table:
		return tableText(r.Table)
	}
	return ""
}

// tableText is a table as tab separated lines, as spreadsheets take it.
func tableText(t *transcript.TableData) string {
	var b strings.Builder
	line := func(cells [][]transcript.Run) {
		for i, c := range cells {
			if i > 0 {
				b.WriteByte('\t')
			}
			for _, run := range c {
				b.WriteString(strings.ReplaceAll(run.Text, "\n", " "))
			}
		}
	}
	line(t.Head)
	for _, r := range t.Rows {
		b.WriteByte('\n')
		line(r)
	}
	return b.String()
}

// between separates two rows in copied text: pieces of one block by a line, list
// items by a line, blocks by a blank line.
func between(a, b *transcript.Row) string {
	switch {
	case a.Kind == b.Kind && (b.Kind == transcript.Code || b.Kind == transcript.User || b.Kind == transcript.Output) && !b.First:
		return "\n"
	case b.Marker.Kind != transcript.NoMarker && a.Indent > 0:
		return "\n"
	}
	return "\n\n"
}

// lead is what stands before a row in copied text.
func lead(r *transcript.Row) string {
	in := ""
	if r.Indent > 1 {
		in = strings.Repeat("  ", r.Indent-1)
	}
	return in + markerText(r.Marker, "- ")
}
