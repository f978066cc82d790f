package extract

import (
	"context"
	"fmt"
	"path"
	"sort"
	"strings"
)

// readDOCX takes the text of a Word document: paragraphs, tables, notes.
func readDOCX(ctx context.Context, _ string, b []byte) (Document, error) {
	a, err := openArchive(b)
	if err != nil {
		return Document{}, err
	}
	headings, err := docxHeadings(ctx, a)
	if err != nil {
		return Document{}, err
	}
	f := newFlow()
	for _, part := range []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml", "word/comments.xml"} {
		x, err := a.part(part)
		if err != nil {
			return Document{}, err
		}
		if x == nil {
			continue
		}
		if err := docxPart(ctx, x, headings, f); err != nil {
			return Document{}, err
		}
		f.block()
	}
	text, _ := f.done()
	return Document{Text: text, Title: coreTitle(ctx, a), Headings: true}, nil
}

// docxHeadings maps style ids to heading levels; the ids are in the language of
// the program, the names are not.
func docxHeadings(ctx context.Context, a *archive) (map[string]int, error) {
	levels := map[string]int{}
	for n := 1; n <= 6; n++ {
		levels[fmt.Sprintf("Heading%d", n)] = n
	}
	levels["Title"] = 1
	x, err := a.part("word/styles.xml")
	if err != nil || x == nil {
		return levels, err
	}
	id := ""
	err = walkXML(ctx, x, func(name string, attr func(string) string) {
		switch name {
		case "w:style":
			id = attr("w:styleId")
		case "w:name":
			v := strings.ToLower(attr("w:val"))
			if n := atoi(strings.TrimPrefix(v, "heading ")); strings.HasPrefix(v, "heading ") && n >= 1 && n <= 6 {
				levels[id] = n
			}
		}
	}, func(string) {}, func(string) {})
	return levels, err
}

func docxPart(ctx context.Context, x []byte, headings map[string]int, f *flow) error {
	inText, deleted := false, 0
	return walkXML(ctx, x, func(name string, attr func(string) string) {
		switch name {
		case "w:t":
			inText = true
		case "w:pStyle":
			if n := headings[attr("w:val")]; n > 0 && f.line.Len() == 0 {
				f.block()
				f.word(strings.Repeat("#", n))
				f.space = true
			}
		case "w:tab":
			f.space = f.line.Len() > 0
		case "w:br", "w:cr":
			f.end()
		case "w:del", "w:instrText":
			deleted++
		case "w:noBreakHyphen":
			f.word("-")
		}
	}, func(name string) {
		switch name {
		case "w:t":
			inText = false
		case "w:p":
			f.end()
		case "w:tc":
			f.space = f.line.Len() > 0
		case "w:tbl", "w:sectPr":
			f.block()
		case "w:del", "w:instrText":
			deleted--
		}
	}, func(s string) {
		if inText && deleted == 0 {
			f.text(s)
		}
	})
}

// coreTitle is the title in an Office document's properties.
func coreTitle(ctx context.Context, a *archive) string {
	x, err := a.part("docProps/core.xml")
	if err != nil || x == nil {
		return ""
	}
	return elementText(ctx, x, "dc:title")
}

// elementText is the text of the first element of that name.
func elementText(ctx context.Context, x []byte, element string) string {
	in, done := false, false
	var b strings.Builder
	_ = walkXML(ctx, x, func(name string, _ func(string) string) { in = in || name == element && !done },
		func(name string) {
			if name == element {
				in, done = false, true
			}
		}, func(s string) {
			if in {
				b.WriteString(s)
			}
		})
	return strings.TrimSpace(b.String())
}

// readODT takes the text of an OpenDocument text, table or presentation.
func readODT(ctx context.Context, _ string, b []byte) (Document, error) {
	a, err := openArchive(b)
	if err != nil {
		return Document{}, err
	}
	if m, _ := a.part("META-INF/manifest.xml"); strings.Contains(string(m), "encryption-data") {
		return Document{}, skipf("protected by a password")
	}
	x, err := a.part("content.xml")
	if err != nil {
		return Document{}, err
	}
	f := newFlow()
	body, skip := false, 0
	err = walkXML(ctx, x, func(name string, attr func(string) string) {
		switch name {
		case "office:body":
			body = true
		case "text:h":
			f.block()
			f.word(strings.Repeat("#", min(max(atoi(attr("text:outline-level")), 1), 6)))
			f.space = true
		case "text:s", "text:tab":
			f.space = f.line.Len() > 0
		case "text:line-break":
			f.end()
		case "text:tracked-changes", "office:annotation-meta":
			skip++
		}
	}, func(name string) {
		switch name {
		case "text:h":
			f.block()
		case "text:p":
			f.end()
		case "table:table-cell":
			f.space = f.line.Len() > 0
		case "table:table", "text:list", "draw:page":
			f.block()
		case "text:tracked-changes", "office:annotation-meta":
			skip--
		}
	}, func(s string) {
		if body && skip == 0 {
			f.text(s)
		}
	})
	if err != nil {
		return Document{}, err
	}
	text, _ := f.done()
	meta, _ := a.part("meta.xml")
	return Document{Text: text, Title: elementText(ctx, meta, "dc:title"), Headings: true}, nil
}

// readEPUB takes the chapters of a book in reading order.
func readEPUB(ctx context.Context, _ string, b []byte) (Document, error) {
	a, err := openArchive(b)
	if err != nil {
		return Document{}, err
	}
	if e, _ := a.part("META-INF/encryption.xml"); strings.Contains(string(e), "xmlenc#aes") {
		return Document{}, skipf("protected against copying (DRM)")
	}
	c, err := a.part("META-INF/container.xml")
	if err != nil {
		return Document{}, err
	}
	opf := ""
	if err := walkXML(ctx, c, func(name string, attr func(string) string) {
		if name == "rootfile" && opf == "" {
			opf = attr("full-path")
		}
	}, func(string) {}, func(string) {}); err != nil {
		return Document{}, err
	}
	x, err := a.part(opf)
	if err != nil {
		return Document{}, err
	}
	files := map[string]string{}
	var order []string
	if err := walkXML(ctx, x, func(name string, attr func(string) string) {
		switch strings.TrimPrefix(name, "opf:") {
		case "item":
			files[attr("id")] = attr("href")
		case "itemref":
			order = append(order, attr("idref"))
		}
	}, func(string) {}, func(string) {}); err != nil {
		return Document{}, err
	}
	var out strings.Builder
	for _, id := range order {
		if ctx.Err() != nil {
			return Document{}, ctx.Err()
		}
		href, _, _ := strings.Cut(files[id], "#")
		page, err := a.part(path.Join(path.Dir(opf), unescapePath(href)))
		if err != nil {
			return Document{}, err
		}
		text, _, _ := htmlText(strings.ToValidUTF8(string(page), "\uFFFD"))
		if strings.TrimSpace(text) != "" {
			out.WriteString(text)
			out.WriteString("\n")
		}
	}
	return Document{Text: out.String(), Title: elementText(ctx, x, "dc:title"), Headings: true}, nil
}

// readXLSX writes each sheet as a heading and its rows as lines of cells.
func readXLSX(ctx context.Context, _ string, b []byte) (Document, error) {
	a, err := openArchive(b)
	if err != nil {
		return Document{}, err
	}
	shared, err := xlsxStrings(ctx, a)
	if err != nil {
		return Document{}, err
	}
	f := newFlow()
	for _, sheet := range xlsxSheets(ctx, a) {
		x, err := a.part(sheet.part)
		if err != nil {
			return Document{}, err
		}
		f.block()
		f.word("# " + sheet.name)
		f.block()
		if err := xlsxSheet(ctx, x, shared, f); err != nil {
			return Document{}, err
		}
	}
	text, _ := f.done()
	if onlyHeadings(text) {
		text = ""
	}
	return Document{Text: text, Title: coreTitle(ctx, a), Headings: true}, nil
}

func onlyHeadings(text string) bool {
	for l := range strings.Lines(text) {
		if t := strings.TrimSpace(l); t != "" && !strings.HasPrefix(t, "# ") {
			return false
		}
	}
	return true
}

type xlsxPart struct{ name, part string }

// xlsxSheets lists the sheets in the order of the workbook.
func xlsxSheets(ctx context.Context, a *archive) []xlsxPart {
	rels := map[string]string{}
	x, _ := a.part("xl/_rels/workbook.xml.rels")
	_ = walkXML(ctx, x, func(name string, attr func(string) string) {
		if name == "Relationship" {
			t := attr("Target")
			if strings.HasPrefix(t, "/") {
				t = strings.TrimPrefix(t, "/")
			} else {
				t = path.Join("xl", t)
			}
			rels[attr("Id")] = t
		}
	}, func(string) {}, func(string) {})
	var out []xlsxPart
	x, _ = a.part("xl/workbook.xml")
	_ = walkXML(ctx, x, func(name string, attr func(string) string) {
		if strings.TrimPrefix(name, "x:") == "sheet" {
			if p := rels[attr("r:id")]; p != "" {
				out = append(out, xlsxPart{attr("name"), p})
			}
		}
	}, func(string) {}, func(string) {})
	if len(out) > 0 {
		return out
	}
	for _, f := range a.File {
		if strings.HasPrefix(f.Name, "xl/worksheets/") && strings.HasSuffix(f.Name, ".xml") {
			out = append(out, xlsxPart{path.Base(f.Name), f.Name})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].part < out[j].part })
	return out
}

func xlsxStrings(ctx context.Context, a *archive) ([]string, error) {
	x, err := a.part("xl/sharedStrings.xml")
	if err != nil || x == nil {
		return nil, err
	}
	var out []string
	var b strings.Builder
	in, phonetic := false, 0
	err = walkXML(ctx, x, func(name string, _ func(string) string) {
		switch strings.TrimPrefix(name, "x:") {
		case "si":
			b.Reset()
		case "t":
			in = true
		case "rPh":
			phonetic++
		}
	}, func(name string) {
		switch strings.TrimPrefix(name, "x:") {
		case "si":
			out = append(out, b.String())
		case "t":
			in = false
		case "rPh":
			phonetic--
		}
	}, func(s string) {
		if in && phonetic == 0 {
			b.WriteString(s)
		}
	})
	return out, err
}

func xlsxSheet(ctx context.Context, x []byte, shared []string, f *flow) error {
	kind, in := "", false
	var v strings.Builder
	return walkXML(ctx, x, func(name string, attr func(string) string) {
		switch strings.TrimPrefix(name, "x:") {
		case "c":
			kind = attr("t")
			v.Reset()
		case "v", "t":
			in = true
		}
	}, func(name string) {
		switch strings.TrimPrefix(name, "x:") {
		case "v", "t":
			in = false
		case "c":
			s := v.String()
			if kind == "s" {
				n := atoi(s)
				s = ""
				if n < len(shared) {
					s = shared[n]
				}
			}
			if s = strings.Join(strings.Fields(s), " "); s != "" {
				if f.line.Len() > 0 {
					f.word("\t")
				}
				f.word(s)
			}
		case "row":
			f.end()
		}
	}, func(s string) {
		if in {
			v.WriteString(s)
		}
	})
}
