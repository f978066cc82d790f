package extract

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
)

// readPDF takes the text of a PDF, page by page.
func readPDF(ctx context.Context, _ string, b []byte) (Document, error) {
	if tool, err := exec.LookPath("pdftotext"); err == nil {
		return popplerText(ctx, tool, b)
	}
	return plainPDF(ctx, b)
}

// popplerText runs poppler's pdftotext, which reads from a pipe: no temporary
// file, and a document that upsets it ends a child process only.
func popplerText(ctx context.Context, tool string, b []byte) (Document, error) {
	cmd := exec.CommandContext(ctx, tool, "-enc", "UTF-8", "-q", "-", "-")
	cmd.Stdin = bytes.NewReader(b)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return Document{}, ctx.Err()
		}
		if strings.Contains(strings.ToLower(errs.String()), "password") || bytes.Contains(b, []byte("/Encrypt")) {
			return Document{}, skipf("protected by a password")
		}
		return Document{}, skipf("damaged pdf file")
	}
	return pagedText(out.String()), nil
}

// pagedText takes text with a form feed after each page.
func pagedText(s string) Document {
	var d Document
	var b strings.Builder
	page := 1
	for i, p := range strings.Split(strings.ToValidUTF8(s, "\uFFFD"), "\f") {
		page = i + 1
		for line := range strings.Lines(p) {
			b.WriteString(strings.TrimRight(line, " \r\n"))
			b.WriteByte('\n')
			d.Pages = append(d.Pages, page)
		}
	}
	d.Text = b.String()
	return d
}
