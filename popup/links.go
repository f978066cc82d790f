package popup

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"perch/chat"
	"perch/control"
)

// openLink follows a link that the user clicked. The address was shown while
// the pointer was over it.
func (p *Popup) openLink(link string) {
	target, err := url.Parse(link)
	ok := err == nil && openable[target.Scheme]
	if strings.HasPrefix(link, "/") && harmless(link) { // a source: a file of the user
		target, ok = &url.URL{Scheme: "file", Path: link}, true
	}
	if !ok {
		p.copyText(link)
		p.ui.notice(p.t("popup.link.copied", link), false)
		return
	}
	if p.opt.OpenURL != nil {
		err = p.opt.OpenURL(target.String())
	} else {
		err = p.app.OpenURL(target)
	}
	if err != nil {
		p.fail(chat.NewError(chat.ClassInternal, "err.open_link", "%s could not be opened: %v. Copy the address instead.", link, err))
		return
	}
	p.ui.notice(p.t("popup.link.opened", link), false)
}

// openable are the schemes that a click opens; a model may write any other, and
// those start programs.
var openable = map[string]bool{"http": true, "https": true, "mailto": true}

// harmless reports whether opening a path shows something and starts nothing.
func harmless(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	const anyExec = 0o111
	return info.IsDir() || info.Mode().IsRegular() && info.Mode()&anyExec == 0 && filepath.Ext(path) != ".desktop"
}

// paste inserts the clipboard's text, or attaches its picture.
func (p *Popup) paste(insert func(string)) {
	do(p, p.svc.Desktop.ReadClipboard, func(c control.Clip, err error) {
		switch {
		case err != nil:
			insert(p.app.Clipboard().Content())
		case c.Text != "":
			insert(strings.ReplaceAll(c.Text, "\r\n", "\n"))
		case len(c.PNG) > 0:
			ic, err := imageChip(c.PNG, p.t("popup.chip.clipboard"), "image", "clipboard.read")
			if err != nil {
				p.fail(err)
				return
			}
			p.attachChip(ic)
		}
	})
}
